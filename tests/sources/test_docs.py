"""The reference says what the sources can really do."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from wellread import plugins
from wellread.parameters import describe

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "reference" / "sources.md").read_text(encoding="utf-8")
OURS = ("mediawiki", "files", "urls", "newsapi", "datasette", "searxng", "tavily", "brave", "elasticsearch", "slack")


@pytest.mark.parametrize("name", OURS)
def test_every_option_is_described_in_its_section(name: str) -> None:
    section = next(part for part in re.split(r"^## ", TEXT, flags=re.M) if name in part.partition("\n")[0].split(", "))
    written = re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", section, flags=re.M)
    options = describe(import_module(f"wellread.sources.{name}").Options)
    assert written == [(option.name, option.help) for option in options]


def test_every_source_is_in_the_list() -> None:
    listed = set(re.findall(r"^\| `(\w+)", TEXT.partition("## ")[0], flags=re.M))
    assert set(plugins.names("sources")) <= listed


def test_the_example_of_a_source_works() -> None:
    how_to = (ROOT / "docs" / "how-to" / "sources.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", how_to, flags=re.S)
    assert code is not None
    space: dict[str, object] = {"__name__": "example"}
    exec(compile(code[1], "docs/how-to/sources.md", "exec"), space)

    import asyncio

    from wellread.protocols import Source
    from wellread.types import Query, Spec

    source = space["from_spec"](Spec("shelf"), None)  # type: ignore[operator]
    assert isinstance(source, Source)
    assert [hit.title for hit in asyncio.run(source.search(Query("moby")))] == ["Moby-Dick"]
