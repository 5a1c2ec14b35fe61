from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread import plugins
from wellread.errors import UsageError, WellreadError
from wellread.types import Spec


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("library", Spec("library")),
        ("index:/data/wiki", Spec("index", "/data/wiki")),
        ("newsapi?from=2023-06-01&to=2023-06-30", Spec("newsapi", "", {"from": "2023-06-01", "to": "2023-06-30"})),
        ("searxng:http://127.0.0.1:8080?engines=bing", Spec("searxng", "http://127.0.0.1:8080", {"engines": "bing"})),
        ("openai:qwen@http://[::1]:8080/v1", Spec("openai", "qwen@http://[::1]:8080/v1")),
        ("files:notes?query=a%26b", Spec("files", "notes", {"query": "a&b"})),
    ],
)
def test_specs_are_taken_apart(text: str, spec: Spec) -> None:
    assert plugins.parse_spec(text) == spec


@pytest.mark.parametrize("text", ["", ":x", "a b:c", "?a=b", "library?a", "../x:y"])
def test_what_is_no_spec_says_how_to_write_one(text: str) -> None:
    with pytest.raises(UsageError, match=r"name:argument|key=value"):
        plugins.parse_spec(text)


def test_an_empty_query_is_none() -> None:
    assert plugins.parse_spec("library?") == Spec("library")


@given(st.text())
def test_any_text_is_a_spec_or_wrong_usage(text: str) -> None:
    try:
        spec = plugins.parse_spec(text)
    except WellreadError:
        return
    assert spec.name


def test_unknown_names_are_told_with_a_guess() -> None:
    with pytest.raises(UsageError, match=r"unknown strategy 'quot' \(did you mean quote\?\); there are: "):
        plugins.load("strategies", "quot")


def test_everything_is_described() -> None:
    found = {(plugin.kind, plugin.name): plugin for plugin in plugins.everything()}
    for recipe in ("iterative", "fanout", "react", "corrective", "digest", "quote"):
        assert found["strategies", recipe].summary
        assert all(parameter.help for parameter in found["strategies", recipe].parameters)
    assert found["sources", "library"].origin == "wellread"
    assert all(plugin.summary for plugin in found.values())
