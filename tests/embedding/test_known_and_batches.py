from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.embedding.batches import by_length, padded
from wellread.embedding.layout import habits

REPRESENT = "Represent this sentence for searching relevant passages: "


@given(
    lengths=st.lists(st.integers(1, 600), max_size=60),
    budget=st.integers(1, 2000),
    most=st.none() | st.integers(1, 9),
    multiple=st.sampled_from([1, 8, 16]),
)
def test_batches_hold_everything_once_within_the_budget(lengths: list[int], budget: int, most: int | None, multiple: int) -> None:
    batches = list(by_length(lengths, budget=budget, most=most, multiple=multiple))
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    flat = [lengths[place] for batch in batches for place in batch]
    assert flat == sorted(lengths)
    for batch in batches:
        width = padded(max(lengths[place] for place in batch), multiple)
        assert len(batch) == 1 or width * len(batch) <= budget
        assert most is None or len(batch) <= most


def test_no_batch_could_have_taken_its_neighbour() -> None:
    batches = list(by_length([10] * 10, budget=50, multiple=1))
    assert [len(batch) for batch in batches] == [5, 5]


@pytest.mark.parametrize(
    ("name", "pooling", "query", "passage"),
    [
        ("mixedbread-ai/mxbai-embed-large-v1", "cls", REPRESENT, ""),
        ("mxbai-embed-large:latest", "cls", REPRESENT, ""),
        ("BAAI/bge-small-en-v1.5", "cls", REPRESENT, ""),
        ("BAAI/bge-m3", "cls", "", ""),
        ("intfloat/multilingual-e5-base", "mean", "query: ", "passage: "),
        ("thenlper/gte-small", "mean", "", ""),
        ("Alibaba-NLP/gte-large-en-v1.5", "cls", "", ""),
        ("sentence-transformers/all-MiniLM-L6-v2", "mean", "", ""),
        ("nomic-embed-text", "mean", "search_query: ", "search_document: "),
    ],
)
def test_known_families(name: str, pooling: str, query: str, passage: str) -> None:
    found = habits(name)
    assert found is not None
    assert (found.pooling, found.query_prompt, found.passage_prompt) == (pooling, query, passage)


@pytest.mark.parametrize("name", ["text-embedding-3-small", "intfloat/multilingual-e5-large-instruct", ""])
def test_unknown_models_have_no_habits(name: str) -> None:
    assert habits(name) is None
