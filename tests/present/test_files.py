"""Answers as files, and the formulas in them: MathML in HTML, TeX in Markdown, nothing that acts anywhere."""

from __future__ import annotations

import importlib.util
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO, StringIO
from pathlib import Path

import pytest
from rich.console import Console

from wellread.answer_json import AnswerJson, CitationJson, NearJson
from wellread.errors import UsageError
from wellread.present.files import as_html, as_markdown, as_word, maker
from wellread.present.html import draft_html
from wellread.present.terminal import lines, show

TEX = r"$E = mc^2\,\frac{a_1}{b}$"
REPORT = AnswerJson(
    question="What is <i>energy</i>?",
    answer=f"## Mass\n\nEnergy is {TEX}. [1]\n\n- one [1]\n- **two**\n\n## Light\n\nFast.\n\n| a | b |\n|---|---|\n| 1 | 2 |",
    outcome="partial",
    missing=["the speed of <b>light</b>"],
    strategy="research",
    citations=[CitationJson(number=1, title="A <b>book</b>", url="https://x.example/a?b=1", quote="E = mc²", support=1.0)],
)


@pytest.fixture
def drawn(need: Callable[[bool, str], None]) -> None:
    need(importlib.util.find_spec("latex2mathml") is not None, "latex2mathml")


def test_markdown_keeps_formulas_whole_and_has_the_sections_of_a_report() -> None:
    text = as_markdown(REPORT)
    assert TEX in text
    assert "## What could not be found\n\n- the speed of \\<b\\>light\\</b\\>" in text
    assert "## Sources\n\n- [1] [A " in text


@pytest.mark.parametrize("sign", ["[x](http://evil.example)", "`", "<b>"])
def test_a_formula_in_a_title_is_whole_unless_it_acts(drawn: None, sign: str) -> None:
    report = replace(
        REPORT,
        missing=[r"why $\alpha_1\,b$ and $5 * 6", f"$a{sign}b$"],
        citations=[CitationJson(number=1, title=rf"The $\beta_2\,$-decay {sign}", url="https://x.example/", support=1.0)],
    )
    text, html = as_markdown(report), as_html(report)
    assert r"[The $\beta_2\,$-decay " in text
    assert r"- why $\alpha_1\,b$ and $5 \* 6" in text
    assert f"$a{sign}b$" not in text
    assert html.count(r'alttext="\beta_2\,"') == html.count(r'alttext="\alpha_1\,b"') == 1
    assert "<b>" not in html
    assert 'href="http://evil' not in html


def test_a_file_speaks_the_language_of_its_question_and_names_no_folder() -> None:
    report = replace(REPORT, question="Was ist Energie und woher kommt sie?", model="local:/home/ada/models/qwen.gguf")
    html, text = as_html(report), as_markdown(report)
    assert "<html lang=de>" in html
    for heading in ("Was nicht zu finden war", "Quellen"):
        assert f"<h2>{heading}</h2>" in html
        assert f"\n## {heading}\n" in text
    assert "· local:qwen.gguf" in text
    assert "ada" not in text + html


def test_html_is_one_file_that_loads_and_runs_nothing(drawn: None) -> None:
    html = as_html(REPORT)
    assert '<li><a href="#part-2">Light</a></li>' in html
    assert '<h2 id="part-2">Light</h2>' in html
    assert '<li id="source-1" value="1">' in html
    assert "default-src 'none'" in html
    for sign in ("<i>", "<b>", "<script", "src=", "@import", "url("):
        assert sign not in html
    assert "<mfrac>" in html
    assert '<mspace width="0.167em">' in html, "what a backslash and a comma stand for"


@pytest.mark.parametrize(
    ("text", "held", "not_held"),
    [
        (r"It is \(a<b\) here", "<mo>&lt;</mo>", "\\("),
        (r"\[ \sum_{i=1}^n x_i \]", 'display="block"', "\\["),
        ("It costs $5 and $6 more", "$5 and $6 more", "<math"),
        ("from $5-$10, or `$x$`", "<code>$x$</code>", "<math"),
        (r"$\text{<script>alert(1)</script>}$ $\href{javascript:x}{y}$ $\style{color:red}{z}$", "<mi>y</mi>", "<script"),
        (r"$\sqrt{" + "x^{" * 100 + "$", '<code class="tex">', "Error"),
        ("$$x^2$$ then $f[1](y)$", 'display="block"', "](y"),
    ],
)
def test_formulas_are_drawn_and_money_is_not(drawn: None, text: str, held: str, not_held: str) -> None:
    html = draft_html(text)
    assert held in html
    assert not_held not in html


def test_the_terminal_shows_tex_as_it_stands() -> None:
    from rich.console import Console

    out = Console(file=(held := __import__("io").StringIO()), width=120)
    show(REPORT, out)
    assert r"$E = mc^2\,\frac{a_1}{b}$" in held.getvalue()


def test_what_a_limit_has_cut_short_says_so_everywhere() -> None:
    cut = replace(REPORT, outcome="exhausted", reason="the limit on searches is reached")
    for text in (as_markdown(cut), as_html(cut)):
        assert "Note: cut short, because the limit on searches is reached." in text
        assert text.index("What could not be found") < text.index("Sources")
        assert "cut short" not in as_markdown(REPORT) + as_html(REPORT)
    assert {"Cut short: the limit on searches is reached\nMissing: the speed of <b>light</b>"} <= {*lines(cut)}


def test_a_list_of_sources_keeps_its_numbers_where_some_are_not_cited(need: Callable[[bool, str], None]) -> None:
    need(importlib.util.find_spec("markdown_it") is not None, "markdown-it-py")
    from markdown_it import MarkdownIt

    cited = [CitationJson(number=number, title=f"Book {number}", url="https://x.example", support=1.0) for number in (1, 4)]
    shown = MarkdownIt().render(as_markdown(replace(REPORT, citations=cited)))
    assert '<li>[4] <a href="https://x.example">Book 4</a></li>' in shown


def test_word_has_headings_lists_tables_and_links(need: Callable[[bool, str], None]) -> None:
    need(importlib.util.find_spec("docx") is not None, "python-docx")
    import docx

    made = docx.Document(BytesIO(as_word(REPORT)))
    styles = {paragraph.text: paragraph.style.name for paragraph in made.paragraphs if paragraph.style}
    assert styles["What is <i>energy</i>?"] == "Title"
    assert styles["Light"] == "Heading 1"
    assert styles["two"] == "List Bullet"
    assert any(TEX.strip("$") in text for text in styles)
    assert [cell.text for cell in made.tables[0].rows[1].cells] == ["1", "2"]
    assert "https://x.example/a?b=1" in [link.address for one in made.paragraphs for link in one.hyperlinks]


def test_numbers_stand_at_their_sentence_and_apart_from_each_other(need: Callable[[bool, str], None]) -> None:
    cited = [CitationJson(number=number, title="A book", quote="Fast.", support=1.0) for number in (1, 2)]
    report = replace(REPORT, answer="## Light\n\nFast. [1][2] Old. [2]", citations=cited)
    assert re.sub("<a[^>]+>", "", as_html(report)).count("<p>Fast.1</a><sup class=cite>,</sup>2</a> Old.2</a></p>") == 1
    need(importlib.util.find_spec("docx") is not None, "python-docx")
    import docx

    made = docx.Document(BytesIO(as_word(report)))
    (said,) = [paragraph for paragraph in made.paragraphs if paragraph.text.startswith("Fast")]
    assert [(run.text, run.font.superscript) for run in said.runs] == [
        ("Fast.", None), ("1", True), (",", True), ("2", True), (" Old.", None), ("2", True)
    ]  # fmt: skip


@pytest.mark.slow
def test_a_pdf_is_printed_by_a_browser(need: Callable[[bool, str], None], tmp_path: Path) -> None:
    need(shutil.which("chromium") is not None, "chromium")
    import pypdfium2

    made = pypdfium2.PdfDocument(maker(tmp_path / "a.pdf")(REPORT))
    words = made[0].get_textpage().get_text_range()
    assert "What could not be found" in words
    assert "file://" not in words


def test_what_cannot_be_written_is_told_before_anything_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for name, words in (("a.txt", ".md, .html, .docx or .pdf"), ("no/a.md", "no such folder"), ("a.pdf", "install Chromium")):
        with pytest.raises(UsageError, match=words):
            maker(tmp_path / name)


def test_a_passage_that_comes_near_keeps_the_lines_of_its_list() -> None:
    keys = "F1     Shows help.\n\n```\nF10    Leaves,\n       and saves.\n```\n" + "Long ago it was told otherwise. " * 40
    answer = AnswerJson(question="?", outcome="unsure", nearest=[NearJson(number=2, title="Keys", text=keys)])
    out = Console(width=80, file=StringIO())
    show(answer, out)
    assert isinstance(out.file, StringIO)
    seen = [line.rstrip() for line in out.file.getvalue().splitlines()]
    for text in ("\n".join(lines(answer)), "\n".join(seen)):
        assert "    “F1     Shows help.\n    F10    Leaves,\n           and saves.\n    Long ago" in text
        assert "…”" in text
    assert max(map(len, seen)) <= 80
