from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

import pytest

from wellread.errors import UsageError
from wellread.parameters import Count, ModelSpec, Range, Share, SourceSpec, describe, fill, named, param, public


@dataclass(frozen=True, slots=True)
class Sample:
    top_k: Count = param(5, "how many")
    share: Share = param(0.5, "how much")
    when: Literal["scores", "any"] = param("scores", "which rule")
    limit: Annotated[int, Range(0, 10**9)] | None = param(None, "none for no limit")
    refine: bool = param(True, "on or off")
    names: tuple[str, ...] = param((), "several")
    table: Mapping[str, object] = field(default_factory=dict[str, object])

    def __post_init__(self) -> None:
        if self.names == ("nobody",):
            raise ValueError("nobody is not a name")


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
        ({"top_k": "0"}, "sample: top_k must be at least 1, not 0"),
        ({"top_k": 10**18}, "top_k must be at most 1000, not 1000000000000000000"),
        ({"top_k": "9" * 5000}, "whole number"),
        ({"share": 1.01}, "share must be at most 1, not 1.01"),
        ({"limit": "-1"}, "limit must be at least 0"),
        ({"names": "nobody"}, "sample: nobody is not a name"),
    ],
)
def test_what_does_not_fit_is_wrong_usage(values: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        fill(Sample, values, "sample")


def test_describe_tells_name_kind_default_and_help() -> None:
    first, *_, names, _table = describe(Sample)
    assert (first.name, first.kind, first.default, first.help) == ("top_k", "int 1 to 1000", 5, "how many")
    assert names.kind == "str,…"
    assert {p.name: p.kind for p in describe(Sample)}["limit"] == "int 0 to 1000000000|none"
    assert {p.name: p.kind for p in describe(Sample)}["when"] == "scores|any"
    assert (first.range, names.range) == (Range(1, 1000), None)


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


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("searxng:http://ann:pass@word@h:80/x?engines=a&b=c", "searxng:http://h:80/x?engines=a&b=c"),
        ("openai:qwen@3@http://token@h/v1", "openai:qwen@3@http://h/v1"),
        ("urls:http://ann:pass@a,http://ann:pass@b/x", "urls:http://a,http://b/x"),
        ("brave?base=https%3A%2F%2Fann%3Apass%40h&rate=2", "brave?base=https://h&rate=2"),
        ("x:http://ann:pa/ss@h", "x:http://…"),
        ("x:http://ann:pa?ss@h", "x:http://h"),
        ("x:http://ann:pa\nss@h", "x:http://…"),
        ("elasticsearch:ann:pass@h:9200/i", "elasticsearch:h:9200/i"),
        ("openai:m@ann:pass@h/v1", "openai:m@h/v1"),
        ("x:https:/ann:pass@h", "x:https:/h"),
        ("x?base=y%3Ahttp%3A%2F%2Fh%3Fz%3Dhttp%253A%252F%252Fann%253Apass%2540h&k=1", "x?base=y:http://h?z=http://h&k=1"),
        ("ollama:qwen3:8b@http://h:80/v1", "ollama:qwen3:8b@http://h:80/v1"),
        ("x:http://[::1]:80/@a", "x:http://[::1]:80/@a"),
        ("index:ray://wiki@127.0.0.1:6379", "index:ray://wiki@127.0.0.1:6379"),
        ("files:/home/a%20b/c&d", "files:/home/a%20b/c&d"),
    ],
)
def test_a_spec_has_a_public_form_without_its_login(spec: str, shown: str) -> None:
    assert public(spec) == shown
