"""Typed parameters from text: `--param top_k=5`, `?pageSize=50`, settings in a file.

A parameter set is a frozen dataclass whose fields have defaults and, under `metadata["help"]`, one
line of help. `fill` turns strings into its types and names the known parameters when one is unknown.

A text that names a part (a source, a model, …) has a type that says so, `SourceSpec`, `ModelSpec` and the like: whoever
takes parameters from strangers asks `named` what they would have built. A parameter that is a plain `str` never gets
to a plugin. Every number has its `Range` in its type: a count that nobody needs can cost all the memory there is.
"""

from __future__ import annotations

import difflib
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, field, fields, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, NewType, TypeVar, Union, cast, get_args, get_origin, get_type_hints
from urllib.parse import unquote

from wellread.core.logins import without_logins
from wellread.core.values import frozen
from wellread.errors import UsageError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
Part = Literal["sources", "models", "embedders", "rerankers", "graders"]
_TRUTHS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


@frozen
class Names:
    """In a text's type: it is the spec of a part of this kind."""

    part: Part


@frozen
class Range:
    """In a number's type: the least and the most it may be."""

    least: float
    most: float


Count = Annotated[int, Range(1, 1000)]
CountOrZero = Annotated[int, Range(0, 1000)]
Length = Annotated[int, Range(1, 10_000_000)]  # of a text, in tokens or characters
Share = Annotated[float, Range(0, 1)]
Seconds = Annotated[float, Range(0.001, 3600)]
Hops = Annotated[int, Range(1, 2)]
SourceSpec = Annotated[str, Names("sources")]
ModelSpec = Annotated[str, Names("models")]
EmbedderSpec = Annotated[str, Names("embedders")]
RerankerSpec = Annotated[str, Names("rerankers")]
GraderSpec = Annotated[str, Names("graders")]
PublicSpec = NewType("PublicSpec", str)  # a spec as anybody may see it, made by `public` alone
_NO_ADDRESS = re.compile(r"(?s)(?<!ray)://[^/?#\[\s]*:(?!\d*(?:[/?#,]|$)).*")  # where a password may have broken it


@lru_cache(1_000)
def public(spec: str) -> PublicSpec:
    """A spec without its secrets: no login in an address, and of what is no address nothing. Only this is shown to clients."""
    head, mark, options = spec.partition("?")
    inner = ((one, unquote(one)) for one in options.split("&") if options)  # which may be specs with options of their own
    read = (one if public(meant) == meant else public(meant) for one, meant in inner)
    return PublicSpec(_NO_ADDRESS.sub("://…", without_logins(head + mark + "&".join(read))))


@frozen
class Parameter:
    """One parameter, as help texts show it."""

    name: str
    kind: str
    default: object
    help: str
    part: Part | None = None  # what its value names, if it names one
    range: Range | None = None


def param(default: Any, help: str, *, sent: str = "") -> Any:
    """A dataclass field with a default and its line of help; `sent`: what the service that it is told calls it."""
    return field(default=default, metadata={"help": help, "sent": sent})


@frozen
class _Kind:
    """The type of a parameter, taken apart."""

    base: Any
    choices: tuple[object, ...] = ()
    part: Part | None = None
    range: Range | None = None
    many: bool = False
    optional: bool = False

    @classmethod
    def of(cls, hint: Any) -> _Kind:
        origin, parts = get_origin(hint), get_args(hint)
        if origin is Annotated:
            inner, mark = cls.of(parts[0]), parts[1]
            return replace(inner, part=mark.part) if isinstance(mark, Names) else replace(inner, range=mark)
        if origin in (Union, types.UnionType):
            return replace(cls.of(parts[0]), optional=True)
        if origin is tuple:
            return replace(cls.of(parts[0]), many=True)
        return cls(hint, parts if origin is Literal else ())

    def __str__(self) -> str:
        """As help texts show it."""
        name = "|".join(map(str, self.choices)) or str(getattr(self.base, "__name__", self.base))
        bounds = f" {self.range.least:.15g} to {self.range.most:.15g}" if self.range else ""
        return f"{self.part.removesuffix('s') if self.part else name}{bounds}{',…' * self.many}{'|none' * self.optional}"

    @property
    def wanted(self) -> str:
        """The expected type in words, for errors."""
        if self.choices:
            return f"one of {', '.join(map(str, self.choices))}"
        words = {int: "a whole number", float: "a number", bool: "true or false"}
        return "a list" if self.many else words.get(self.base, "a table")

    def read(self, value: Any) -> Any:
        """A value as somebody typed it, in the form that the codec takes."""
        if self.optional and (value is None or str(value).lower() in ("none", "")):
            return None
        if not self.many:
            return self._one(value)
        items = cast("object", re.split(r"\s*,\s*", value.strip()) if isinstance(value, str) else value)
        return list(map(self._one, cast("list[object]", items))) if isinstance(items, list | tuple) else items

    def _one(self, value: Any) -> Any:
        if self.base is bool and str(value).lower() in _TRUTHS:
            return _TRUTHS[str(value).lower()]
        return str(value) if self.base is str else value.strip() if isinstance(value, str) else value


@cache
def _kinds(cls: type[object]) -> dict[str, tuple[Any, _Kind]]:
    """Kept, because every run fills a set: evaluating annotations takes longer than a search in memory."""
    return {name: (hint, _Kind.of(hint)) for name, hint in get_type_hints(cls, include_extras=True).items()}


def describe(cls: type[DataclassInstance]) -> list[Parameter]:
    """The parameters of a set, in the order they are written."""
    found: list[Parameter] = []
    for f in fields(cls):
        _, kind = _kinds(cls)[f.name]
        default = None if f.default is MISSING else f.default
        found.append(Parameter(f.name, str(kind), default, str(f.metadata.get("help", "")), kind.part, kind.range))
    return found


def named(filled: DataclassInstance) -> Iterator[tuple[str, Part, str]]:
    """The parts that a set names: parameter, kind, spec."""
    for parameter in describe(type(filled)):
        if parameter.part is None:
            continue
        value: object = getattr(filled, parameter.name)
        for spec in cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,):
            if spec is not None:
                yield parameter.name, parameter.part, str(spec)


def fill(cls: type[T], values: Mapping[str, object], owner: str) -> T:
    """An instance of `cls` with `values` in place of the defaults; `owner` is named in errors."""
    kinds = _kinds(cls)
    known = {f.name for f in fields(cls)}
    for name in values:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f" (did you mean {close[0]}?)" if close else ""
            raise UsageError(f"{owner} has no parameter {name!r}{hint}; it has: {', '.join(sorted(known)) or 'none'}")
    converted = {name: _convert(*kinds[name], value, f"{owner}: {name}") for name, value in values.items()}
    try:
        return cls(**converted)
    except ValueError as problem:  # a set may check its own values in __post_init__
        raise UsageError(f"{owner}: {problem}") from problem


def _convert(hint: Any, kind: _Kind, value: object, where: str) -> object:
    """The codec checks what a value must be; what is said where it is not, and bounds, are ours."""
    from wellread.core import codec

    try:
        found = codec.decode(hint, kind.read(value), strict=False)
    except ValueError:
        raise UsageError(f"{where} must be {kind.wanted}, not {value!r}") from None
    bounds, each = kind.range, cast("tuple[Any, ...]", found if kind.many and found is not None else (found,))
    for one in each:
        if bounds and one is not None and not bounds.least <= one <= bounds.most:
            limit = f"at least {bounds.least:.15g}" if one < bounds.least else f"at most {bounds.most:.15g}"
            raise UsageError(f"{where} must be {'finite' if str(one)[-3:] in ('nan', 'inf') else limit}, not {one}")
        # A spec stands on a line of a file, of a form and of a list: what some reader takes for the end of one breaks these.
        if kind.part and one and (one.splitlines() != [one] or any(sign < " " for sign in one)):
            raise UsageError(f"{where} must be one line without control signs")
    return found
