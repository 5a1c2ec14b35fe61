"""JSON of a given shape: describing it to a model, and making what comes back fit.

A small part of JSON schema (type, properties, required, items, enum, anyOf, $ref) with the leniency
that models need: "yes" for true, "3" for 3, one thing where a list of one was asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

Schema = Mapping[str, Any]
_YES = {"yes": True, "true": True, "y": True, "1": True, "no": False, "false": False, "n": False, "0": False}


class Misfit(ValueError):
    """The value does not have the shape; says where and why."""


def schema_of(shape: type | Schema) -> Schema:
    """The schema of a dataclass (or any type pydantic knows); a schema stays as it is."""
    if isinstance(shape, Mapping):
        return shape
    from pydantic import TypeAdapter

    return TypeAdapter[object](shape).json_schema()


def example(schema: Schema, root: Schema | None = None) -> str:
    """The shape as a model understands it best: an example with words for values."""
    root = root or schema
    schema = _resolved(schema, root)
    if "enum" in schema:
        return " or ".join(json.dumps(choice) for choice in schema["enum"])
    kind = _kind(schema, root)
    if kind == "object":
        fields = [f'"{name}": {example(part, root)}' for name, part in _properties(schema).items()]
        return "{" + ", ".join(fields) + "}"
    if kind == "array":
        return f"[{example(schema.get('items', {}), root)}, …]"
    words = schema.get("description")
    plain = {"boolean": "true or false", "integer": "a whole number", "number": "a number", "string": "text"}.get(kind, "text")
    return f'"{words or plain}"' if kind == "string" else plain


def fit(value: object, schema: Schema, root: Schema | None = None, where: str = "the reply") -> Any:
    """`value` made to fit, or `Misfit`."""
    root = root or schema
    schema = _resolved(schema, root)
    if "anyOf" in schema:
        return _any_of(value, schema["anyOf"], root, where)
    if "enum" in schema:
        return _choice(value, schema["enum"], where)
    kind = _kind(schema, root)
    if kind == "object":
        return _object(value, schema, root, where)
    if kind == "array":
        return _array(value, schema, root, where)
    return _scalar(value, kind, where)


def _object(value: object, schema: Schema, root: Schema, where: str) -> dict[str, Any]:
    properties = _properties(schema)
    if not isinstance(value, Mapping):
        if len(properties) != 1:
            raise Misfit(f"{where} must be an object, not {_shown(value)}")
        value = {next(iter(properties)): value}  # the content without its wrapping
    given = {_plain(key): (key, item) for key, item in cast("Mapping[str, object]", value).items()}
    fitted: dict[str, Any] = {}
    for name, part in properties.items():
        if _plain(name) in given:
            fitted[name] = fit(given[_plain(name)][1], part, root, f"{where}.{name}")
        elif name in schema.get("required", ()):
            raise Misfit(f"{where} has no {name!r}")
        elif "default" in part:
            fitted[name] = part["default"]
    if not properties:
        return dict(cast("Mapping[str, Any]", value))
    return fitted


def _array(value: object, schema: Schema, root: Schema, where: str) -> list[Any]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        value = [] if value is None else [value]
    items = [fit(item, schema.get("items", {}), root, f"{where}[{n}]") for n, item in enumerate(cast("Sequence[object]", value))]
    if len(items) < schema.get("minItems", 0):
        raise Misfit(f"{where} needs at least {schema['minItems']} entries")
    most = schema.get("maxItems")
    return items[:most]


def _any_of(value: object, choices: Sequence[Schema], root: Schema, where: str) -> Any:
    problem = Misfit(f"{where} fits nothing")
    for choice in choices:
        try:
            return fit(value, choice, root, where)
        except Misfit as misfit:
            problem = misfit
    raise problem


def _choice(value: object, choices: Sequence[object], where: str) -> object:
    for choice in choices:
        if value == choice or _plain(str(value)) == _plain(str(choice)):
            return choice
    raise Misfit(f"{where} must be one of {', '.join(map(str, choices))}, not {_shown(value)}")


def _scalar(value: object, kind: str, where: str) -> Any:
    if kind == "boolean":
        found = value if isinstance(value, bool) else _YES.get(_plain(str(value)).rstrip("."))
    elif kind in ("integer", "number"):
        found = _number(value, whole=kind == "integer")
    elif kind == "string":
        found = value if isinstance(value, str) else None if isinstance(value, Mapping | list) else _text(value)
    elif kind == "null":
        return None
    else:
        return value
    if found is None:
        raise Misfit(f"{where} must be {'an' if kind == 'integer' else 'a'} {kind}, not {_shown(cast('object', value))}")
    return found


def _number(value: object, *, whole: bool) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(str(value).strip().rstrip("%").replace(",", ""))
    except ValueError:
        return None
    if number != number or abs(number) == float("inf"):
        return None
    if whole:
        return int(number) if number == int(number) else None
    return value if isinstance(value, int | float) else number


def _text(value: object) -> str | None:
    return None if value is None else json.dumps(value) if isinstance(value, bool) else str(value)


def _kind(schema: Schema, root: Schema) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        named = [name for name in cast("list[str]", kind) if name != "null"]
        return named[0] if named else "null"
    if kind is None and "anyOf" in schema:
        return _kind(_resolved(schema["anyOf"][0], root), root)
    return str(kind) if kind else "object" if "properties" in schema else "any"


def _properties(schema: Schema) -> Mapping[str, Schema]:
    return schema.get("properties", {})


def _resolved(schema: Schema, root: Schema) -> Schema:
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return schema
    found: Any = root
    for step in reference.removeprefix("#/").split("/"):
        found = found[step]
    return cast("Schema", found)


def _plain(text: str) -> str:
    return text.strip().lower().replace("-", "_").replace(" ", "_")


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:60] + "…"
