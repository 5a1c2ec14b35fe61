"""The reference says what the sources can really do."""

from __future__ import annotations

import re
from pathlib import Path

from wellread import plugins

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "reference" / "sources.md").read_text(encoding="utf-8")


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
