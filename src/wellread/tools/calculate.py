"""A calculator for models: Python arithmetic in a sandbox of its own process, with limits.

Never `eval`: pydantic-monty has no files, no imports and no attributes that lead out, and is ended when
it takes too long or too much memory. The size of the result is checked before it is turned into text.
"""

from __future__ import annotations

import ast
import re

from wellread.errors import CalculationError, optional, panics_as

_SECONDS = 1.0
_MEMORY = 16_000_000
_LONGEST_EXPRESSION = 1000
_MOST_DIGITS = 1000
_LONGEST_RESULT = 2000
_DEFINITIONS = """\
import math
from math import (acos, asin, atan, atan2, ceil, comb, cos, cosh, degrees, e, exp, factorial, floor, gcd, hypot, log,
    log10, log2, perm, pi, radians, sin, sinh, sqrt, tan, tanh, tau, trunc)
ln = log
"""

_SIGNS = str.maketrans(
    {"×": "*", "·": "*", "⋅": "*", "÷": "/", "∶": "/", "−": "-", "–": "-", "^": "**", "²": "**2", "³": "**3", "π": "pi"}
    | dict.fromkeys("$€£", "")
    | dict.fromkeys("\u00a0\u202f", " ")
)
_REWRITES = (
    (re.compile(r"(\d+(?:\.\d+)?)\s*%\s*of\b", re.IGNORECASE), r"(\1/100)*"),
    (re.compile(r"(\d+(?:\.\d+)?)\s*%(?=\s*(?:$|[-+*/),]))"), r"(\1/100)"),  # before an operand it is the remainder
    (re.compile(r"√\s*(\d+(?:\.\d+)?)"), r"sqrt(\1)"),
    (re.compile(r"√\s*\("), "sqrt("),
    (re.compile(r"(?<![\w.)])(\d+)!(?!=)"), r"factorial(\1)"),
    (re.compile(r"(?<=[\d)])\s+[xX]\s+(?=[\d(])"), " * "),
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_SPOKEN = re.compile(
    r"math|acos|asin|atan|ceil|comb|cosh?|degrees|exp|factorial|floor|gcd|hypot|log|perm|pi|radians|sinh?|sqrt|tanh?|tau|trunc|ln"
    r"|abs|round|min|max|sum|len|range|int|float|pow|divmod|sorted|for|in|if|else|and|or|not|of|mod",
    re.IGNORECASE,
)
_GROUPED = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w,])")


async def calculate(expression: str) -> str:
    """The result as text; raises `CalculationError`, and `MissingExtra` where there is no sandbox."""
    text = _text(await _run(as_python(expression)))
    if len(text) > _LONGEST_RESULT:
        raise CalculationError(f"the result is longer than {_LONGEST_RESULT} characters")
    return text


def is_arithmetic(expression: str) -> bool:
    """Whether it has no words but those of arithmetic. A result is cited with its expression: a comment, a text or a name in it
    would be a source for whatever a model likes to write there."""
    return all(map(_SPOKEN.fullmatch, _WORD.findall(expression)))


def as_python(expression: str) -> str:
    """The expression in Python's spelling: × ÷ ^ √ %, thousands separators, currency signs, a trailing `=`."""
    text = expression.strip().strip("`'\"").strip().rstrip("=?").strip()
    if not text:
        raise CalculationError("there is nothing to calculate")
    if len(text) > _LONGEST_EXPRESSION:
        raise CalculationError(f"the expression is longer than {_LONGEST_EXPRESSION} characters")
    text = _without_separators(text.translate(_SIGNS))
    for pattern, replacement in _REWRITES:
        text = pattern.sub(replacement, text)
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise CalculationError(f"{expression.strip()[:100]!r} is not an arithmetic expression") from None
    if isinstance(tree.body, ast.Tuple):
        raise CalculationError("one expression at a time, with a point before decimals (3.5, not 3,5)")
    return text


def _without_separators(text: str) -> str:
    """`1,234.5` → `1234.5`, but not between the arguments of a call or the items of a list."""

    def joined(match: re.Match[str]) -> str:
        return match.group() if _in_list(text[: match.start()]) else match.group().replace(",", "")

    return _GROUPED.sub(joined, text)


def _in_list(before: str) -> bool:
    opened: list[bool] = []
    for place, char in enumerate(before):
        if char in "([":
            opened.append(char == "[" or (place > 0 and (before[place - 1].isalnum() or before[place - 1] == "_")))
        elif char in ")]" and opened:
            opened.pop()
    return any(opened)


async def _run(code: str) -> object:
    with optional("calculating", "calculate"):
        import pydantic_monty as monty

    limits = monty.ResourceLimits(max_feed_duration_secs=_SECONDS, max_memory=_MEMORY, max_recursion_depth=50)
    try:
        with panics_as(CalculationError, "the calculator"):
            async with (
                monty.AsyncMonty(max_processes=1, request_timeout=_SECONDS * 3) as pool,
                pool.checkout(limits=limits) as session,
            ):
                await session.feed_run(_DEFINITIONS)
                return await session.feed_run(code, print_callback=monty.CollectString())
    except monty.MontyError as problem:
        raise CalculationError(_reason(str(problem))) from None


def _reason(problem: str) -> str:
    """The sandbox's last line in words that help a model write the next expression."""
    last = problem.strip().splitlines()[-1] if problem.strip() else "it failed"
    kind, _, detail = last.partition(": ")
    if kind == "TimeoutError" or "timed out" in last:
        return f"it takes longer than {_SECONDS:g} s"
    if kind == "MemoryError" or "memory" in last:
        return "it takes too much memory"
    if kind in ("NameError", "AttributeError", "PermissionError", "ImportError", "ModuleNotFoundError"):
        return f"only arithmetic is possible here ({detail or last})"
    return detail or last


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        digits = int(value.bit_length() * 0.30103) + 1
        if digits > _MOST_DIGITS:
            raise CalculationError(f"the result has about {digits} digits, more than can be written out")
        return str(value)
    if isinstance(value, float):
        if value != value or abs(value) == float("inf"):
            raise CalculationError("the result is not a finite number")
        return format(value, ".15g")
    if isinstance(value, complex):
        return str(value)
    if isinstance(value, list | tuple):
        items: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        if len(items) > _LONGEST_RESULT // 2:
            raise CalculationError(f"the result has {len(items)} entries, more than can be written out")
        return ", ".join(map(_text, items))
    raise CalculationError("the result is not a number")
