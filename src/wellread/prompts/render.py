"""Prompts are Markdown files beside this one. A comment in them gives reasons and is never sent.

`{{name}}` is a variable. Rendering is strict both ways: a variable without a value and a value without
a variable are errors. Values are put in as they are and never read for variables of their own, so
text from outside cannot pull anything into a prompt.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)
_VARIABLE = re.compile(r"\{\{(\w+)\}\}")


def render(name: str, /, **values: str) -> str:
    """The prompt `name.md` with its variables filled in."""
    template, wanted = _load(name)
    missing, surplus = wanted - values.keys(), values.keys() - wanted
    if missing or surplus:
        problems = [f"no value for {word}" for word in sorted(missing)] + [f"no variable {word}" for word in sorted(surplus)]
        raise LookupError(f"prompt {name}: {', '.join(problems)}")
    return _VARIABLE.sub(lambda match: values[match[1]], template)


def names() -> list[str]:
    """Every prompt there is."""
    return sorted(path.stem for path in Path(__file__).parent.glob("*.md"))


@cache
def _load(name: str) -> tuple[str, frozenset[str]]:
    path = Path(__file__).parent / f"{name}.md"
    if not path.is_file():
        raise LookupError(f"there is no prompt {name}; there are: {', '.join(names())}")
    template = _COMMENT.sub("", path.read_text(encoding="utf-8")).strip()
    return template, frozenset(_VARIABLE.findall(template))
