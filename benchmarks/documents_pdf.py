"""PDFs: whether passages stand where they say.

For a sample of passages from each file, two questions, both answered from what poppler's `pdftotext` says of single pages
and from the outline that the file itself has: do the passage's words stand on the page it names (and, where a paragraph
runs on, the one after it), and is the part of the outline that it stands in among its headings? A passage is right when
both are so. Files in the second half (by the hash of their name) were never looked at.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import subprocess
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile

from wellread.errors import ReadError
from wellread.reading.workers import shared
from wellread.text.split import Splitting, passages
from wellread.types import Document, Passage

SMALLEST, LARGEST = 60_000, 12_000_000  # bytes of a file
LOOKED_AT = frozenset({"policy.pdf.gz", "tugboat-babelbib.pdf"})  # beside the first half
ENOUGH = 0.8  # of a passage's words must stand on its page


@dataclass(frozen=True, slots=True)
class Sheet:
    """One page as pdftotext has it, in letters; `lines` are where each begins, with its own."""

    words: frozenset[str]
    letters: str
    lines: tuple[tuple[int, str], ...]


def letters(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text)
    return re.sub(r"[\W_]+", "", "".join(c for c in plain if not unicodedata.combining(c))).casefold()


def words(text: str) -> list[str]:
    return [letters(word) for word in re.findall(r"\w{2,}", text)]


def held_out(path: Path) -> bool:
    return path.name not in LOOKED_AT and hashlib.sha256(path.name.encode()).digest()[0] >= 128


def files(folder: Path) -> list[Path]:
    found = {path.name: path for path in sorted(folder.rglob("*.pdf*")) if path.suffix in {".pdf", ".gz"} and path.is_file()}
    return sorted((p for p in found.values() if SMALLEST < p.stat().st_size < LARGEST), key=lambda p: letters(p.name)[::-1])


def body(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def sheets(data: bytes) -> list[Sheet]:
    with NamedTemporaryFile(suffix=".pdf") as file:
        file.write(data)
        file.flush()
        ran = subprocess.run(["pdftotext", "-enc", "UTF-8", file.name, "-"], capture_output=True, check=True, timeout=120)
    pages = ran.stdout.decode("utf-8", "replace").replace("-\n", "").split("\f")
    return [_sheet(page) for page in pages]


def _sheet(page: str) -> Sheet:
    lines: list[tuple[int, str]] = []
    at = 0
    for line in page.split("\n"):
        lines.append((at, letters(line)))
        at += len(lines[-1][1])
    return Sheet(frozenset(words(page)), letters(page), tuple(lines))


def titled(sheet: Sheet, title: str, before: int) -> int:
    """Where a title stands as a line (or two) of its own, its number apart; -1 where it does not."""
    found = -1
    for place, (at, line) in enumerate(sheet.lines):
        following = sheet.lines[place + 1][1] if place + 1 < len(sheet.lines) else ""
        alone = any(said.endswith(title) and len(said) <= len(title) + 12 for said in (line, line + following))
        found = at if at < before and alone else found
    return found


def outline(data: bytes) -> list[tuple[int, str]]:
    """(page from 1, title in letters), in the order of the document."""
    import pypdfium2

    document = pypdfium2.PdfDocument(data)
    found = [(entry.get_dest(), letters(entry.get_title())) for entry in document.get_toc(max_depth=6)]
    named = [(target, re.sub(r"^\d+(?=[^\W\d]{2})", "", title)) for target, title in found]  # a number may be set apart
    return [(target.get_index() + 1, title) for target, title in named if target is not None and title]


def on_its_page(passage: Passage, pages: list[Sheet]) -> bool:
    said = words(passage.text)
    if not passage.page or passage.page > len(pages):
        return False
    here = pages[passage.page - 1].words
    after = pages[passage.page].words if passage.page < len(pages) else frozenset()
    first = said[: max(3, len(said) // 3)]  # where it begins must be its own page
    begins = sum(word in here for word in first) >= ENOUGH * len(first)
    return begins and sum(word in here or word in after for word in said) >= ENOUGH * len(said)


def under_its_heading(passage: Passage, pages: list[Sheet], parts: list[tuple[int, str]]) -> bool | None:
    """None where the outline cannot tell."""
    assert passage.page
    text = "\n".join(line for line in passage.text.splitlines() if not line.startswith("#"))
    page = pages[passage.page - 1].letters
    place = page.find(letters(text)[:40])
    if place < 0 or not parts:
        return None
    before = [title for number, title in parts if number < passage.page]
    sheet = pages[passage.page - 1]
    here = [(titled(sheet, title, place), title) for number, title in parts if number == passage.page]
    above = [title for at, title in sorted(here) if at >= 0]
    expected = (before + above)[-1:]
    return letters(passage.heading).find(expected[0]) >= 0 if expected else None


def measure(folder: Path, part: str, each: int, worst: int) -> dict[str, float]:
    counts = {half: [0, 0, 0, 0, 0] for half in ("tune", "held-out")}  # passages, right, page right, told, heading right
    for path in files(folder):
        half = "held-out" if held_out(path) else "tune"
        if part not in (half, "all"):
            continue
        row = _file(path, each, worst)
        counts[half] = [a + b for a, b in zip(counts[half], row, strict=True)]
        print(f"{half:9} {path.name:45} passages {row[0]:3} right {row[1]:3} page {row[2]:3} heading {row[4]:3} of {row[3]}")
    both = [a + b for a, b in zip(*counts.values(), strict=True)]
    shown = counts["held-out"] if counts["held-out"][0] else both
    return {
        "pdf_places_right": round(shown[1] / max(1, shown[0]), 4),
        "pdf_pages_right": round(shown[2] / max(1, shown[0]), 4),
        "pdf_headings_right": round(shown[4] / max(1, shown[3]), 4),
        "pdf_passages": shown[0],
        "pdf_places_right_all": round(both[1] / max(1, both[0]), 4),
    }


def _file(path: Path, each: int, worst: int) -> list[int]:
    data = body(path)
    try:
        page = shared().read(Document(data, path.as_uri(), name="x.pdf"))
        reference, parts = sheets(data), outline(data)
    except (ReadError, subprocess.SubprocessError) as problem:
        print("     ", path.name, problem)
        return [0] * 5
    made = [one for one in passages(page, path.name, Splitting()) if len(words(one.text)) >= 8]
    chosen = sorted(made, key=lambda one: hashlib.sha256(one.id.encode()).digest())[:each]
    row = [len(chosen), 0, 0, 0, 0]
    for one in chosen:
        paged = on_its_page(one, reference)
        headed = under_its_heading(one, reference, parts) if paged else None
        row = [
            row[0],
            row[1] + (paged and headed is not False),
            row[2] + paged,
            row[3] + (headed is not None),
            row[4] + bool(headed),
        ]
        if worst and not (paged and headed is not False):
            print("     ", "page" if not paged else "heading", one.page, "|", one.heading, "|", " ".join(one.text.split())[:120])
    return row
