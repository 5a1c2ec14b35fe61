"""Scans: how many words character recognition finds on real and on made ones, and what a page costs.

    python benchmarks/scans.py [--pages N] [--quick] [PDF…]
    python benchmarks/scans.py --real FOLDER

Pages of PDFs that have their text (default: those of installed packages) are drawn as a scanner would see them, or real scans
are taken out of the archives that scans.toml names; they are recognised by the extra `ocr`, and where `tesseract` is installed
by that too. Words are compared as multisets, letters and digits alone: `kept` is the share of a page's words that is found,
`foreign` the share of what is found that is not on the page. `wrong` is the edit distance of the characters in their order, for
each character of the truth; quotation marks and dashes of all kinds are one. Seconds are the processor's, for those of the clock
say how busy a machine is. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import tarfile
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import groupby
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import numpy as np
import pypdfium2
from PIL import Image, ImageFilter

from wellread.reading import ocr

_LEAST = 150  # words of a page that is taken
_SEED = 36
_BROKEN = re.compile(r"[-\u2010\ufffe\x02]\s*\n\s*")  # words at the ends of lines: whole on both sides
_SIGNS = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "′": "'", "—": "-", "–": "-", "ſ": "s"}
)
_REAL = Path(__file__).with_suffix(".toml")


class Page(NamedTuple):
    name: str
    picture: Any
    text: str
    part: tuple[int, int, int, int] | None = None  # of the picture, of which this is the text
    language: str = "eng"


class Found(NamedTuple):
    """A line and its middle, in pixels."""

    text: str
    x: float
    y: float


def printed(paths: list[Path], most: int) -> Iterator[Page]:
    """Some pages of each document from its middle on."""
    for path in paths:
        document, taken = pypdfium2.PdfDocument(path), 0
        for number in range(len(document) // 3, len(document)):
            text = document[number].get_textpage().get_text_range()
            if taken < most and len(text.split()) >= _LEAST:
                taken += 1
                page: Any = document[number]
                yield Page(f"{path.name}:{number + 1}", page.render(scale=200 / 72).to_pil().convert("L"), text)


def scanned(folder: Path) -> Iterator[Page]:
    """The real scans, out of their archives."""
    for row in tomllib.loads(_REAL.read_text(encoding="utf-8"))["scan"]:
        with tarfile.open(folder / row["archive"]) as archive:
            body, text = _member(archive, row["picture"]), row.get("text") or _member(archive, row["truth"]).decode("latin-1")
        if hashlib.sha256(body).hexdigest() != row["sha256"]:
            raise SystemExit(f"{row['picture']} is another picture than the one that was measured")
        part = tuple(row["part"]) if "part" in row else None
        yield Page(Path(row["picture"]).name, Image.open(BytesIO(body)), text, part, row["language"])


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    assert file, name
    return file.read()


def noised(picture: Any) -> Any:
    """A bad copy: blurred, grey, with grain and specks."""
    chance = np.random.default_rng(_SEED)
    grey = np.asarray(picture.filter(ImageFilter.GaussianBlur(1.0)), np.float32) * 0.75 + 40
    grey += chance.normal(0, 18, grey.shape)
    specks = chance.random(grey.shape)
    grey[specks < 0.002] = 0
    grey[specks > 0.998] = 255
    return Image.fromarray(np.clip(grey, 0, 255).astype(np.uint8))


SEEN: dict[str, Callable[[Any], Any]] = {
    "printed": lambda picture: picture,
    "half": lambda picture: picture.resize((picture.width // 2, picture.height // 2)),
    "skewed": lambda picture: picture.rotate(2.5, expand=True, fillcolor=255, resample=Image.Resampling.BICUBIC),
    "noised": noised,
    "skewed and noised": lambda picture: noised(SEEN["skewed"](picture)),
}


def by_rapidocr(page: Page) -> Iterator[Found]:
    pixels = np.asarray(page.picture.convert("RGB"))[:, :, ::-1]
    for line in ocr.lines(pixels):
        yield Found(line.text, mean((w.left + w.right) / 2 for w in line.words), mean((w.top + w.bottom) / 2 for w in line.words))


def by_tesseract(page: Page) -> Iterator[Found]:
    out = BytesIO()
    page.picture.save(out, "PNG")
    known = subprocess.run(["tesseract", "--list-langs"], capture_output=True, check=True).stdout.decode().split()
    command = ["tesseract", "stdin", "stdout", "-l", page.language if page.language in known else "eng", "tsv"]
    alone = {**os.environ, "OMP_THREAD_LIMIT": "1"}  # its threads wait for each other by turning round
    told = subprocess.run(command, input=out.getvalue(), capture_output=True, check=True, env=alone).stdout.decode()
    rows = [row for row in csv.DictReader(told.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE) if row["level"] == "5"]
    for _, line in groupby(rows, key=lambda row: (row["block_num"], row["par_num"], row["line_num"])):
        words = list(line)
        left, top = (min(int(word[side]) for word in words) for side in ("left", "top"))
        right, bottom = (max(int(word[a]) + int(word[b]) for word in words) for a, b in (("left", "width"), ("top", "height")))
        yield Found(" ".join(word["text"] for word in words), (left + right) / 2, (top + bottom) / 2)


def inside(lines: list[Found], part: tuple[int, int, int, int] | None) -> str:
    left, top, right, bottom = part or (0, 0, 1_000_000, 1_000_000)
    return "\n".join(one.text for one in lines if left <= one.x < right and top <= one.y < bottom)


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", _BROKEN.sub("", text)).casefold()))


def wrong(true: str, found: str) -> float:
    """The edit distance for each character of the truth."""
    one, two = (
        np.array([*map(ord, " ".join(_BROKEN.sub("", text).translate(_SIGNS).split()))], np.int32) for text in (true, found)
    )
    steps = np.arange(len(two) + 1)
    row = steps
    for place, letter in enumerate(one, 1):
        best = np.concatenate([[place], np.minimum(row[1:] + 1, row[:-1] + (two != letter))])
        row = np.minimum.accumulate(best - steps) + steps
    return float(row[-1]) / len(one)


def cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path, metavar="PDF")
    parser.add_argument("--pages", type=int, default=3, help="of each document")
    parser.add_argument("--quick", action="store_true", help="one page of each, printed and skewed and noised")
    parser.add_argument("--real", type=Path, metavar="FOLDER", help="where the archives with real scans are")
    parser.add_argument("--show", action="store_true", help="print what was read")
    chosen = parser.parse_args()
    if not ocr.is_available():
        print(json.dumps({"installed": False}))
        return
    ocr.load()
    seen = {"as it is": SEEN["printed"]} if chosen.real else SEEN
    seen = {name: SEEN[name] for name in ("printed", "skewed and noised")} if chosen.quick else seen
    programs = {"rapidocr": by_rapidocr} | ({"tesseract": by_tesseract} if shutil.which("tesseract") else {})
    paths = chosen.paths or sorted(Path("/usr/share/doc").rglob("*.pdf"))
    rows: dict[tuple[str, str], list[tuple[float, float, float, float]]] = {}
    for page in scanned(chosen.real) if chosen.real else printed(paths, 1 if chosen.quick else chosen.pages):
        true = words(page.text)
        for how, change in seen.items():
            changed = page._replace(picture=change(page.picture))
            for program, read in programs.items():
                begun = cpu()
                lines = list(read(changed))
                took, text = cpu() - begun, inside(lines, page.part)
                found = words(text)
                both = (true & found).total()
                row = both / true.total(), 1 - both / max(1, found.total()), wrong(page.text, text), took
                rows.setdefault((program, how), []).append(row)
                told = " ".join(f"{name} {value:.3f}" for name, value in zip(("kept", "foreign", "wrong"), row, strict=False))
                print(f"{page.name:30} {program:10} {how:18} {told} {took:.1f} s", flush=True)
                if chosen.show:
                    print(text)
    table = {
        f"{program} {how}": {
            "pages": len(some),
            "kept": round(mean(one[0] for one in some), 3),
            "worst": round(min(one[0] for one in some), 3),
            "foreign": round(mean(one[1] for one in some), 3),
            "wrong": round(mean(one[2] for one in some), 3),
            "cpu_seconds": round(mean(one[3] for one in some), 1),
        }
        for (program, how), some in rows.items()
    }
    print(json.dumps({"installed": True, **table}))


if __name__ == "__main__":
    main()
