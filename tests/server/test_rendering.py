"""Foreign text stays text: in answers, titles, questions, quotes; as HTML and as Markdown."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.server.stage import ask, engine, finished, running

from wellread import events
from wellread.answer_json import AnswerJson
from wellread.citations.references import footnotes
from wellread.core.codec import decode
from wellread.present.html import answer_html
from wellread.present.markdown import markdown
from wellread.server.openai_format import cited
from wellread.server.web.articles import site, status, step
from wellread.server.web.html import Safe, el, framed, text
from wellread.types import Hit, Passage

pytestmark = pytest.mark.slow

ATTACKS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "[click](vscode://file/etc/passwd)",
    "![x](https://evil.example/track.png)",
    "<a href='https://evil.example' onclick='x()'>x</a>",
    '"><svg onload=alert(1)>',
    "<iframe src='//evil.example'></iframe>",
    '[x](https://ok.example ""onmouseover=alert(1)")',
    "\ue102" + "1\ue103<b>",
    "</textarea><script>alert(1)</script>",
    "{{title}} ${alert(1)} {{constructor}}",
)
HIT = {"id": "1", "title": "<img onerror=x>", "url": None, "source": "<s>"}
ALLOWED = {
    *("p", "br", "em", "strong", "code", "pre", "blockquote", "ul", "ol", "li", "hr", "a", "span"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}


class Seen(HTMLParser):
    """Which elements and attributes a browser would make."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def seen(html: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Seen()
    parser.feed(html)
    return parser.tags


def answer(words: str, *, supported: bool = True, number: int = 1, **more: object) -> AnswerJson:
    cited = {
        "number": number,
        "title": "T",
        "url": "https://x.example",
        "source": "s",
        "quote": "q",
        "start": 0,
        "end": 1,
        "support": 1.0,
        **more,
    }
    said = {"answer": words, "outcome": "answered", "sentences": [{"text": words, "supported": supported}], "citations": [cited]}
    return decode(AnswerJson, said)


def harmless(html: str) -> None:
    for tag, attributes in seen(html):
        assert tag in ALLOWED
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "src", "id", "srcdoc")]
        address = attributes.get("href") or ""
        assert re.match(r"(https?://|#(source|doubt)-\d+$|$)", address)


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_in_an_answer_is_text(attack: str) -> None:
    harmless(answer_html(answer(attack)))
    harmless(answer_html(answer(f"Fine words. {attack} [1]", supported=False)))


@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from(["<", ">", "&", "`", "[1]", "](", "script", "\n", "|", "*", "on=", "\ue100"])).map("".join)
)
def test_no_answer_makes_dangerous_html(words: str) -> None:
    harmless(answer_html(answer(words)))
    harmless(answer_html(answer(words, supported=False)))


def test_numbers_become_buttons_and_weak_sentences_are_marked() -> None:
    html = answer_html(answer("**Saturn** has moons. [1] [1, 7] [9]", supported=False))
    cites = [attributes for tag, attributes in seen(html) if "cite" in (attributes.get("class") or "")]
    assert [one["data-number"] for one in cites] == ["1", "1", "?1"]
    assert "<strong>Saturn</strong>" in html
    assert "[9]" in html  # a number that leads nowhere stays as it was written
    assert 'class="cite mark"' in html
    assert "mark" not in answer_html(answer("Fine. [1]"))
    assert answer_html(None) == ""


def test_numbers_in_code_are_code_for_page_clients_and_footnotes() -> None:
    body = answer("It is `argv[1]`:\n\n```\nport[1] = 8118\n```\n[1]")
    assert [
        attributes["data-number"] for _, attributes in seen(answer_html(body)) if "cite" in (attributes.get("class") or "")
    ] == ["1"]
    assert [one["start_index"] for one in cited(body.answer, body)] == [len(body.answer) - len("[1]")]
    assert footnotes(body.answer, body.citations).startswith(f"{body.answer[:-3]}[^1]\n")


def test_copied_markdown_has_safe_links() -> None:
    said: dict[str, object] = {"title": "A [b](javascript:x) `c`", "quote": "two\nlines"}
    copied = markdown(answer("Words. [1]", url="https://x.example/a b>c", **said))
    assert "- [1] [A \\[b\\](javascript:x) \\`c\\`](<https://x.example/a%20b%3Ec>): “two lines”" in copied
    body = answer("Words. [1]", url="javascript:alert(1)", **said)
    assert "](" not in markdown(body).rpartition("Sources")[2].replace("](javascript:x)", "", 1).replace("\\](", "")


def test_a_citation_without_words_shows_no_empty_quote() -> None:
    body = answer("It likes cheese. [1]", supported=False, quote="")
    assert "- [1] [T](<https://x.example>)\n\n⚠" in markdown(body)
    body.citations.append(replace(body.citations[0], quote="words"))
    assert "- [1] [T](<https://x.example>): “words”\n\n⚠" in markdown(body)


@pytest.mark.parametrize(
    "address",
    [
        "http://a.example/\n\n![x](http://evil.example/p.png)\n",
        "http://a.example/\r![x](http://evil.example/p.png)",
        "http://a.example/\\",
        "http://a.example/>![x](http://evil.example/p.png)",
        "http://a.example/\u2028\x1b[31m\u202e",
    ],
)
def test_an_address_ends_where_its_link_ends(address: str) -> None:
    cited = {"number": 1, "url": address, "title": "T\u202egnp.exe\x1b[31m", "quote": "Mercury has no moons.", "source": "s"}
    said = {"answer": "Mercury has no moons [1].", "outcome": "answered", "citations": [cited]}
    shown = markdown(decode(AnswerJson, said)).rpartition("Sources:")[2].strip()
    assert re.fullmatch(r"- \[1\] \[Tgnp\.exe\\\[31m\]\(<http://a\.example/[!-;=?-\[\]-~]*>\): “Mercury has no moons\.”", shown)
    assert "![" not in shown
    words = next(token for token in MarkdownIt().parse(shown) if token.type == "inline")
    (target,) = (token for token in words.children or () if token.type == "link_open")
    assert str(target.attrs["href"]).startswith("http://a.example/")


def test_the_builder_escapes_everything_but_its_own() -> None:
    assert (
        el("a", "<b>", href='"x"', class_="y", hidden=True, title=None)
        == '<a href="&quot;x&quot;" class="y" hidden>&lt;b&gt;</a>'
    )
    assert text(Safe("<i>")) == "<i>"
    with pytest.raises(KeyError, match="title"):
        framed(main="x", head=None)


@pytest.mark.parametrize(
    "event",
    [
        events.Thought("plan", "<script>" * 50),
        events.Thought("<b>", "<script>"),
        events.Searched("<script>", (Hit("1", title="<img onerror=x>", source="<s>"),), failures=("<x>",)),
        events.Searched("x", ()),
        events.PageRead("https://<x>", "<script>", 1),
        events.PageFailed("<x>", "<script>"),
        events.Ranked("<x>", ("1",), dropped=3),
        events.Graded("1", "<x>", False, 0.2),
        events.Graded("1", "<x>", True),
        events.Decided("<x>", "<y>"),
        events.Rewritten("x", "<x>"),
        events.ModelCalled("<y>", "<x>", 1, 2, None, 0.1),
        events.Notice("<x>"),
        events.Exhausted("<x>"),
        events.Cut("<x>", 1, 2),
    ],
)
def test_steps_hold_foreign_words_as_words(event: events.Event) -> None:
    html = step(event)
    assert html.startswith("<li")
    ours = {"li", "svg", "use", "div", "time", "details", "summary", "p", "b", "q", "ul", "small"}
    assert {tag for tag, _ in seen(html)} <= ours
    assert status(event)[0] == status(event)[0].upper()
    assert step(events.Numbered(1, Passage("1", "words"))) == ""


def test_the_steps_count_the_searches_that_run_at_once() -> None:
    hit = Hit("1", title="T", text="words")
    assert "1 found; 7 of 21 queries" in step(events.Searched("x", (hit,), number=7, of=21))
    assert "nothing found; 8 of 21 queries" in step(events.Searched("x", (), number=8, of=21))


def test_sites_are_hosts() -> None:
    assert site("https://www.example.org/x") == "example.org"
    assert site("library:saturn") == "library"
    assert site(None) == ""


def test_attacks_through_question_title_page_and_model_stay_text(folder: Path) -> None:
    attack = "".join(ATTACKS)
    hits = [Hit("saturn", f"Saturn has 146 moons. {attack}", attack, "javascript:alert(1)", source=attack)]
    with running(engine(answer=f"Saturn has 146 moons. [1] {attack}", hits=hits), folder) as live, live.client() as client:
        run = ask(client, f"How many moons has Saturn? {attack}")
        finished(client, run)
        for path in (f"/r/{run}", f"/r/{run}/article", "/history", f"/history?q={attack}"):
            html = client.get(path).text
            tags = seen(html)
            scripts = [attributes.get("src") for tag, attributes in tags if tag == "script"]
            assert scripts in ([], ["/static/theme.js", "/static/page.js"])
            assert not [tag for tag, _ in tags if tag in ("img", "iframe")]
            assert not [name for _, attributes in tags for name in attributes if name.startswith("on")]
            assert not [a["href"] for tag, a in tags if tag == "a" and (a.get("href") or "").startswith("javascript")]
        live_lines = client.get(f"/r/{run}/live").text
        steps = [json.loads(line[6:]).get("step", "") for line in live_lines.splitlines() if line.startswith("data: ")]
        assert not [tag for one in steps for tag, _ in seen(one) if tag in ("script", "img", "iframe")]
