"""The API's description as a page, drawn from the OpenAPI document by the server itself."""

from __future__ import annotations

import json
from typing import Any

from wellread.server.web.html import Safe, el, join

Schema = dict[str, Any]


def describe(schema: Schema) -> Safe:
    intro = [el("p", _words(part)) for part in str(schema["info"]["description"]).strip().split("\n\n")]
    operations = [
        _operation(path, method, one, schema) for path, methods in schema["paths"].items() for method, one in methods.items()
    ]
    document = el("p", "The same for programs: ", el("a", "openapi.json", href="/openapi.json"), ".")
    return el("div", el("h1", "HTTP API"), *intro, document, *operations, class_="reference")


def _operation(path: str, method: str, one: Schema, schema: Schema) -> Safe:
    head = el("h2", el("span", method.upper(), class_=f"method {method}"), " ", el("code", path))
    rows = [_parameter(parameter) for parameter in one.get("parameters", ())]
    table = el("ul", *rows, class_="parameters") if rows else None
    statuses = ", ".join(one.get("responses", {}))
    return el(
        "section",
        head,
        el("p", _words(one.get("description", ""))),
        table,
        _example(one, schema),
        el("p", f"Answers: {statuses}", class_="facts"),
    )


def _words(text: str) -> Safe:
    """What stands between backticks is code."""
    return join(*(el("code", part) if number % 2 else part for number, part in enumerate(text.split("`"))))


def _parameter(parameter: Schema) -> Safe:
    about = parameter.get("description") or parameter.get("schema", {}).get("description") or ""
    return el("li", el("code", parameter["name"]), " ", el("small", parameter["in"]), " ", about)


def _example(one: Schema, schema: Schema) -> Safe | None:
    """A body that can be sent as it stands."""
    content: Schema = one.get("requestBody", {}).get("content", {}).get("application/json", {})
    name = str(content.get("schema", {}).get("$ref", "")).rsplit("/", 1)[-1]
    examples: list[Any] = schema.get("components", {}).get("schemas", {}).get(name, {}).get("examples", [])
    if not examples:
        return None
    return el("pre", el("code", json.dumps(examples[0], ensure_ascii=False, indent=2)), tabindex=0, aria_label="Example")
