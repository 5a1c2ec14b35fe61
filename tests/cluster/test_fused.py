"""What shards have found as one ranking, against the same by the rules for one index; and how it travels."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from wellread.cluster.merged import fused_of
from wellread.cluster.shard import Candidates, Wanted
from wellread.core import codec
from wellread.index.search import MEANING_WEIGHT, SearchOptions

DEPTH = 20


def wanted(options: SearchOptions | None = None) -> Wanted:
    return Wanted(("salt", "größe"), np.arange(4, dtype=np.float32).tobytes(), DEPTH, options or SearchOptions(), 2, 5)


def found(chance: np.random.Generator, places: np.ndarray, words: float, vectors: float) -> Candidates:
    """Of these places some by words and some by meaning; few different scores, so that many are equal."""
    count = len(places)
    by_words = chance.integers(1, 9, count).astype(np.float32)
    by_words[chance.random(count) >= words] = np.nan
    cosines = (chance.integers(-3, 9, count) / 9).astype(np.float32)
    cosines[chance.random(count) >= vectors] = np.nan
    near = ~np.isnan(cosines) & ((chance.random(count) < 0.5) | np.isnan(by_words))
    return Candidates.of(np.arange(count), places, by_words, cosines, near, lines=(b"one", b"")[:count])


def slowly(parts: list[Candidates]) -> list[tuple[int, float]]:
    """The same one after the other."""
    columns = [[part.columns[name] for name in ("ordinals", "words", "meaning", "near")] for part in parts]
    rows = [row for some in columns for row in zip(*(column.tolist() for column in some), strict=True)]
    words = sorted((-score, place) for place, score, _, _ in rows if score == score)[: 2 * DEPTH]
    near = sorted((-cosine, place) for place, _, cosine, is_near in rows if is_near)[:DEPTH]
    worded, meaning = {place: -score for score, place in words}, {place: -cosine for cosine, place in near}
    others = {place: cosine for place, _, cosine, _ in rows if place in worded and place not in meaning and cosine == cosine}
    return weighed(worded, meaning | others)


def weighed(words: dict[int, float], meaning: dict[int, float]) -> list[tuple[int, float]]:
    """Each divided by the best of its kind; what has no vector yet is as close as its words are; one kind decides alone."""
    if words and meaning:
        share = max(meaning.values()) / max(words.values())
        meaning = meaning | {place: score * share for place, score in words.items() if place not in meaning}
    weight = MEANING_WEIGHT if words and meaning else float(bool(meaning))
    parts = [(words, 1 - weight), (meaning, weight)]
    most = [max([score for score in scores.values() if score > 0], default=1.0) for scores, _ in parts]
    total = {
        place: sum(part * max(0.0, scores.get(place, 0.0)) / top for (scores, part), top in zip(parts, most, strict=True))
        for place in words | meaning
    }
    return sorted(total.items(), key=lambda item: -item[1])


@pytest.mark.parametrize("words", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("vectors", [0.0, 0.7, 1.0])
def test_shards_are_fused_as_one_index(words: float, vectors: float) -> None:
    chance = np.random.default_rng(3)
    for _ in range(30):
        places = chance.permutation(150)
        parts = [found(chance, mine, words, vectors) for mine in np.split(places, [40, 90])]
        assert fused_of(parts, wanted()) == slowly(parts)


def test_nothing_found_is_nothing() -> None:
    none = found(np.random.default_rng(0), np.zeros(0, np.int64), 1.0, 1.0)
    assert fused_of([none, none], wanted()) == []
    assert fused_of([none], wanted(SearchOptions(fusion="ranks"))) == []


def test_what_is_asked_and_answered_arrives_as_it_was_sent() -> None:
    options = SearchOptions("thorough", 7, 3, True, False, "ranks", 0.5)
    assert all(getattr(options, field.name) != field.default or field.name == "words" for field in fields(options))
    asked = wanted(options)
    came = codec.unpack(Wanted, codec.pack(asked))
    assert came == asked
    assert came.vector is not None
    assert came.vector.tolist() == [0, 1, 2, 3]
    assert codec.unpack(Wanted, codec.pack(replace(asked, meaning=None))).vector is None
    answer = found(np.random.default_rng(4), np.arange(30), 0.5, 0.5)
    assert codec.unpack(Candidates, codec.pack(answer)) == answer
    assert [answer.columns[name].dtype.kind for name in ("rows", "words", "near")] == ["i", "f", "b"]


@pytest.mark.parametrize("change", [{"table": b"x" * 30}, {"lines": [b"{}"] * 99}, {"lines": "x"}, {"rows": 1}])
def test_columns_that_do_not_fit_are_no_answer(change: dict[str, object]) -> None:
    """They gave passages the scores of others, or ended in an error of Python's."""
    answer: dict[str, object] = (
        codec.encode(found(np.random.default_rng(4), np.arange(30), 0.5, 0.5)) if change != {"rows": 1} else {}
    )
    with pytest.raises(ValueError):
        codec.unpack(Candidates, codec.pack({**answer, **change}))
