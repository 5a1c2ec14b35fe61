"""Documents of every kind that we read, damaged as nobody thought of: they are read, or it is said what is wrong."""

from __future__ import annotations

import gzip
import re
import zipfile
from importlib.util import find_spec
from io import BytesIO

import pytest
from benchmarks import hostile
from hypothesis import strategies as st
from tests.faults.fuzzing import EDITS, TIMEOUT, Edits, edited, fuzz, repacked
from tests.reading import test_documents, test_formats, test_markups, test_mdoc, test_sparse

from wellread.errors import ReadError
from wellread.reading import kinds, registry
from wellread.reading.allowance import Allowance
from wellread.reading.workers import shared
from wellread.types import Document

pytestmark = [pytest.mark.slow, pytest.mark.no_cover, pytest.mark.timeout(TIMEOUT)]
SAMPLES: dict[str, list[str | bytes]] = {
    **{name: [make(said) for said in list(hostile.SAYINGS.values())[:12]] for name, _, make in hostile.KINDS},
    **{f"a.{kind}": [test_formats.SMALL[f"a.{kind}"][0]] for kind in ("mbox", "odt", "fodt", "odp", "pptx", "xls", "xlsx")},
    "lamps.tsv": [test_formats.SMALL["lamps.tsv"][0]],
    "a.adoc": [test_formats.ADOC],
    "a.rst": [test_formats.RST, test_formats.RICHER_RST],
    "lamp.1": [test_formats.MAN, test_mdoc.PAGE],
    "a.rtf": [test_formats.RTF, rb"{\rtf1\ansi{\fonttbl\f0 Swiss;}\f0 The \b lamp\b0 \u233? of 18.\par}", rb"{\rtf1{{{{\'e9}}}"],
    "a.epub": [test_documents.epub({"1.xhtml": "<html><body><h1>One</h1></body></html>", "2.xhtml": "<p>Two.</p>"})],
    "a.ods": [test_sparse.ods(test_sparse.LAMPS, test_sparse.NORTH)],
    "a.info": [test_markups.INFO],
    "a.jsonl": ['{"title": "Lamps", "text": "Oil burns."}\n{"n": 1}\n[]'],
    "a.pod": [test_markups.POD],
    "a.docbook": [test_markups.DOCBOOK],
    "a.org": [test_markups.ORG],
    "a.tex": [test_markups.TEX],
    "a.txt": [test_formats.RST, test_markups.INFO, test_formats.PROSE * 40, "1. LAMPS\n\n   North   1881\n   South   1902\n"],
    "a.txt.gz": [gzip.compress(test_formats.RST.encode())],
}  # fmt: skip
if find_spec("rapidocr"):  # else a picture is none that we read
    blank = BytesIO()
    pytest.importorskip("PIL.Image").new("RGB", (40, 20), "white").save(blank, "PNG")
    SAMPLES["a.png"] = [blank.getvalue()]
OURS = re.compile(r"\((?!RecursionError)\w+\)$|crashed|took longer")


def test_all_that_we_read_is_tried() -> None:
    tried = {kinds.kind_of(_bytes(body), "", name) for name, bodies in SAMPLES.items() for body in bodies}
    assert tried - {None} == set(registry.readers())


@pytest.mark.parametrize("name", SAMPLES)
def test_documents(name: str) -> None:
    """A failure that no reader knows of is ours, whatever the document: it may have lost what could have been read."""

    def check(made: tuple[bytes, float, Edits]) -> None:
        body, which, edits = made
        damaged = repacked(body, which, edits) if which and zipfile.is_zipfile(BytesIO(body)) else edited(body, edits)
        try:
            shared().read(Document(damaged, f"http://a.b/{name}", name=name), Allowance(seconds=60, characters=100_000))
        except ReadError as problem:
            if OURS.search(problem.reason):
                pytest.fail(f"{problem.reason}: {damaged!r}")

    fuzz(st.tuples(st.sampled_from([_bytes(body) for body in SAMPLES[name]]), st.just(0.0) | st.floats(0, 1), EDITS), check)


def _bytes(body: str | bytes) -> bytes:
    return body.encode() if isinstance(body, str) else body
