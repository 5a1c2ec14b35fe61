"""The viewer shows foreign documents: as words and pictures, never as what they ask to be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from benchmarks.hostile import CONTENTS, EVIL, QUESTION
from tests.faults.test_hostile_content import ACTING
from tests.server.stage import Live, running
from tests.server.test_rendering import seen

from wellread.engine import Engine
from wellread.settings import Settings

pytestmark = pytest.mark.slow
SHOWN = ("notes.md", "paper.pdf", "page.html", "letter.docx")


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("hostile")
    for number, content in enumerate(one for one in CONTENTS if one.name in SHOWN):
        (folder / f"{number:03d}-{content.name}").write_bytes(content.body)
    spec = f"files:{folder}?meaning=false"
    settings = Settings(model="none", effort="low", sources=(spec,))
    with running(Engine(settings), tmp_path_factory.mktemp("data"), sources=(spec,)) as server:
        yield server


def test_documents_are_shown_as_words(live: Live) -> None:
    with live.client() as client:
        found = client.get("/api/search", params={"q": QUESTION, "limit": 50}).json()["hits"]
        shown = 0
        for hit in found:
            place = urlencode({"source": hit["source"], "document": hit["document"], "passage": hit["id"]})
            reply = client.get(f"/document?{place}")
            assert reply.status_code in (200, 404), reply.text[:200]
            shown += reply.status_code == 200
            tags = seen(reply.text)
            scripts = [attributes.get("src") or "" for tag, attributes in tags if tag == "script"]
            assert all(script.startswith("/static/") for script in scripts)
            for tag, attributes in tags:
                source = attributes.get("src") or (tag == "image" and attributes.get("href")) or ""
                assert tag not in ACTING - {"script", "link", "img", "image"}, tag
                assert source.startswith(("/static/", "/document/page?")) or not source
                assert not [name for name in attributes if name.startswith("on") or name in ("srcdoc", "http-equiv")]
                for name in ("href", "action"):
                    address = attributes.get(name) or ""
                    assert not re.match(r"\s*(javascript|data|vbscript|file):", address, re.IGNORECASE)
                    assert EVIL not in address.partition("?")[0]
            assert "unsafe" not in reply.headers["content-security-policy"]
        assert shown > 10
