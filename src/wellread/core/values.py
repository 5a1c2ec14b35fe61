"""Frozen values: dataclasses with slots that cost little to import, as their `__init__` is written when the first one is made.

`dataclass` compiles six functions for each class that it decorates, a sixth of the time of a short command, which makes values of
few of them. Here a class shares what it can with all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields, is_dataclass
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")
_FRESH = object()  # in the place of a default that is made anew for each value


@dataclass_transform(frozen_default=True, field_specifiers=(field, Field))
def frozen(kind: type[T]) -> type[T]:
    """Make a class a dataclass that is frozen and has slots. What is derived from it may be an ordinary frozen one."""
    derived = any(map(is_dataclass, kind.__bases__))  # which has `__setattr__` from its base, and has to be frozen as that is
    for name, method in _SHARED.items() if derived else (*_SHARED.items(), *_FROZEN.items()):
        if name not in vars(kind):
            setattr(kind, name, method)
    made: Any = dataclass(frozen=derived, slots=True, init=False, repr=False, eq=False)(kind)
    made.__dataclass_params__.frozen = True
    made.compared = attrgetter(*(one.name for one in fields(made) if one.compare))

    def __init__(self: object, *given: object, **named: object) -> None:
        made.__init__ = _init(made)
        made.__init__(self, *given, **named)

    if "__init__" not in vars(kind):
        made.__init__ = __init__
    return made


def _init(kind: type[Any]) -> Callable[..., None]:
    """An `__init__` that knows how each field is set, where that of `dataclass` finds it out for each value: half of its time."""
    known: dict[str, Any] = {"_FRESH": _FRESH}
    named = sorted(fields(kind), key=lambda one: one.kw_only is True)
    taken, made = ["self"], list[str]()
    for one in named:
        known[f"_set_{one.name}"] = getattr(kind, one.name).__set__
        known[f"_default_{one.name}"] = one.default if one.default_factory is MISSING else one.default_factory
        if one.kw_only and "*" not in taken:
            taken.append("*")
        if one.default_factory is not MISSING:
            made.append(f" if {one.name} is _FRESH: {one.name} = _default_{one.name}()")
            taken.append(f"{one.name}=_FRESH")
        else:
            taken.append(one.name if one.default is MISSING else f"{one.name}=_default_{one.name}")
    made += (f" _set_{one.name}(self, {one.name})" for one in named)
    closing: Callable[[dict[str, Any]], Sequence[str]] | None = getattr(kind, "closing", None)
    made += closing(known) if closing else [" self.__post_init__()"] if hasattr(kind, "__post_init__") else []
    exec("\n".join((f"def __init__({', '.join(taken)}):", *made, " return")), known)
    return known["__init__"]


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _equal(self: Any, other: Any) -> bool:
    return self.compared(self) == other.compared(other) if type(self) is type(other) else NotImplemented


def _hash(self: Any) -> int:
    return hash(self.compared(self))


def _refuse(self: object, name: str, value: object = None) -> None:
    raise FrozenInstanceError(f"cannot assign to or delete field {name!r}")


def _state(self: Any) -> list[object]:
    return [getattr(self, one.name) for one in fields(self)]


def _set_state(self: Any, state: Sequence[object]) -> None:
    for one, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)


_SHARED: Mapping[str, Callable[..., Any]] = {
    "__repr__": _repr, "__eq__": _equal, "__hash__": _hash, "__getstate__": _state, "__setstate__": _set_state
}  # fmt: skip
_FROZEN: Mapping[str, Callable[..., Any]] = {"__setattr__": _refuse, "__delattr__": _refuse}
