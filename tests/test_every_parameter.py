"""Every parameter of every plugin, and every setting, says in its type what it may hold."""

from __future__ import annotations

from typing import Any

import pytest

from wellread import plugins
from wellread.parameters import Parameter, describe
from wellread.server.options import ServerOptions
from wellread.settings import Settings

ALL = [
    *((plugin.name, plugin.kind, parameter) for plugin in plugins.everything() for parameter in plugin.parameters),
    *(("settings", "settings", parameter) for parameter in describe(Settings)),
    *(("[server]", "settings", parameter) for parameter in describe(ServerOptions)),
]
# Texts of strategies that no plugin is made from. Whatever else is a text there names a part and has its type.
PLAIN = {("iterative", "examples"), ("iterative", "stop"), ("fanout", "since"), ("fanout", "until")}
PART_LIKE = ("model", "models", "source", "sources", "fallback", "embedder", "reranker", "grader", "wikipedia", "blog")


def label(value: Any) -> str:
    return value.name if isinstance(value, Parameter) else str(value)


def texts(kind: str) -> bool:
    return "str" in kind.replace(",…", "").split("|")


@pytest.mark.parametrize(("owner", "kind", "parameter"), ALL, ids=label)
def test_what_names_a_part_says_so(owner: str, kind: str, parameter: Parameter) -> None:
    if not texts(parameter.kind):
        return
    assert parameter.name.rpartition("_")[2] not in PART_LIKE
    if kind == "strategies":
        assert (owner, parameter.name) in PLAIN


@pytest.mark.parametrize(("owner", "kind", "parameter"), ALL, ids=label)
def test_every_number_has_bounds(owner: str, kind: str, parameter: Parameter) -> None:
    words = parameter.kind.replace(",…", "").replace("|", " ").split()
    if ("int" not in words and "float" not in words) or "base64" in words:  # a format that is called float
        return
    assert parameter.range is not None
    assert parameter.range.least < parameter.range.most
    if parameter.default is not None:
        assert parameter.range.least <= float(str(parameter.default)) <= parameter.range.most
    if kind == "strategies" and not parameter.name.endswith(("tokens", "characters", "seconds")):
        assert parameter.range.most <= 1000  # a client sets it


def test_there_is_something_to_look_at() -> None:
    found = {(owner, parameter.name): parameter.part for owner, _, parameter in ALL if parameter.part}
    assert found["react", "blog"] == found["settings", "sources"] == "sources"
    assert found["digest", "answer_model"] == "models"
    assert found["index", "embedder"] == "embedders"
    assert len([parameter for _, _, parameter in ALL if parameter.range]) > 80
    assert len({plugin.name for plugin in plugins.everything() if plugin.kind == "strategies"}) >= 6
