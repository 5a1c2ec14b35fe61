"""A document is not a news page: of a manual, or a file of one's own, all is kept but navigation."""

from __future__ import annotations

import pytest

from wellread.reading.extract import extract

PROSE = "The pump is started with the red handle, which is turned slowly until the needle of the gauge begins to move."
DOCBOOK = "<meta name='generator' content='DocBook XSL Stylesheets V1.79'>"


def manual(body: str, head: str = DOCBOOK, url: str = "https://pumps.example/manual/start.html") -> str:
    return extract(f"<html><head><title>Pumps</title>{head}</head><body>{body}</body></html>", url).text


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("sidebar", "<div class='sidebar'><p class='title'>CULTURE Old pumps</p><p>They had wooden handles.</p></div>"),
        ("aside", "<aside><p>A note in the margin about handles.</p></aside>"),
        ("note", "<div class='admonition note'><p>Note</p><p>Wear gloves.</p></div>"),
        ("author", "<div class='author'><h3 class='author'>Ada Moor</h3></div>"),
        ("footnotes", "<div class='footnotes'><p><a href='#f1'>[1]</a> Or the blue one.</p></div>"),
        ("figure", "<figure><img src='p.png'><figcaption>The pump seen from above.</figcaption></figure>"),
        ("credit", "<p>Handles <span class='credit'>by Moor and Lind</span> are red.</p>"),
        ("reference", "<p>See <a class='reference internal' href='valves.html'>the chapter on valves</a> first.</p>"),
        ("short", "<div class='tags'><p>Turn.</p></div>"),
        (
            "table of outward links",
            "<div class='table-contents'><table><tr><th>maker</th><th>place</th></tr>"
            + "".join(f"<tr><td><a href='https://{n}.example/'>Lind number {n}</a></td><td>town</td></tr>" for n in range(9))
            + "</table></div>",
        ),
        ("copyright", "<div class='copyright-footer'>Copyright 1974 Ada Moor</div>"),
        ("outward links", "<ul>" + "".join(f"<li><a href='https://{n}.example/'>Maker {n}</a></li>" for n in range(9)) + "</ul>"),
    ],
)
def test_what_is_kept(name: str, part: str) -> None:
    text = manual(f"<h1>Start</h1><p>{PROSE}</p>{part}<p>{PROSE} Twice.</p>").replace("\n", " ")
    wanted = {
        "sidebar": "wooden handles",
        "aside": "A note in the margin",
        "note": "Wear gloves.",
        "author": "Ada Moor",
        "footnotes": "Or the blue one.",
        "figure": "seen from above",
        "credit": "by Moor and Lind",
        "reference": "the chapter on valves",
        "short": "Turn.",
        "table of outward links": "Lind number 8",
        "copyright": "1974 Ada Moor",
        "outward links": "Maker 8",
    }
    assert wanted[name] in text


CHAPTERS = "".join(f"<li><a href='c{n}.html'>Chapter {n}</a></li>" for n in range(9))


@pytest.mark.parametrize(
    "part",
    [
        "<div class='navheader'><table><tr><td><a accesskey='p' href='a.html'>Chapter 1</a></td><th>Pumps</th>"
        "<td><a accesskey='n' href='b.html'>Chapter 2</a></td></tr></table></div>",
        "<div class='navfooter'><table><tr><td><a accesskey='p' href='a.html'><img alt='back' src='p.png'></a></td></tr>"
        "<tr><td>Chapter 1. How it was built</td></tr></table></div>",
        "<p>Next: <a href='b.html' rel='next'>Chapter 2</a>, Up: <a href='i.html' rel='up'>Chapter 1</a></p>",
        f"<div class='toc'><p><b>Chapter list</b></p><ul>{CHAPTERS}</ul></div>",
        f"<h2>Chapter list</h2><ul>{CHAPTERS}</ul>",
        f"<div class='sidebar'><h3>Chapter list</h3><ul>{CHAPTERS}</ul></div>",
        "<form action='search.html'><label>Chapter <a href='s.html'>search</a></label><input></form>",
        "<p><a href='c1.html'>Chapter 1</a> | <a href='c2.html'>Chapter 2</a></p>",
        "<div class='footer'>Chapter written with a program</div>",
    ],
)
@pytest.mark.parametrize("above", [True, False])
def test_navigation_goes(part: str, above: bool) -> None:
    text = f"<h1>Start</h1><p>{PROSE}</p><p>{PROSE} Twice.</p>"
    assert manual(part + text if above else text + part).count("Chapter") == 0


def test_a_local_file_is_a_document_unless_it_was_an_article_on_the_web() -> None:
    body = f"<div><p>{PROSE}</p><p>{PROSE} Twice.</p></div><div class='sidebar'><p>An aside about handles of wood.</p></div>"
    article = "<meta property='og:type' content='article'>"
    assert "handles of wood" in manual(body, "", "file:///home/ada/pumps.html")
    assert "handles of wood" not in manual(body, article, "file:///home/ada/pumps.html")
    assert "handles of wood" not in manual(body, "")


def test_long_cells_are_rows_and_tables_of_code_are_not() -> None:
    long = " ".join([PROSE] * 4)
    rows = f"<tr><td>start</td><td>{long}</td></tr><tr><td>stop</td><td>{long}</td></tr>"
    code = "<tr><td>1</td><td><pre>a\n  b</pre></td></tr><tr><td>2</td><td><pre>c</pre></td></tr>"
    text = manual(f"<h1>Start</h1><p>{PROSE}</p><table>{rows}</table><table>{code}</table>")
    assert f"| start | {long} |\n| stop |" in text
    assert "```\na\n  b\n```" in text


def test_code_with_an_element_a_line_is_one_piece() -> None:
    lines = "<div class='line'>int main() {</div><div class='line'>  return 0;</div><div class='line'>}</div>"
    text = manual(f"<p>{PROSE}</p><div class='fragment'>{lines}</div>", "<meta name='generator' content='Doxygen 1.9'>")
    assert "```\nint main() {\n  return 0;\n}\n```" in text


def test_what_doxygen_calls_contents_is_the_text() -> None:
    rows = "".join(
        f"<tr><td><a href='t.html'>Flow</a></td><td><a href='p.html#f{n}'>pump{n}</a> (int)</td></tr>" for n in range(4)
    )
    table = f"<table class='memberdecls'><tr><td colspan='2'><h2>Functions</h2></td></tr>{rows}</table>"
    page = f"<div id='top'>{PROSE}</div><div class='contents'><p>Go on.</p>{table}</div>"
    assert "pump3" in manual(page, "<meta name='generator' content='Doxygen 1.9'>")


def test_a_heading_loses_its_mark() -> None:
    assert "## Handles\n" in manual(f"<p>{PROSE}</p><h2>Handles<a class='headerlink' href='#h'>¶</a></h2><p>{PROSE}</p>")
    assert "## Handles\n" in manual(f"<p>{PROSE}</p><h2>Handles<a href='#h'> ¶</a></h2><p>{PROSE}</p>")


def test_a_heading_without_its_list_goes_and_the_last_heading_stays() -> None:
    text = manual(f"<p>{PROSE}</p><h2>More</h2><ul>{CHAPTERS}</ul><h2>Handles</h2><p>{PROSE}</p><h4>www.pumps.example</h4>")
    assert "More" not in text
    assert text.endswith("#### www.pumps.example")
