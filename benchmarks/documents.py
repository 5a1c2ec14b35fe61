"""Documents: how much of HTML manuals is kept and how much of their navigation, and whether PDFs' passages stand where they say.

    python benchmarks/documents.py [--kind html|pdf|all] [--data DIR] [--part tune|held-out|all] [--quick]

PDFs are in `documents_pdf`; DIR holds them in any folder below it. For HTML it holds unpacked
Debian packages of documentation, a folder each (`apt-get download NAME`, `dpkg -x`). The
reference is a page's body with all tags stripped, without what a person who looked at that package would call
navigation: the selectors below, used by nothing but this measure. Words are compared as multisets, page by page:
`kept` is the share of the reference that comes out, `foreign` the share of what comes out that is not in the
reference. Packages under `HELD_OUT` were only measured. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections import Counter
from pathlib import Path

DEFAULT_DATA = Path(__file__).resolve().parents[2] / "shared" / "manuals"
EVERYWHERE = "head script style noscript template nav select option button textarea input svg iframe"
INLINE = "a abbr acronym b bdi bdo big cite code del dfn em font i ins kbd mark q s samp small span strong sub sup tt u var wbr"
DOCBOOK = ".navheader .navfooter .toc .list-of-figures .list-of-tables .index"
SPHINX = """.related .sphinxsidebar .footer .headerlink li.toctree-l1 .contents .mobile-nav .wy-nav-side .wy-nav-top
    .rst-footer-buttons footer .indextable .searchbox"""
TEXINFO = """.header .nav-panel .contents .shortcontents .section-toc .menu .copiable-anchor .region-contents .mini-toc
    .index-fn .index-cp .index-vr .index-ky .index-tp .summary-letter"""
DOXYGEN = (
    "#top #side-nav #main-nav #MSearchSelectWindow #MSearchResultsWindow .footer #nav-path .summary .ttc .directory .toc .qindex"
)
TUNE = {
    "debian-handbook": ".docnav .toc .banner #navigation",
    "python3.11-doc": SPHINX,
    "postgresql-doc-15": DOCBOOK,
    "git-doc": DOCBOOK + " #footer-text #toc",
    "octave-doc": TEXINFO,
    "libreoffice-help-en-us": """#TopLeftHeader #SearchFrame #DonationFrame #DEBUG .leftside .rightside #Contents #Bookmarks
    footer""",
    "libeigen3-doc": DOXYGEN,
    "openjdk-17-doc": "header footer .sub-nav .skip-nav .table-tabs .see-list",
    "postfix-doc": "",
    "sbcl-doc": TEXINFO,
    "libgtk-4-doc": ".sidebar #toc-list .toc footer #search",
    "fontforge-doc": SPHINX,
    "lilypond-doc-html": TEXINFO + " #tocframe .nav_table .footer",
    "libboost1.74-doc": DOCBOOK + " .spirit-nav .page-index",
    "debian-reference-en": DOCBOOK,
}
HELD_OUT = {
    "developers-reference": SPHINX,
    "apache2-doc": "#page-header #path .toplang .bottomlang #quickview .up #footer .seealso ul.toc",
    "r-doc-html": TEXINFO,
    "erlang-doc": ".leftnav #leftnav #menubar .footer .panel-sections #toctree .nav",
    "gimp-help-en": DOCBOOK,
    "installation-guide-amd64": DOCBOOK,
    "debian-policy": SPHINX,
    "sqlite3-doc": ".menu .searchmenu #menu_sub .desktoponly .mobileonly .fancy_toc .toc .nosearch",
    "maint-guide": DOCBOOK,
    "libxml2-doc": DOCBOOK + " .navigation .genindex",
    "libfftw3-doc": TEXINFO,
    "aptitude-doc-en": DOCBOOK,
    "exim4-doc-html": "#header #nav_flow #toc #footer",
    "zsh-doc": "",
    "sphinx-doc": SPHINX,
    "debian-kernel-handbook": DOCBOOK,
    "libglib2.0-doc": DOCBOOK + " .navigation .genindex",
    "valgrind": DOCBOOK + " .nav",
    "live-manual-html": ".toc .ocn .lnkocn",
    "xorg-docs": DOCBOOK,
}


def _path(selectors: str) -> str:
    """An XPath for tags, .classes, #ids and tag.class."""
    parts: list[str] = []
    for selector in selectors.split():
        if selector.startswith("#"):
            parts.append(f"//*[@id='{selector[1:]}']")
        else:
            tag, _, name = selector.partition(".")
            has = f"[contains(concat(' ', normalize-space(@class), ' '), ' {name} ')]" if name else ""
            parts.append(f"//{tag or '*'}{has}")
    return "|".join(parts)


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text))


def reference(html: bytes, selectors: str) -> str:
    from lxml import html as parser

    from wellread.reading.charset import decode

    text = decode(html).encode("utf-8", "replace")
    root = parser.document_fromstring(text, parser=parser.HTMLParser(encoding="utf-8"))
    for element in root.xpath(_path(EVERYWHERE + " " + selectors)):
        if element.getparent() is not None:
            element.drop_tree()
    for element in root.xpath("//*[not(self::" + " or self::".join(INLINE.split()) + ")]"):
        element.tail, element.text = " " + (element.tail or ""), " " + (element.text or "")  # blocks part words, spans do not
    return "".join(root.xpath("//body//text()[not(parent::*[contains(@style, 'display:none')])]"))


def pages(folder: Path, limit: int) -> list[Path]:
    """Some pages in an order that has nothing to do with what is in them."""
    found = (path for path in folder.rglob("*.htm*") if path.is_file() and path.suffix in {".html", ".htm"})
    chosen = sorted(found, key=lambda path: hashlib.sha256(path.relative_to(folder).as_posix().encode()).digest())
    return chosen[:limit]


def measure(path: Path, selectors: str) -> tuple[int, int, int, int]:
    """Words of the reference, of them kept, words that came out, of them foreign."""
    from wellread.errors import ReadError
    from wellread.reading.documents import opened, read

    wanted = words(reference(path.read_bytes(), selectors))
    try:
        page = read(opened(path))
        got = words(page.text)
        title = words(page.title)
    except ReadError:
        got, title = Counter[str](), Counter[str]()
    kept = (wanted & (got + title)).total()
    return wanted.total(), kept, got.total(), (got - wanted).total()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, default=DEFAULT_DATA)
    arguments.add_argument("--part", choices=("tune", "held-out", "all"), default="all")
    arguments.add_argument("--pages", type=int, default=60, help="of each package")
    arguments.add_argument("--quick", action="store_true", help="ten pages of each package")
    arguments.add_argument("--worst", type=int, default=0, help="name so many pages of each package")
    arguments.add_argument("--kind", choices=("html", "pdf", "all"), default="all")
    chosen = arguments.parse_args()
    result: dict[str, float] = measure_html(chosen) if chosen.kind != "pdf" else {}
    if chosen.kind != "html":
        import documents_pdf

        result |= documents_pdf.measure(chosen.data, chosen.part, 4 if chosen.quick else 12, chosen.worst)
    print(json.dumps(result))


def measure_html(chosen: argparse.Namespace) -> dict[str, float]:
    parts = {"tune": TUNE, "held-out": HELD_OUT, "all": TUNE | HELD_OUT}[chosen.part]
    total = [0, 0, 0, 0]
    shares: list[float] = []
    print(f"{'':26} pages  words   kept  foreign")
    for name, selectors in parts.items():
        found = {path: measure(path, selectors) for path in pages(chosen.data / name, 10 if chosen.quick else chosen.pages)}
        wanted, kept, got, foreign = (sum(row[n] for row in found.values()) for n in range(4))
        if not wanted:
            continue
        shares.append(kept / wanted)
        total = [a + b for a, b in zip(total, (wanted, kept, got, foreign), strict=True)]
        print(f"{name:26} {len(found):5} {wanted:6} {kept / wanted:6.3f} {foreign / max(1, got):8.3f}")
        for path, row in sorted(found.items(), key=lambda item: item[1][1] - item[1][0] - item[1][3])[: chosen.worst]:
            print("    ", path.relative_to(chosen.data), row)
    result = {"html_words_kept": round(total[1] / max(1, total[0]), 4), "html_least_kept": round(min(shares, default=0.0), 4)}
    return result | {"html_foreign": round(total[3] / max(1, total[2]), 4)}


if __name__ == "__main__":
    main()
