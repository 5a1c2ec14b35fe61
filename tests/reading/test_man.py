"""Manual pages as programs write them: DocBook, Asciidoctor, pod2man, and people."""

from __future__ import annotations

import time

import pytest
from tests.reading.given_bytes import read_bytes

from wellread.errors import ReadError
from wellread.reading.man import read_man

HEAD = '.TH LAMP 1 "2024-03-05"\n.SH NAME\nlamp \\- light\n.SH DESCRIPTION\n'


def said(body: str) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in read_man(HEAD + body, "x").blocks[3:]]


def test_what_a_page_defines_for_itself_is_not_its_text() -> None:
    """As Asciidoctor and pod2man begin each of their pages."""
    body = """.de URL
\\fI\\\\$2\\fP <\\\\$1>\\\\$3
..
.if \\n[.g] \\{\\
.  am URL
.    ad l
.  .
.\\}
.de Sp \\" Vertical space
.if t .sp .5v
..
See
.URL "https://a.example" "the keeper\\(aqs site" "."
"""
    assert said(body) == [("paragraph", "See https://a.example the keeper's site .")]


def test_how_far_in_a_page_stands_is_not_its_text() -> None:
    """As rst2man and Sphinx begin each of their pages."""
    body = """.de1 INDENT
.\\" .rstReportMargin pre:
. RS \\\\$1
. nr rst2man-indent-level +1
..
.de UNINDENT
. RE
..
.TP
.B \\-z factor
Zoom (default: 1).
.INDENT 7.0
.INDENT 3.5
.sp
As a photograph.
.UNINDENT
.UNINDENT
"""
    assert said(body) == [("entry", "-z factor: Zoom (default: 1)."), ("paragraph", "As a photograph.")]


def test_what_is_ignored_ends_where_the_page_says() -> None:
    """As texi2man hides equations from a terminal; all behind them was lost."""
    assert said(".if n .ig ++\n.EQ\ndelim $$\n.EN\n.++\nLight it.\n.ig\nno\n..\nNow.\n") == [("paragraph", "Light it. Now.")]


def test_conditions_are_decided_as_on_a_terminal() -> None:
    body = """.ie n \\{\\
\\h'-04'\\(bu\\h'+03'\\c
.\\}
.el \\{\\
.sp -1
.IP \\(bu 2.3
.\\}
Fill it.
.if t Printed.
.if n Shown.
.if !n \\{\\
Never
said.
.\\}
.ie \\n(.g .ds Ln line
.el .ds Ln none
One \\*(Ln.
"""
    assert said(body) == [("item", "Fill it. Shown. One line.")]


def test_strings_and_characters() -> None:
    assert said('.ds Np wick trimmer\nThe \\*(Np, \\*(L"so called\\*(R"\\*(--here.\n') == [
        ("paragraph", 'The wick trimmer, "so called"--here.')
    ]
    assert said(".tr \\(is'\n.tr \\(if`\\(pd\"\nSay \\(iflamp\\(is.\n") == [("paragraph", "Say `lamp'.")]
    assert said("\\('e \\(:a \\[u2026] \\N'65' \\(rs \\e \\(-> \\s-1SMALL\\s0 \\f(CWcode\\fP \\*[unknown]x") == [
        ("paragraph", "é ä … A \\ \\ → SMALL code x")
    ]


def test_motions_as_wide_as_words_and_counts_of_lines_are_no_words() -> None:
    body = ".de Xx\n\\$1\n..\n.Xx 3\nFill\\h'\\w' it'u' it.\n.Xx slowly\n"
    assert said(body) == [("paragraph", "Fill  it. slowly")]


def test_code_of_pod2man_stays_whole() -> None:
    body = """Use it so:
.PP
.Vb 3
\\&    use Lamp;
\\&
\\&      light(1);
.Ve
Then wait.
"""
    assert said(body) == [("paragraph", "Use it so:"), ("code", "use Lamp;\n\n  light(1);"), ("paragraph", "Then wait.")]


def test_code_ends_with_its_section_and_holds_its_gaps() -> None:
    body = ".SH A\n.nf\none\n.PP\ntwo\n.SH B\nProse that\ngoes on.\n\nAnd more.\n"
    assert said(body) == [
        ("heading", "A"),
        ("code", "one\n\ntwo"), ("heading", "B"), ("paragraph", "Prose that goes on."), ("paragraph", "And more."),
    ]  # fmt: skip


def test_lists_are_items_and_terms_are_entries() -> None:
    body = ".IP \\(bu 2\nOil.\n.IP 1. 4\nFill.\n.IP 2) 4\nLight.\n.IP \\-q 4\nBe quiet.\n.TP\n.B \\-v\nSay more.\n"
    assert said(body) == [
        ("item", "Oil."), ("item", "1. Fill."), ("item", "2) Light."), ("entry", "-q: Be quiet."), ("entry", "-v: Say more."),
    ]  # fmt: skip


def test_tables_say_what_parts_their_cells_and_cells_go_on() -> None:
    body = """.TS
allbox tab(:);
lB lB
l l.
T{
Lamp
T}:T{
Burns
T}
T{
North
T}:T{
whale oil,
\\fIalways\\fP
T}
South:gas
.TE
After.
"""
    rows = ["| Lamp | Burns |", "| North | whale oil, always |", "| South | gas |"]
    assert said(body) == [*(("row", row) for row in rows), ("paragraph", "After.")]


def test_bullets_and_displays_of_mdoc() -> None:
    body = ".Dd x\n.Sh A\n.Bl -bullet\n.It\nOil.\n.It\nWick.\n.El\n.Bd -filled\nProse\nit is.\n.Ed\n.Bd -literal\na\nb\n.Ed\n"
    assert [(block.kind, block.text) for block in read_man(body, "x").blocks[1:]] == [
        ("item", "Oil."), ("item", "Wick."), ("paragraph", "Prose it is."), ("code", "a\nb"),
    ]  # fmt: skip


def test_a_title_has_the_letters_of_its_file() -> None:
    body = b".TH ANYLAMP_FILE 3 x\n.SH NAME\nAnyLamp_File\n"
    assert read_bytes(body, "file:///x", name="AnyLamp_File.3").title == "AnyLamp_File(3)"
    assert read_bytes(body, "file:///x", name="other.3").title == "anylamp_file(3)"


def test_a_page_that_only_points_to_another_says_so() -> None:
    with pytest.raises(ReadError, match="points to another"):
        read_bytes(b".so man1/lamp.1\n", "file:///x", name="light.1")


@pytest.mark.parametrize(
    "body",
    [
        ".if n " * 20_000,
        ".ie n \\{" * 20_000,
        ".de x\n" * 20_000,
        ".ds a \\*a\\*a\n" * 20_000,
        ".as a \\*a\\*ab\n" * 20_000 + "\\*a" * 1000,
        "\\[" * 50_000,
        "\\h'" * 50_000,
        ".if '" + "'" * 50_000,
        ".if " + "\\a" * 50_000,
        ".TS\na.\n" + "T{\nx\nT}\tT{\n" * 20_000,
    ],
)
def test_no_page_takes_long(body: str) -> None:
    begun = time.process_time()
    read_man(HEAD + body, "x")
    assert time.process_time() - begun < 3
