from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.errors import BadOutput
from wellread.models.scripted import ScriptedModel
from wellread.models.shapes import Misfit, example, fit, schema_of
from wellread.models.structured import parse, read, structured
from wellread.types import Completion, Message, Prompt

pytestmark = pytest.mark.anyio
QUERIES = {
    "type": "object",
    "properties": {"queries": {"type": "array", "items": {"type": "string"}, "minItems": 1}},
    "required": ["queries"],
}
GRADE = {
    "type": "object",
    "properties": {"relevant": {"type": "boolean"}, "why": {"type": "string"}},
    "required": ["relevant"],
}


async def ask(scripted: ScriptedModel, shape: Any = QUERIES, **options: Any) -> dict[str, Any]:
    async def complete(prompt: Prompt) -> Completion:
        *_, last = [item async for item in scripted.stream(prompt)]
        assert isinstance(last, Completion)
        return last

    return await structured(complete, Prompt((Message("user", "Which queries?"),)), shape, **options)


@pytest.mark.parametrize(
    "text",
    [
        '{"queries": ["a", "b"]}',
        '```json\n{"queries": ["a", "b"]}\n```',
        'Here you are:\n```\n{"queries": ["a", "b"]}\n```\nI hope this helps!',
        'Sure! {"queries": ["a", "b"]} As you see [1] it works.',
        'As in [1], I say {"queries": ["a", "b"]}',
        '{"queries": ["a", "b",],}',
        "{'queries': ['a', 'b']}",
        '{queries: ["a", "b"]}',
        '{"queries": ["a", "b"]',
        '{"queries": ["a", "b',
        '["a", "b"]',
        '{"Queries": ["a", "b"]}',
        '{"queries": ["a", "b"]}\n{"queries": ["c"]}',
        '<think>{"queries": ["x"]}</think>{"queries": ["a", "b"]}',
    ],
)
async def test_json_in_any_usual_clothes_is_understood_at_once(text: str) -> None:
    model = ScriptedModel([text])
    assert await ask(model) == {"queries": ["a", "b"]}
    assert len(model.prompts) == 1


async def test_the_shape_is_told_in_words_and_as_a_schema_where_there_is_one() -> None:
    model = ScriptedModel(lambda _: '{"queries": ["a"]}')
    await ask(model)
    await ask(model, native=True)
    assert '{"queries": ["text", …]}' in model.prompts[0].messages[-1].text
    assert model.prompts[0].schema is None
    assert model.prompts[1].schema == QUERIES


@pytest.mark.parametrize("bad", ["I would rather not.", "", '{"queries": []}', '{"other": 1}', "[1] [2]"])
async def test_one_try_at_a_repair(bad: str) -> None:
    model = ScriptedModel([bad, '{"queries": ["a"]}'])
    assert await ask(model) == {"queries": ["a"]}
    repair = model.prompts[1]
    assert [message.role for message in repair.messages] == ["user", "assistant", "user"]
    assert "cannot be used" in repair.messages[-1].text


async def test_after_the_second_failure_it_is_an_error() -> None:
    model = ScriptedModel(["no", "still no", '{"queries": ["too late"]}'])
    with pytest.raises(BadOutput, match="scripted: no usable JSON"):
        await ask(model, model="scripted")
    assert len(model.prompts) == 2


@dataclass(frozen=True)
class Point:
    x: int
    y: float = 0.5


@dataclass(frozen=True)
class Plan:
    kind: Literal["short", "long"]
    points: list[Point]
    note: str | None = None
    sure: bool = False


async def test_a_dataclass_is_a_shape_too() -> None:
    model = ScriptedModel(['{"kind": "Short", "points": {"x": "3"}, "sure": "yes"}'])
    assert await ask(model, Plan) == {"kind": "short", "points": [{"x": 3, "y": 0.5}], "note": None, "sure": True}
    assert '"kind": "short" or "long"' in model.prompts[0].messages[-1].text


@pytest.mark.parametrize(
    ("value", "fitted"),
    [
        ({"relevant": True}, True),
        ({"relevant": "yes"}, True),
        ({"relevant": "No."}, False),
        ({"relevant": "TRUE"}, True),
        ({"relevant": 1}, True),
        ({"relevant": 0}, False),
    ],
)
def test_yes_and_no_in_their_variants(value: object, fitted: bool) -> None:
    assert fit(value, GRADE)["relevant"] is fitted


@pytest.mark.parametrize(
    ("value", "schema", "words"),
    [
        ("maybe", {"type": "boolean"}, "must be a boolean"),
        (3.5, {"type": "integer"}, "must be an integer"),
        ("many", {"type": "number"}, "must be a number"),
        (True, {"type": "number"}, "must be a number"),
        ("nan", {"type": "number"}, "must be a number"),
        ({}, {"type": "string"}, "must be a string"),
        ("x", {"enum": ["a", "b"]}, "one of a, b"),
        ({"why": "so"}, GRADE, "no 'relevant'"),
        ("text", GRADE, "must be an object"),
        ([], {"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, "must be a boolean"),
    ],
)
def test_what_does_not_fit_says_why(value: object, schema: dict[str, Any], words: str) -> None:
    with pytest.raises(Misfit, match=words):
        fit(value, schema)


def test_numbers_as_people_write_them() -> None:
    assert fit("1,200", {"type": "integer"}) == 1200
    assert fit("15%", {"type": "number"}) == 15.0
    assert fit(3.0, {"type": "integer"}) == 3
    assert fit(5, {"type": ["null", "string"]}) == "5"


def test_examples_of_shapes() -> None:
    assert example(schema_of(Point)) == '{"x": a whole number, "y": a number}'
    assert example(GRADE) == '{"relevant": true or false, "why": "text"}'


@given(st.text(max_size=80))
def test_no_text_crashes_the_parser(text: str) -> None:
    try:
        parse(text)
    except Misfit:
        return


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_no_value_crashes_the_fitting(value: object) -> None:
    for schema in (QUERIES, GRADE):
        try:
            fitted = fit(value, schema)
        except Misfit:
            continue
        assert fit(fitted, schema) == fitted


@pytest.mark.parametrize("text", ["{" * 100_000, "[" * 100_000, '{"a": ' * 20_000, '{"a": "b", ' * 9_000, "{'a': [1, " * 9])
def test_a_long_broken_text_takes_no_long_time(text: str) -> None:
    begun = time.process_time()
    with pytest.raises(Misfit):
        read(text, GRADE)
    assert time.process_time() - begun < 2
