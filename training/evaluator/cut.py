"""Documentation packages as passages, cut as the engine cuts them, whatever kind their documents are.

    apt-get download rsync … ; dpkg-deb -x rsync_*.deb PACKAGES/rsync …
    python -m training.evaluator.cut --packages PACKAGES --output CORPUS.jsonl.gz

Manual pages, HTML, plain text, Markdown and PDFs in English; FAQs first, the others in an order that has nothing to do with
what is in them, until a package has given enough.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Sequence
from pathlib import Path

from training.evaluator.manuals import chance

from wellread.errors import ReadError
from wellread.reading.documents import read
from wellread.text.split import Splitting, passages
from wellread.types import Document, Passage

PAGES, PASSAGES, OF_A_PAGE = 40, 400, 80  # of a package at most
LARGEST = 1_500_000  # bytes
_FOREIGN = re.compile(r"(?:[_.]|/)(?!en)[a-z]{2}(?:[_-][A-Z]{2})?(?:\.html?$|/)")  # a page's language in its name or folder
_LEFT_OUT = re.compile(r"copyright|changelog|NEWS|/examples?/|\.(?:css|js|png|svg|jpg|gif|py|pl|sh|c|h|conf|mo|so)$")
_DOCUMENT = re.compile(r"\.(?:html?|xhtml|txt|md|pdf)$|(?:README|FAQ)[\w.-]*$")


def documents(package: Path, info: bool = False) -> list[tuple[str, Path]]:
    """Names without the suffix of compression, and files; manuals in Info only where asked for."""
    found: list[tuple[str, Path]] = []
    for path in package.rglob("*"):
        name = path.relative_to(package).as_posix().removesuffix(".gz")
        manual = "/man/man" in f"/{name}"
        foreign = "/man/" in f"/{name}" or _FOREIGN.search(name) if not manual else None
        wanted = manual or _DOCUMENT.search(name) or (info and name.endswith(".info"))
        if wanted and not foreign and not _LEFT_OUT.search(name) and path.is_file() and not path.is_symlink():
            found.append((name, path))
    return sorted(found, key=lambda pair: ("faq" not in Path(pair[0]).name.lower(), chance(pair[0])))


def cut(package: Path, most: int = PASSAGES, *, whole: bool = False) -> list[Passage]:
    """Passages of a package; their ids begin with its name. `whole`: everything that it has, manuals in Info too."""
    found: dict[str, list[Passage]] = {}
    for name, path in documents(package, info=whole):
        body = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        if len(body) > LARGEST:
            continue
        try:
            page = read(Document(body, path.resolve().as_uri().removesuffix(".gz"), name=Path(name).name))
        except (ReadError, RecursionError, ValueError):
            continue
        if page.language in (None, "en") and len(page.passages) > 2 and page.text not in found:
            found[page.text] = passages(page, f"{package.name}:{name}", Splitting())[: None if whole else OF_A_PAGE]
        if not whole and (sum(map(len, found.values())) > most or len(found) == PAGES):
            break
    return [passage for own in found.values() for passage in own]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=Path, required=True, help="a folder with one unpacked package in each folder")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    with gzip.open(options.output, "wt", encoding="utf-8") as out:
        for package in sorted(path for path in options.packages.iterdir() if path.is_dir()):
            own = cut(package)
            for one in own:
                row = {"id": one.id, "title": one.title, "text": one.text, "language": "en"}
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
            print(f"{package.name}: {len(own)} passages", flush=True)


if __name__ == "__main__":
    main()
