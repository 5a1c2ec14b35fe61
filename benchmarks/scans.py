"""Scans: how many words character recognition finds on printed, skewed and noised pages, and what a page costs.

    python benchmarks/scans.py [--pages N] [--quick] [PDF…]

Pages of PDFs that have their text (default: those of installed packages) are drawn as a scanner would see them and recognised
by the extra `ocr`; where `tesseract` is installed, by that too. Words are compared as multisets, letters and digits alone:
`kept` is the share of a page's words that is found, `foreign` the share of what is found that is not on the page. Seconds are
the processor's, for those of the clock say how busy a machine is. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pypdfium2
from PIL import Image, ImageFilter

from wellread.reading import ocr

_LEAST = 150  # words of a page that is taken
_SEED = 36


def pages(paths: list[Path], most: int) -> Iterator[tuple[str, Any, str]]:
    """Some pages of each document from its middle on: a name, the page drawn, its words."""
    for path in paths:
        document, taken = pypdfium2.PdfDocument(path), 0
        for number in range(len(document) // 3, len(document)):
            text = document[number].get_textpage().get_text_range()
            if taken < most and len(text.split()) >= _LEAST:
                taken += 1
                yield f"{path.name}:{number + 1}", document[number].render(scale=200 / 72).to_pil().convert("L"), text


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


def by_rapidocr(picture: Any) -> str:
    lines = ocr.lines(np.asarray(picture.convert("RGB"))[:, :, ::-1])
    return "\n".join(line.text for line in lines)


def by_tesseract(picture: Any) -> str:
    out = BytesIO()
    picture.save(out, "PNG")
    done = subprocess.run(["tesseract", "stdin", "stdout"], input=out.getvalue(), capture_output=True, check=True)
    return done.stdout.decode()


def words(text: str) -> Counter[str]:
    """Broken words are whole, as our reader and the recognisers have them or not: both sides are made so."""
    whole = re.sub(r"[-\u2010\ufffe\x02]\s*\n\s*", "", text)
    return Counter(re.findall(r"[^\W_]+", whole.casefold()))


def cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path, metavar="PDF")
    parser.add_argument("--pages", type=int, default=3, help="of each document")
    parser.add_argument("--quick", action="store_true", help="one page of each, printed and skewed and noised")
    chosen = parser.parse_args()
    if not ocr.is_available():
        print(json.dumps({"installed": False}))
        return
    ocr.load()
    paths = chosen.paths or sorted(Path("/usr/share/doc").rglob("*.pdf"))
    seen = {name: SEEN[name] for name in ("printed", "skewed and noised")} if chosen.quick else SEEN
    programs = {"rapidocr": by_rapidocr} | ({"tesseract": by_tesseract} if shutil.which("tesseract") else {})
    rows: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for name, drawn, text in pages(paths, 1 if chosen.quick else chosen.pages):
        true = words(text)
        for how, change in seen.items():
            picture = change(drawn)
            for program, read in programs.items():
                begun = cpu()
                found = words(read(picture))
                both = (true & found).total()
                row = both / true.total(), 1 - both / max(1, found.total()), cpu() - begun
                rows.setdefault((program, how), []).append(row)
                print(f"{name:40} {program:10} {how:18} kept {row[0]:.3f} foreign {row[1]:.3f} {row[2]:.1f} s", flush=True)
    table = {
        f"{program} {how}": {
            "pages": len(some),
            "kept": round(mean(one[0] for one in some), 3),
            "worst": round(min(one[0] for one in some), 3),
            "foreign": round(mean(one[1] for one in some), 3),
            "cpu_seconds": round(mean(one[2] for one in some), 1),
        }
        for (program, how), some in rows.items()
    }
    print(json.dumps({"installed": True, **table}))


if __name__ == "__main__":
    main()
