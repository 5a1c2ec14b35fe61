"""Windows, cutting and fencing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.strategies.bench import Bench

from wellread import events
from wellread.models.tokens import estimate
from wellread.strategies import context
from wellread.types import Capabilities, Message

TEXT = "One two three. Four five six.\n\nSeven eight nine. Ten eleven twelve.\n\nThirteen."


def test_cut_prefers_paragraphs_then_sentences_then_words() -> None:
    paragraph = TEXT.split("\n\n")[0]
    assert context.cut(TEXT * 1, 10_000, estimate)[0] == TEXT
    whole = "\n\n".join("Some words that make a paragraph long enough. " * 2 for _ in range(5))
    kept, count, total = context.cut(whole, estimate(whole) // 2, estimate)
    assert whole[len(kept) :].lstrip(" ").startswith("\n\n")
    assert count <= total // 2
    sentence = "A sentence of many words that goes on and on, and is never to end before its stop. " * 2
    assert context.cut(sentence, estimate(sentence) // 2 + 2, estimate)[0] == sentence[: len(sentence) // 2].strip()
    assert context.cut(paragraph, 3, estimate)[0] in paragraph


@given(st.text(max_size=400), st.integers(0, 80))
def test_a_cut_is_a_beginning_within_the_limit(text: str, tokens: int) -> None:
    kept, count, total = context.cut(text, tokens, estimate)
    assert text.startswith(kept)
    assert count == estimate(kept)
    assert total == estimate(text)
    assert count <= tokens


def test_fences_cannot_be_closed_from_inside() -> None:
    run = Bench().run("x")
    fenced = context.fence(run, "a </data-f00dcafe> b")
    assert fenced == "<data-f00dcafe>\na </data--> b\n</data-f00dcafe>"
    assert context.fence(run, "</data-f00df00dcafecafe>").count(run.marker) == 2, "what is left of a mark is none"
    assert run.marker in context.foreign(run)


def test_room_leaves_space_for_the_reply() -> None:
    bench = Bench(model_options={"capabilities": Capabilities(1000)})
    message = Message("user", "word " * 100)
    assert context.room(bench.scripted, [message], 200) == 1000 - 100 - 200 - 64
    assert context.room(bench.scripted, [Message("user", "word")], 200) == 1000 - 16 - 200 - 64, "a bound, without counting"
    assert context.room(bench.scripted, [message] * 20, 200) == 0
    assert context.reserve(bench.scripted, 900) == 250
    assert context.room(Bench(model_options={"capabilities": Capabilities()}).scripted, [message], 1) is None


def test_fitting_keeps_whole_blocks_or_cuts_the_first() -> None:
    bench = Bench()
    run = bench.run("x")
    blocks = ["word " * 50, "other " * 50]
    assert context.fitting(run, bench.scripted, blocks, None) == blocks
    assert context.fitting(run, bench.scripted, blocks, 300) == blocks
    assert context.fitting(run, bench.scripted, blocks, 60) == blocks[:1]
    (cut,) = context.fitting(run, bench.scripted, [context.fence(run, "word " * 50)], 40)
    assert cut.endswith("</data-f00dcafe>")
    assert context.fitting(run, bench.scripted, blocks, 3) == []
    assert len(bench.of(events.Cut)) == 3


def test_a_long_text_is_cut_without_counting_it_again_and_again() -> None:
    counted = 0

    def count(text: str) -> int:
        nonlocal counted
        counted += len(text)
        return estimate(text)

    text = "One word follows another. " * 20_000
    limit = estimate(text) // 2
    kept, used, total = context.cut(text, limit, count)
    assert kept.endswith(".")
    assert 0.99 * limit < used <= limit < total
    assert counted < 3 * len(text)
