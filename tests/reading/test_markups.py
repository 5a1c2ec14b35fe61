"""Manuals in the markups that desktops, Perl, GNU, Emacs and scientists write."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from tests.reading.given_bytes import read_bytes

from wellread.errors import ReadError
from wellread.types import Page


def read(text: str, name: str) -> Page:
    return read_bytes(text.encode(), f"file:///{name}", name=name)


def said(page: Page) -> list[tuple[str, str]]:
    return [(f"{block.kind}{block.level or ''}", block.text) for block in page.blocks]


INFO = """This is lamp.info, produced by makeinfo version 7.0 from lamp.texi.

START-INFO-DIR-ENTRY
* Lamp: (lamp).  Light.
END-INFO-DIR-ENTRY

\x1f
File: lamp.info,  Node: Top,  Next: Oil,  Up: (dir)

Lamps
*****

A manual.

* Menu:

* Oil::     What burns.
* Index::

 -- The Detailed Node Listing --

Oil

* Whale::

\x1f
File: lamp.info,  Node: Oil,  Next: Index,  Prev: Top,  Up: Top

1 Oil
=====

Fill it (*note Whale oil: Whale, for which) each evening.  *Note Index::.

     lamp --fill
     lamp --light

'-q'
'--quiet'
     Say nothing, whatever
     happens.

1.1 Whale
---------

     Whale oil is what was burned in the lamps of all the towers
     until gas came, and nobody misses it.
\x1f
File: lamp.info,  Node: Index,  Prev: Oil,  Up: Top

Index
*****

\0\b[index\0\b]
* Menu:

* oil:       Oil.   (line 3)
\x1f
Tag Table:
Node: Top\x7f100
\x1f
End Tag Table
"""


@pytest.mark.parametrize("name", ["lamp.info", "lamp.info-1", "lamp"])
def test_info(name: str) -> None:
    page = read(INFO, name)
    assert (page.kind, page.title) == ("info", "Lamps")
    assert said(page) == [
        ("heading1", "Lamps"),
        ("paragraph", "A manual."),
        ("heading2", "1 Oil"),
        ("paragraph", "Fill it (see Whale oil, for which) each evening.  See Index."),
        ("code", "lamp --fill\nlamp --light"),
        ("entry1", "'-q', '--quiet': Say nothing, whatever happens."),
        ("heading3", "1.1 Whale"),
        ("paragraph", "Whale oil is what was burned in the lamps of all the towers until gas came, and nobody misses it."),
    ]


def test_the_lines_of_an_info_paragraph_with_references_are_joined() -> None:
    told = "   When the lamp is out, look at the other ways of light in\n"
    told += "this house, of which there are many in each of its rooms (*note\n"
    told += "Matches: Other light.) and go on with what you did before the whole\nlamp went out."
    node = f"\x1f\nFile: lamp.info,  Node: Oil,  Up: Top\n\nOil\n***\n\n{told}\n"
    (block,) = read(node, "lamp.info").blocks[1:]
    assert block.text.endswith(
        "of which there are many in each of its rooms (see Matches.) and go on with what you did before the whole lamp went out."
    )


def test_the_commands_of_an_info_manual_are_entries() -> None:
    node = "\x1f\nFile: lamp.info,  Node: Oil,  Up: Top\n\nOil\n***\n\n -- Command: light\n     Light the lamp with the match.\n"
    assert said(read(node, "lamp.info"))[1:] == [("entry1", "Command: light: Light the lamp with the match.")]


def test_the_first_term_of_an_info_table_may_stand_right_below_what_leads_to_it() -> None:
    node = "\x1f\nFile: lamp.info,  Node: Oil,  Up: Top\n\nOil\n***\n\n"
    node += "   The lamp has these\noptions:\n'c'\n     Clear the glass.\n'w'\n     Trim the wick.\n"
    assert said(read(node, "lamp.info"))[1:] == [
        ("paragraph", "The lamp has these options:"), ("entry1", "'c': Clear the glass."), ("entry1", "'w': Trim the wick."),
    ]  # fmt: skip


def test_lists_inside_of_what_an_info_manual_says_of_a_term() -> None:
    node = """
File: lamp.info,  Node: Oil,  Up: Top

 -- Command: look WHEN
     Look at it.

     'dusk'
          When the sun goes down.  It is
          the default.
     'dawn'
     'noon'
          Later.

        * by day, from
          the stairs
        * by night

     lamp ()
     {
          light ();
     }
"""
    assert said(read(node, "lamp.info")) == [
        ("entry1", "Command: look WHEN: Look at it."),
        ("entry1", "'dusk': When the sun goes down.  It is the default."),
        ("entry1", "'dawn', 'noon': Later."),
        ("item1", "by day, from the stairs"),
        ("item1", "by night"),
        ("code", "lamp ()\n{\n     light ();\n}"),
    ]


def test_the_first_file_of_an_info_manual_in_parts_says_what_it_is_about() -> None:
    head = "This is lamp.info, produced by makeinfo version 7.0.\n\nHow to light a lamp.\n\n"
    listed = "INFO-DIR-SECTION Light\n* Lamp: (lamp).\n\x1f\nIndirect:\nlamp.info-1: 300\n\x1f\nTag Table:\n"
    told = [block.text for block in read(head + listed, "lamp.info").blocks]
    assert told == ["This is lamp.info, produced by makeinfo version 7.0.", "How to light a lamp."]


POD = """=encoding utf8

=head1 NAME

Lamp::Oil - what B<burns>

=head1 USE

Call C<< $lamp->fill >> or L<Lamp::Wick|the wick>, see L<perlre/"Oil">;
a E<lt> b.X<index>

  my $lamp = Lamp->new;

  $lamp->fill;

=over 4

=item -q

=item --quiet

Say nothing.

=item *

A point.

=item fill

  $lamp->fill;

=item alone

=back

=begin html

<b>not said</b>

=end html

=cut
"""


def test_pod() -> None:
    page = read(POD, "Oil.pod")
    assert (page.kind, page.title) == ("pod", "Lamp::Oil")
    assert said(page)[2:] == [
        ("heading1", "USE"),
        ("paragraph", "Call $lamp->fill or Lamp::Wick, see perlre Oil; a < b."),
        ("code", "my $lamp = Lamp->new;"),
        ("code", "$lamp->fill;"),
        ("entry1", "-q, --quiet: Say nothing."),
        ("item1", "A point."),
        ("entry1", "fill"),
        ("code", "$lamp->fill;"),
        ("entry1", "alone"),
    ]


DOCBOOK = """<?xml version="1.0" encoding="iso-8859-1"?>
<!DOCTYPE book PUBLIC "-//OASIS//DTD DocBook XML V4.5//EN" "docbookx.dtd" [<!ENTITY app "Lamp">]>
<book lang="en-GB"><bookinfo><title>The <application>Lamp</application> Book</title>
<author><surname>Moor</surname></author></bookinfo>
<chapter id="oil"><title>Oil</title><indexterm><primary>oil</primary></indexterm>
<para>Fill   it with <emphasis>whale</emphasis> oil.</para>
<screen>lamp --fill
<userinput><![CDATA[lamp <file>]]></userinput></screen>
<sect1><title>Caf\xe9</title>
<itemizedlist><listitem><para>One.</para></listitem><listitem><para>Two.</para></listitem></itemizedlist>
<variablelist><varlistentry><term>-q</term><listitem><para>Be quiet.</para></listitem></varlistentry></variablelist>
<note><title>Mind</title><para>Press <keycombo><keycap>Ctrl</keycap><keycap>C</keycap></keycombo>, then
<menuchoice><guimenu>File</guimenu> <guimenuitem>Save</guimenuitem></menuchoice>.</para></note>
<informaltable><tgroup cols="2"><thead><row><entry>Lamp</entry><entry>Year</entry></row></thead>
<tbody><row><entry>North</entry><entry>1881</entry></row></tbody></tgroup></informaltable>
</sect1></chapter></book>"""
READ = [
    ("heading2", "Oil"), ("paragraph", "Fill it with whale oil."), ("code", "lamp --fill\nlamp <file>"), ("heading3", "Café"),
    ("item1", "One."), ("item1", "Two."), ("entry1", "-q: Be quiet."), ("paragraph", "Mind"),
    ("paragraph", "Press Ctrl+C, then File → Save."), ("row", "| Lamp | Year |"), ("row", "| North | 1881 |"),
]  # fmt: skip


@pytest.mark.parametrize("name", ["lamp.xml", "index.docbook", "lamp"])
def test_docbook(name: str) -> None:
    page = read_bytes(DOCBOOK.encode("latin-1"), f"file:///{name}", name=name)
    assert (page.kind, page.title, page.language) == ("docbook", "The Lamp Book", "en")
    assert said(page) == READ


def test_docbook_of_the_days_of_sgml() -> None:
    text = """<!DOCTYPE article PUBLIC "-//OASIS//DTD DocBook V3.1//EN">
<article><title>Lamps</title><sect1 id=oil><title>Oil</title><para>Fill <emphasis>it</>.<para>Light it.</sect1></article>"""
    page = read(text, "lamp.sgml")
    assert (page.kind, page.title) == ("docbook", "Lamps")
    assert said(page) == [("heading2", "Oil"), ("paragraph", "Fill it."), ("paragraph", "Light it.")]


def test_docbook_5_keeps_the_titles_of_its_parts_in_what_is_said_about_them() -> None:
    text = """<book xmlns="http://docbook.org/ns/docbook"><info><title>Lamps</title><author>A. Moffat</author></info>
<chapter><info><title>Oil &amp; <emphasis>wick</emphasis></title><copyright>1822</copyright></info><para>Oil burns.</para>
<section><info><title>Whales</title></info><para>It came from whales.</para></section></chapter></book>"""
    page = read(text, "lamp.dbk")
    assert page.title == "Lamps"
    assert said(page) == [
        ("heading2", "Oil & wick"),
        ("paragraph", "Oil burns."),
        ("heading3", "Whales"),
        ("paragraph", "It came from whales."),
    ]


def test_mallard() -> None:
    text = """<page xmlns="http://projectmallard.org/1.0/" type="topic" id="oil">
<info><link type="guide" xref="x"/><desc>Not said.</desc></info>
<title>Fill a lamp</title><p>Press <keyseq><key>Super</key><key>L</key></keyseq>.</p>
<steps><item><p>Open it.</p></item><item><p>Fill it.</p></item></steps>
<section id="more"><title>Problems</title><terms><item><title>No oil</title><p>Buy some.</p></item></terms>
<code>lamp</code></section></page>"""
    page = read(text, "oil.page")
    assert page.title == "Fill a lamp"
    assert said(page) == [
        ("paragraph", "Press Super+L."), ("item1", "Open it."), ("item1", "Fill it."), ("heading2", "Problems"),
        ("entry1", "No oil: Buy some."), ("code", "lamp"),
    ]  # fmt: skip


ORG = """#+TITLE: On lamps
#+AUTHOR: Ada Moor
# a comment
* TODO [#A] Oil :home:
  :PROPERTIES:
  :ID: 7
  :END:
See [[https://a.example][the site]].

- [X] Fill it
  slowly.
- term :: what it is
#+BEGIN_SRC sh
  lamp --fill

    lamp
#+END_SRC
** Table
| Lamp | Year |
|------+------|
| North | 1881 |
"""


def test_org() -> None:
    page = read(ORG, "lamp.org")
    assert (page.kind, page.title, page.author) == ("org", "On lamps", "Ada Moor")
    assert said(page) == [
        ("heading1", "Oil"), ("paragraph", "See the site."), ("item1", "Fill it slowly."), ("entry1", "term: what it is"),
        ("code", "lamp --fill\n\n  lamp"), ("heading2", "Table"), ("row", "| Lamp | Year |"), ("row", "| North | 1881 |"),
    ]  # fmt: skip


TEX = r"""\documentclass[a4paper]{article}
\usepackage{amsmath} % for sums
\title{On \emph{Lamps}}
\author{Ada Moor}
\begin{document}
\maketitle
\section{Oil \& gas}\label{sec:oil}
Fill ``it'' with 50\% oil~\cite{moor}, see Section~\ref{sec:oil}. % not said
It burns $x^2_{max}$ hours---or \textbf{\textit{less}}.

\begin{itemize}
  \item One.
  \item Two.
\end{itemize}
\begin{description}\item[Wick] It burns.\end{description}
\begin{verbatim}
lamp --fill % said
\end{verbatim}
\begin{tabular}{l|p{3cm}}
Lamp & Year \\ \hline
North & 1881 \\
\end{tabular}
\subsection*{End}
\LaTeX{} it is.
\end{document}
Nothing."""


def test_a_term_of_org_may_be_explained_in_the_next_line() -> None:
    page = read("* Lamps :oil:light:\n- wick ::\n  It burns.\n- globe :: Of glass.\n- lens ::\n\nDone.\n", "lamp.org")
    assert said(page) == [
        ("heading1", "Lamps"),
        ("entry1", "wick: It burns."),
        ("entry1", "globe: Of glass."),
        ("entry1", "lens"),
        ("paragraph", "Done."),
    ]


def test_latex_with_commands_of_its_own_and_code_in_a_line() -> None:
    body = r"""\newcommand{\lamp}[2][Oil]{\textbf{#1 \emph{#2}}} Run \verb|lamp_on -x {a}| at $t_0$. \renewcommand\a{b}Done."""
    page = read("\\begin{document}\nA stray \x025\x02 mark. " + body + "\n\\end{document}\n", "lamp.tex")
    assert said(page) == [("paragraph", "A stray 5 mark. Run lamp_on -x {a} at $t_0$. Done.")]


def test_latex_has_accents_on_its_letters_and_money_is_no_formula() -> None:
    body = r"G\"odel met Erd\H{o}s and na{\"\i}ve {\O}rsted \& \v{S}imon for \$5 or \$6.\\'t was late."
    page = read(f"\\begin{{document}}\n{body}\n\\end{{document}}\n", "lamp.tex")
    assert said(page) == [("paragraph", "Gödel met Erdős and naïve Ørsted & Šimon for $5 or $6. 't was late.")]


def test_latex() -> None:
    page = read(TEX, "lamp.tex")
    assert (page.kind, page.title, page.author) == ("tex", "On Lamps", "Ada Moor")
    assert said(page) == [
        ("heading3", "Oil & gas"),
        ("paragraph", "Fill “it” with 50% oil , see Section . It burns $x^2_{max}$ hours—or less."),
        ("item1", "One."), ("item1", "Two."), ("entry1", "Wick: It burns."), ("code", "lamp --fill % said"),
        ("row", "| Lamp | Year |"), ("row", "| North | 1881 |"), ("heading4", "End"), ("paragraph", "LaTeX it is."),
    ]  # fmt: skip


HOSTILE = {
    "a.pod": ["=over\n\n" * 50_000, "C<< " * 20_000, "L<" * 50_000, "=head99 x\n\n" * 1000, "=head" + "9" * 5000 + " x"],
    "a.tex": [
        "\\begin{verbatim}" * 50_000,
        "\\section{" * 50_000,
        "{" * 100_000,
        "\\[" * 30_000,
        "$" * 100_000,
        "\\title{" * 50_000,
    ],
    "a.org": ["* " * 100_000, "[[" * 100_000, "#+begin_src\n" * 50_000, "|" * 100_000],
    "a.info": ["\x1f\nFile: a, Node: b\n" * 30_000, "*note a" * 50_000],
    "a.docbook": ["<book>" * 50_000, "<para>" * 50_000, "<title>" * 50_000, "<book id='" + "a" * 100_000],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "number"), [(name, number) for name, bodies in HOSTILE.items() for number in range(len(bodies))]
)
def test_no_document_takes_long(name: str, number: int) -> None:
    begun = time.process_time()
    with suppress(ReadError):
        read(f"Words.\n\n{HOSTILE[name][number]}", name)
    assert time.process_time() - begun < 5


def test_info_examples_below_a_sentence_and_options_below_each_other() -> None:
    node = (
        "\x1f\nFile: a.info,  Node: Lines,  Up: Top\n\n"
        "The conditions of a block must be complete\nlines\n     if (x)\n       y ();\n\n"
        "'-f FILE'\n'--file=FILE'\n     Read FILE.\n'-v'\n     Say more.\n\n"
        "   * One.\n   * Two, which\n     goes on.\n"
    )
    blocks = read(node, "a.info").blocks
    assert [(block.kind, block.text) for block in blocks] == [
        ("paragraph", "The conditions of a block must be complete lines"),
        ("code", "if (x)\n  y ();"),
        ("entry", "'-f FILE', '--file=FILE': Read FILE."),
        ("entry", "'-v': Say more."),
        ("item", "One."),
        ("item", "Two, which goes on."),
    ]
