from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import pytest

from wellread.errors import UsageError
from wellread.parameters import ModelSpec, SourceSpec, describe, fill, named, param


@dataclass(frozen=True, slots=True)
class Sample:
    top_k: int = param(5, "how many")
    share: float = param(0.5, "how much")
    when: Literal["scores", "any"] = param("scores", "which rule")
    limit: int | None = param(None, "none for no limit")
    refine: bool = param(True, "on or off")
    names: tuple[str, ...] = param((), "several")
    table: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.top_k < 0:
            raise ValueError("top_k must not be negative")


def test_strings_become_types() -> None:
    filled = fill(
        Sample,
        {"top_k": "7", "share": "0.25", "when": "any", "limit": "none", "refine": "off", "names": "a, b", "table": {"x": 1}},
        "sample",
    )
    assert filled == Sample(7, 0.25, "any", None, False, ("a", "b"), {"x": 1})


def test_values_of_the_right_type_stay() -> None:
    assert fill(Sample, {"top_k": 3, "limit": 9, "refine": True, "names": ("x",)}, "sample") == Sample(3, limit=9, names=("x",))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"topk": "1"}, "did you mean top_k"),
        ({"nothing_like_it": "1"}, "it has: limit, names"),
        ({"top_k": "many"}, "whole number"),
        ({"top_k": "1.5"}, "whole number"),
        ({"share": "half"}, "a number"),
        ({"share": "nan"}, "finite"),
        ({"share": "inf"}, "finite"),
        ({"when": "never"}, "one of scores, any"),
        ({"refine": "maybe"}, "true or false"),
        ({"top_k": "-1"}, "must not be negative"),
    ],
)
def test_what_does_not_fit_is_wrong_usage(values: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        fill(Sample, values, "sample")


def test_describe_tells_name_kind_default_and_help() -> None:
    first, *_, names, _table = describe(Sample)
    assert (first.name, first.kind, first.default, first.help) == ("top_k", "int", 5, "how many")
    assert names.kind == "str,…"
    assert {p.name: p.kind for p in describe(Sample)}["limit"] == "int|none"
    assert {p.name: p.kind for p in describe(Sample)}["when"] == "scores|any"


@dataclass(frozen=True, slots=True)
class Parts:
    one: SourceSpec = param("library", "one source")
    many: tuple[SourceSpec, ...] = param((), "several")
    model: ModelSpec | None = param(None, "a model, or none")
    words: str = param("library", "no part, whatever it says")


def test_parts_are_found_by_their_types() -> None:
    filled = fill(Parts, {"many": "wikipedia, files:x", "model": "ollama:y"}, "parts")
    assert list(named(filled)) == [
        ("one", "sources", "library"),
        ("many", "sources", "wikipedia"),
        ("many", "sources", "files:x"),
        ("model", "models", "ollama:y"),
    ]
    assert list(named(Parts(model=None))) == [("one", "sources", "library")]
    assert [(p.kind, p.part) for p in describe(Parts)] == [
        ("source", "sources"),
        ("source,…", "sources"),
        ("model|none", "models"),
        ("str", None),
    ]
