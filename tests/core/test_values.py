from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass, replace

import pytest

from wellread.core.values import frozen


@frozen
class Own:
    """Of one kind."""

    name: str
    tags: list[str] = field(default_factory=list[str], compare=False)
    secret: str = field(default="s", repr=False)
    at: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("no name")


@dataclass(frozen=True, slots=True)
class Usual:
    """Of the other."""

    name: str
    tags: list[str] = field(default_factory=list[str], compare=False)
    secret: str = field(default="s", repr=False)
    at: float = field(default=0.0, kw_only=True)


@frozen
class More(Own):
    """Derived by ours."""

    more: str = "m"


@dataclass(frozen=True)
class Theirs(Own):
    """Derived by Python's."""

    more: str = "m"


def traits(kind: type[Own] | type[Usual]) -> list[object]:
    """What is seen of a kind of values."""
    one, other, third = kind("a", ["b"], at=2), kind("a", at=2), replace(kind("a"), name="c")
    return [
        repr(one).removeprefix(kind.__name__),
        asdict(third),
        (one == other, one == third, len({one, other, third, "a"}), hash(one) == hash(other), hash(one)),
        kind("a").tags is kind("a").tags,
        (kind.__match_args__, [one.name for one in fields(kind)], is_dataclass(kind), hasattr(one, "__dict__")),
    ]


def test_they_are_as_usual_ones() -> None:
    assert traits(Own) == traits(Usual)


@pytest.mark.parametrize("kind", [Own, More, Theirs])
def test_derived_ones_are_frozen_and_travel(kind: type[Own]) -> None:
    made = kind("a", at=1)
    assert pickle.loads(pickle.dumps(made)) == copy.copy(made) == made
    with pytest.raises(FrozenInstanceError):
        made.name = "b"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(FrozenInstanceError):
        del made.name  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(ValueError, match="no name"):
        kind("")
    with pytest.raises(TypeError):
        kind()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
