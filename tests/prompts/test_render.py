"""Prompts: strict rendering, reasons that are not sent, and rules that all of them keep."""

from __future__ import annotations

from pathlib import Path

import pytest

from wellread import prompts
from wellread.prompts.render import names, render

FOLDER = Path(prompts.__file__).parent


def test_variables_are_filled_in_and_comments_left_out() -> None:
    assert render("iterative-question", question="Why?") == "<question>Why?</question>"


@pytest.mark.parametrize(
    ("values", "complaint"),
    [({}, "no value for question"), ({"question": "x", "other": "y"}, "no variable other")],
)
def test_missing_and_surplus_values_are_errors(values: dict[str, str], complaint: str) -> None:
    with pytest.raises(LookupError, match=complaint):
        render("iterative-question", **values)


def test_an_unknown_prompt_is_named() -> None:
    with pytest.raises(LookupError, match=r"no prompt nonsense; there are: answer, "):
        render("nonsense")


def test_values_are_never_read_for_variables() -> None:
    assert render("iterative-question", question="{{marker}} <!-- x -->") == "<question>{{marker}} <!-- x --></question>"


@pytest.mark.parametrize("name", names())
def test_every_prompt_gives_its_reason_in_a_comment_that_is_not_sent(name: str) -> None:
    source = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert source.startswith("<!--")
    assert len(source.partition("-->")[0]) > 40
    variables = {word.partition("}}")[0] for word in source.split("{{")[1:]}
    sent = render(name, **dict.fromkeys(variables, "VALUE"))
    assert "<!--" not in sent
    assert "{{" not in sent
    assert sent


@pytest.mark.parametrize("name", ["iterative", "iterative-tools", "answer", "react", "grade", "strips", "summary"])
def test_prompts_that_show_text_from_outside_say_so(name: str) -> None:
    assert "{{foreign}}" in (FOLDER / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name",
    ["iterative", "iterative-tools", "answer", "react", "grade", "strips", "summary", "rewrite", "followup", "fanout-queries"],
)
def test_prompts_know_the_date(name: str) -> None:
    assert "{{today}}" in (FOLDER / f"{name}.md").read_text(encoding="utf-8")
