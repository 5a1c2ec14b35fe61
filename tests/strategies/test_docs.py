"""The reference of the strategies tells the truth. Renew its tables with `python -m tests.strategies.test_docs`."""

from __future__ import annotations

import re
from pathlib import Path

from wellread import plugins
from wellread.parameters import describe

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "strategies.md"
_PLACE = re.compile(r"<!-- parameters: (\w+) -->\n(?:(?:\|.*)?\n)*")


def table(name: str) -> str:
    """A strategy's parameters as a Markdown table."""
    rows = ["| parameter | kind | default | |", "|---|---|---|---|"]
    for parameter in describe(plugins.load("strategies", name).Params):  # pyright: ignore[reportFunctionMemberAccess]
        kind = parameter.kind.replace("|", ", ")
        default = "" if parameter.default in (None, "") else f"`{parameter.default}`"
        rows.append(f"| `{parameter.name}` | {kind} | {default} | {parameter.help} |")
    return "\n".join(rows)


def renewed(page: str) -> str:
    text = _PLACE.sub(lambda match: f"<!-- parameters: {match[1]} -->\n{table(match[1])}\n\n", page)
    return text.rstrip() + "\n"


def test_the_tables_are_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert renewed(page) == page


def test_every_recipe_has_its_section() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in ("auto", "guided", "iterative", "fanout", "react", "corrective", "digest", "research"):
        assert f"## {name}\n" in page
        assert f"<!-- parameters: {name} -->" in page


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def test_every_point_of_the_recipes_names_a_test_that_is_there() -> None:
    text = Path("docs/explanation/recipes.md").read_text().partition("## Which test proves which point")[2]
    points = [line for line in text.splitlines() if line.startswith("| ") and not line.endswith("| test |")]
    assert len(points) > 75
    for line in points:
        named = re.search(r"\| `([\w/]+\.py)::(\w+)` \|$", line)
        assert named, line
        assert f"def {named[2]}(" in Path("tests", named[1]).read_text(), line
