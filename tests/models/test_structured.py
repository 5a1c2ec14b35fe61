from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.errors import BadOutput
from wellread.models.scripted import ScriptedModel
from wellread.models.structured import Form, Misfit, choice, numbers, parse, structured, texts
from wellread.types import Completion, Message, Prompt

pytestmark = pytest.mark.anyio
QUERIES = texts("queries", "a query")
RELEVANT = choice("relevant", "yes", "no")
KEEP = numbers("keep")


async def ask(scripted: ScriptedModel, form: Form[Any] = QUERIES, *, native: bool = False) -> Any:
    async def complete(prompt: Prompt) -> Completion:
        *_, last = [item async for item in scripted.stream(prompt)]
        assert isinstance(last, Completion)
        return last

    return await structured(complete, Prompt((Message("user", "Which queries?"),)), form, native=native, model="scripted")


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
    assert await ask(model) == ["a", "b"]
    assert len(model.prompts) == 1


async def test_the_shape_is_told_in_words_and_as_a_schema_where_there_is_one() -> None:
    model = ScriptedModel(lambda _: '{"queries": ["a"]}')
    await ask(model)
    await ask(model, native=True)
    assert '{"queries": ["a query", …]}' in model.prompts[0].messages[-1].text
    assert model.prompts[0].schema is None
    assert model.prompts[1].schema == {
        "type": "object",
        "properties": {"queries": {"type": "array", "items": {"type": "string", "description": "a query"}}},
        "required": ["queries"],
    }


@pytest.mark.parametrize("bad", ["I would rather not.", "", '{"queries": [{}]}', '{"other": 1}', "[1] [2]"])
async def test_one_try_at_a_repair(bad: str) -> None:
    model = ScriptedModel([bad, '{"queries": ["a"]}'])
    assert await ask(model) == ["a"]
    repair = model.prompts[1]
    assert [message.role for message in repair.messages] == ["user", "assistant", "user"]
    assert "cannot be used" in repair.messages[-1].text


async def test_after_the_second_failure_it_is_an_error() -> None:
    model = ScriptedModel(["no", "still no", '{"queries": ["too late"]}'])
    with pytest.raises(BadOutput, match="scripted: no usable JSON"):
        await ask(model)
    assert len(model.prompts) == 2


@pytest.mark.parametrize(
    ("form", "value", "read"),
    [
        (RELEVANT, {"relevant": "yes"}, "yes"),
        (RELEVANT, {" Relevant": "NO "}, "no"),
        (RELEVANT, "yes", "yes"),
        (KEEP, {"keep": [1, "2", 3.0, "1,200"]}, [1, 2, 3, 1200]),
        (KEEP, {"keep": 3}, [3]),
        (KEEP, {"keep": None}, []),
        (KEEP, [], []),
        (QUERIES, {"queries": ["a", 1984]}, ["a", "1984"]),
        (QUERIES, "a", ["a"]),
    ],
)
def test_forms_are_read_as_models_write_them(form: Form[Any], value: object, read: object) -> None:
    assert form.read(value) == read


@pytest.mark.parametrize(
    ("form", "value", "words"),
    [
        (RELEVANT, {"relevant": "maybe"}, "one of yes, no, not .maybe"),
        (RELEVANT, {"why": "so"}, "no 'relevant'"),
        (KEEP, {"keep": ["many"]}, "whole numbers, not .many"),
        (KEEP, {"keep": [3.5]}, "whole numbers"),
        (KEEP, {"keep": [True]}, "whole numbers, not true"),
        (KEEP, {"keep": ["nan"]}, "whole numbers"),
        (KEEP, {"keep": ["inf"]}, "whole numbers"),
        (QUERIES, {"queries": [["a"]]}, "texts"),
        (QUERIES, {"queries": [None]}, "texts, not null"),
    ],
)
def test_what_does_not_fit_says_why(form: Form[Any], value: object, words: str) -> None:
    with pytest.raises(Misfit, match=words):
        form.read(value)


def test_forms_are_shown_by_example() -> None:
    assert RELEVANT.shown() == '{"relevant": "yes" or "no"}'
    assert KEEP.shown() == '{"keep": [a whole number, …]}'


@given(st.text(max_size=80))
def test_no_text_crashes_the_parser(text: str) -> None:
    try:
        parse(text)
    except Misfit:
        return


@pytest.mark.slow
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_no_value_crashes_the_fitting(value: object) -> None:
    for form in (QUERIES, RELEVANT, KEEP):
        try:
            fitted: object = form.read(value)
        except Misfit:
            continue
        assert form.read(fitted) == fitted


@pytest.mark.parametrize("text", ["{" * 100_000, "[" * 100_000, '{"a": ' * 20_000, '{"a": "b", ' * 9_000, "{'a': [1, " * 9])
def test_a_long_broken_text_takes_no_long_time(text: str) -> None:
    begun = time.process_time()
    with pytest.raises(Misfit):
        RELEVANT.read(parse(text))
    assert time.process_time() - begun < 2


@pytest.mark.parametrize("unit", ['\\" ', '-"', "'[", "},[,"])
def test_broken_json_takes_no_time_to_speak_of(unit: str) -> None:
    begun = time.thread_time()
    for opening in ('{"a": "', '{"a": ["', "```json\n{"):
        try:
            parse(opening + unit * 5000)
        except Misfit:
            continue
    assert time.thread_time() - begun < 1


@pytest.mark.parametrize("form", [KEEP, QUERIES, RELEVANT])
def test_values_deep_in_each_other_are_of_no_use(form: Form[Any]) -> None:
    for levels in (150, 450, 900, 5000):
        with pytest.raises(Misfit):
            form.read(parse(f'{{"{form.field}": [{"[" * levels}{"]" * levels}]}}'))
