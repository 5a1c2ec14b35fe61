"""An answer as a file: Markdown, HTML in one file, Word (DOCX) or PDF, by the file's name.

Word is made of the HTML's elements, PDF by printing it with a browser, so that there is one place where a report gets its form.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from html import escape
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

from wellread.answer_json import AnswerJson
from wellread.errors import UsageError, WellreadError, optional
from wellread.present.html import answer_html, markdown_html
from wellread.present.markdown import markdown, plain, source_lines
from wellread.present.sections import sections
from wellread.questions.languages import ENGLISH, foreign_language

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
_STYLE = Path(__file__).parent / "report.css"
_RELATIONS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_LOOSE = re.compile(r'\s+(?=<a class="cite)')  # a number that may begin a line
_BESIDE = re.compile(r'</a>(?=<a class="cite")')  # numbers that look like one
_PATIENCE = 120  # seconds for a browser to print


def maker(path: Path) -> Callable[[AnswerJson], bytes]:
    """The exporter for a file name's suffix. That it can be made here is found out before anything is asked."""
    kind = path.suffix.lower()
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent}: there is no such folder")
    if kind == ".docx":
        with optional("writing Word files", "writing"):
            import_module("docx")
        return as_word
    if kind == ".pdf":
        browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
        if browser is None:
            raise UsageError("a PDF is printed by a browser: install Chromium or Chrome, or write .html and print that")
        return partial(as_pdf, browser=browser)
    if kind not in (".md", ".html"):
        raise UsageError(f"{path.name}: an answer can be written as .md, .html, .docx or .pdf")
    made = as_markdown if kind == ".md" else as_html
    return lambda answer: made(answer).encode()


def facts(answer: AnswerJson) -> str:
    """When, how and by what it was written, and what the check says of it."""
    model = re.sub(r"^local:.*[/\\]", "local:", answer.model or "no language model")  # a report is nobody's list of folders
    told = [time.strftime("%-d %B %Y"), answer.strategy, model, sections(answer).checked]
    return " · ".join(filter(None, told))


def as_markdown(answer: AnswerJson) -> str:
    return f"# {plain(answer.question)}\n\n*{plain(facts(answer))}*\n\n{markdown(answer)}\n"


def as_html(answer: AnswerJson) -> str:
    """One file that loads nothing and runs nothing."""
    parts = sections(answer)
    listed = [f'<li><a href="#part-{place}">{escape(title)}</a></li>' for place, title in enumerate(parts.contents, 1)]
    missing = "".join(f"<li>{markdown_html(plain(row))}</li>" for row in answer.missing)
    lines = zip(parts.sources, (line.partition("] ")[2] for line in source_lines(parts)), strict=True)
    rows = [f'<li id="source-{one.number}" value="{one.number}">{markdown_html(line)}</li>' for one, line in lines]
    notes = [f"Note: {note}." for note in parts.notes] + ([parts.legend] if parts.legend else [])
    body = [
        f"<h1>{escape(answer.question)}</h1>\n<p class=facts>{escape(facts(answer))}</p>",
        f"<p class=short>{escape(parts.answer.short)}</p>" if parts.answer.short else "",
        f"<nav aria-label=Contents><ol>{''.join(listed)}</ol></nav>" if len(listed) > 1 else "",
        _text(answer) or f"<p>No answer was found: {escape(answer.reason or 'nothing fits')}.</p>",
        f"<h2>{parts.headings.missing}</h2>\n<ul>{missing}</ul>" if missing else "",
        f"<h2>{parts.headings.sources}</h2>\n<ol class=sources>{''.join(rows)}</ol>" if rows else "",
        *(f"<p class=facts>{escape(one)}</p>" for one in notes),
    ]
    head = "<meta charset=utf-8><meta name=viewport content='width=device-width, initial-scale=1'>"
    head += "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    head += f"<title>{escape(answer.question)}</title><style>{_STYLE.read_text(encoding='utf-8')}</style>"
    language = foreign_language(answer.question) or ENGLISH
    return f"<!doctype html>\n<html lang={language}><head>{head}</head>\n<body>{chr(10).join(filter(None, body))}</body></html>\n"


def _text(answer: AnswerJson) -> str:
    """With its numbers where nobody may press them: close to their sentences, and apart from each other."""
    return _BESIDE.sub("</a><sup class=cite>,</sup>", _LOOSE.sub("", answer_html(answer)))


def as_pdf(answer: AnswerJson, browser: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="wellread-") as folder:
        page, made = Path(folder, "report.html"), Path(folder, "report.pdf")
        page.write_text(as_html(answer), encoding="utf-8")
        flags = ["--headless", "--disable-gpu", "--no-pdf-header-footer", f"--user-data-dir={folder}/profile"]
        flags += ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []  # it refuses to run as root with one
        try:
            done = subprocess.run(
                [browser, *flags, f"--print-to-pdf={made}", page.as_uri()], capture_output=True, timeout=_PATIENCE, check=False
            )
        except subprocess.TimeoutExpired:
            raise WellreadError(f"{browser} did not print it within {_PATIENCE} seconds") from None
        if not made.is_file():
            told = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise WellreadError(f"{browser} did not print it: {' '.join(told)}")
        return made.read_bytes()


def as_word(answer: AnswerJson) -> bytes:
    """A Word file; raises `MissingExtra` where nothing here can make one."""
    with optional("writing Word files", "writing"):
        made: Any = import_module("docx").Document()
    made.core_properties.title, made.core_properties.author = answer.question[:250], "wellread"
    made.core_properties.language = foreign_language(answer.question) or ENGLISH
    page, mm = made.sections[0], import_module("docx.shared").Mm
    page.page_width, page.page_height = mm(210), mm(297)  # as the PDF
    html: Any = import_module("lxml.html").document_fromstring(as_html(answer))
    for element in html.find("body"):
        _block(made, element)
    written = BytesIO()
    made.save(written)
    return written.getvalue()


def _block(made: Any, element: Any, style: str = "Normal") -> None:
    """One block of the HTML as paragraphs of a Word file."""
    match element.tag:
        case "nav":  # Word makes a table of contents of the headings
            return
        case "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
            level = int(element.tag[1]) - 1
            _runs(made.add_heading("", level), element)
        case "ul" | "ol":
            for item in element:
                sources = element.get("class") == "sources"
                style = "Normal" if sources else "List Bullet" if element.tag == "ul" else "List Number"
                paragraph = made.add_paragraph(f"[{item.get('value')}] " if sources else "", style=style)
                _runs(paragraph, item)
        case "table":
            rows = list(element.iter("tr"))
            table = made.add_table(len(rows), max(len(row) for row in rows), style="Table Grid")
            for place, row in enumerate(rows):
                for column, cell in enumerate(row):
                    _runs(table.cell(place, column).paragraphs[0], cell, (cell.tag,))
        case "blockquote":
            for inner in element:
                _block(made, inner, "Quote")
        case _:
            _runs(made.add_paragraph(style=style), element, (element.get("class", ""),))


def _runs(paragraph: Any, element: Any, looks: tuple[str, ...] = ()) -> None:
    """The words of an element, each with the looks of what it stands in; a formula as its TeX."""

    def put(text: str | None, looks: tuple[str, ...]) -> None:
        words = re.sub(r"\s+", " ", text or "")
        if not words:
            return
        run = paragraph.add_run(words)
        run.bold, run.italic = bool({"strong", "th"} & {*looks}) or None, "em" in looks or None
        run.font.superscript = "cite" in looks or None
        run.font.size = import_module("docx.shared").Pt(9) if "facts" in looks else None
        run.font.name = "Courier New" if "code" in looks else None

    put(element.text, looks)
    for inner in element:
        kind = "cite" if "cite" in inner.get("class", "").split() else inner.tag
        if kind == "math":
            put(inner.get("alttext"), (*looks, "code"))
        elif kind == "a" and (inner.get("href") or "").startswith("http"):
            link: Any = import_module("docx.oxml").OxmlElement("w:hyperlink")
            link.set(f"{_RELATIONS}id", paragraph.part.relate_to(inner.get("href"), f"{_RELATIONS[1:-1]}/hyperlink", True))
            before = len(paragraph.runs)
            _runs(paragraph, inner, looks)
            for run in paragraph.runs[before:]:
                run.font.underline = True
                link.append(run._r)
            paragraph._p.append(link)
        else:
            _runs(paragraph, inner, (*looks, kind))
        put(inner.tail, looks)
