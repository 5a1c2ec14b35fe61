"""An answer as HTML that is safe to show: Markdown in, sanitised HTML out, numbers as buttons.

Everything in an answer is foreign: models repeat what pages tell them. The Markdown is rendered without
raw HTML and then sanitised all the same; the marks for sentences and citations are ours, put in as
private characters before rendering and replaced by elements after sanitising. So are formulas, whose MathML is sanitised apart.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from html import escape, unescape
from importlib import import_module
from itertools import count
from typing import TYPE_CHECKING

from wellread.answer_json import AnswerJson
from wellread.errors import WellreadError, panics_as
from wellread.present.sections import sections
from wellread.text.formulas import keep_formulas, tex
from wellread.text.markers import Marker, replaced

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_TAGS = {
    *("p", "br", "em", "strong", "del", "code", "pre", "blockquote", "ul", "ol", "li", "hr", "a"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
_MATH = set(  # what latex2mathml makes
    "math mrow mi mn mo mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover mtable mtr mtd mstyle menclose "  # noqa: SIM905
    "mpadded mphantom mmultiscripts mprescripts none".split()
)
_LOOKS = set("accent alttext columnalign display fence largeop linethickness mathvariant movablelimits stretchy width".split())  # noqa: SIM905
_WEAK, _BLOCK, _CITE, _CLOSE, _INLINE = "\ue100", "\ue101", "\ue102", "\ue103", "\ue104"
_PRIVATE = re.compile("[\ue100-\ue104]")
_FORMULA = re.compile(f"([{_BLOCK}{_INLINE}])([^{_CLOSE}]*){_CLOSE}")
_MARK = re.compile(f"{_CITE}([0-9]+){_CLOSE}")
_DOUBT = re.compile(f"{_WEAK}([0-9]+){_CLOSE}")


def answer_html(answer: AnswerJson | None, headings: str = "part") -> str:
    """The text of an answer as safe HTML; its headings can be linked to, by numbers behind this word."""
    if answer is None:
        return ""
    sentences = [replace(one, text=_PRIVATE.sub("", one.text)) for one in answer.sentences]  # the private characters are ours
    parts = sections(replace(answer, answer=_PRIVATE.sub("", answer.answer), sentences=sentences))
    cited = _cited(parts.marked(f"{_WEAK}{{}}{_CLOSE}"), {one.number for one in parts.sources})
    html, number = _elements(_safe(cited)), count(1)
    return re.sub("<h2>", lambda _: f'<h2 id="{headings}-{next(number)}">', html)


def draft_html(text: str) -> str:
    """The words of an answer that is still being written, as safe HTML; every number is one of a source."""
    return _elements(_safe(_cited(_PRIVATE.sub("", text), None)))


def markdown_html(text: str) -> str:
    """Markdown of ours as safe HTML."""
    return _elements(_safe(_PRIVATE.sub("", text)))


def plain_text(markdown: str) -> str:
    """The words of an answer in one line, without the signs of Markdown."""
    return " ".join(_PRIVATE.sub("", unescape(_safe(markdown, set()))).split())


def _cited(text: str, known: set[int] | None) -> str:
    """With the numbers of these sources as our characters; None: all numbers are known."""

    def mark(one: Marker) -> str:
        numbers = [n for n in one.numbers if known is None or n in known]
        return "".join(f"{_CITE}{n}{_CLOSE}" for n in numbers) or text[one.start : one.end]

    return replaced(text, mark)


def _safe(text: str, tags: set[str] = _TAGS) -> str:
    import nh3

    html = _parser().render(text)
    with panics_as(WellreadError, "cleaning an answer's HTML"):
        return nh3.clean(
            html,
            tags=tags,
            attributes={"a": {"href"}},
            url_schemes={"http", "https"},
            link_rel="noopener noreferrer nofollow",
            set_tag_attribute_values={"a": {"target": "_blank"}},
        )


def _elements(html: str) -> str:
    html = _MARK.sub(r'<a class="cite" href="#source-\1" data-number="\1" role="button" aria-label="Source \1">\1</a>', html)
    said = 'aria-label="Not carried by its sources: compare" title="Not carried by its sources: compare"'
    html = _DOUBT.sub(rf'<a class="cite mark" href="#doubt-\1" data-number="?\1" role="button" {said}>?</a>', html)
    return _FORMULA.sub(lambda found: _mathml(unescape(found[2]), found[1] == _BLOCK), html)


def _mathml(words: str, block: bool) -> str:
    """A formula as browsers draw it; as it stands where nobody can read it, or the extra is not there."""
    import nh3

    try:
        drawn: str = import_module("latex2mathml.converter").convert(words, display="block" if block else "inline")
        drawn = drawn.replace("<math ", f'<math alttext="{escape(words)}" ', 1)
        return nh3.clean(drawn, tags=_MATH, attributes={tag: _LOOKS for tag in _MATH}, link_rel=None)
    except Exception:  # of its many kinds none is documented
        return f'<code class="tex">{escape(words)}</code>'


def _formula(found: re.Match[str]) -> str:
    words, block = tex(found)
    return f"{_BLOCK if block else _INLINE}{words}{_CLOSE}"


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table").disable("image")
    return keep_formulas(parser, _formula)
