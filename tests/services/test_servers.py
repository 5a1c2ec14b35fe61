"""The servers themselves: they start, and hold what the other tests count on."""

from __future__ import annotations

import json

import pytest
from tests.services.servers import fetch

pytestmark = pytest.mark.service


def _json(url: str) -> dict[str, object]:
    with fetch(url) as answer:
        return json.load(answer)


def test_mediawiki_has_its_pages(mediawiki: str) -> None:
    answer = _json(f"{mediawiki}/api.php?action=query&format=json&list=search&srsearch=nuggets")
    assert "Denver Nuggets" in str(answer)


def test_searx_gives_json(searx: str) -> None:
    assert "example.org/penicillin" in str(_json(f"{searx}/search?q=penicillin&format=json"))


def test_datasette_has_the_blog(datasette_blog: str) -> None:
    assert "blog_entry_fts" in str(_json(f"{datasette_blog}/blog.json"))
