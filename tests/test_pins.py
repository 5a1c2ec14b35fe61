"""The pinned files are installed without pip's looking for more: each of them has to name all that its packages need."""

from __future__ import annotations

from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HERE = Path(__file__).resolve().parents[1] / "requirements"


def _read(*files: str) -> list[Requirement]:
    """What holds on this machine; comments, options and hashes left out."""
    texts = [(HERE / file).read_text(encoding="utf-8") for file in files]
    lines = [line.split("#")[0].removesuffix("\\").strip() for text in texts for line in text.splitlines()]
    found = [Requirement(line) for line in lines if line and not line.startswith("-")]
    return [one for one in found if one.marker is None or one.marker.evaluate()]


@pytest.mark.parametrize(
    ("wished", "pinned"),
    [
        (["build.in"], ["build.txt"]),
        (["core.in"], ["core.txt"]),
        (["core.in", "all.in"], ["all.txt"]),
        (["core.in", "all.in", "dev.in"], ["dev.txt"]),
        (["docs.in"], ["docs.txt", "dev.txt"]),
    ],
    ids=["build", "core", "all", "dev", "docs"],
)
def test_all_that_is_needed_is_pinned(wished: list[str], pinned: list[str]) -> None:
    pins = {canonicalize_name(one.name): one for one in _read(*pinned)}
    assert all(str(one.specifier).startswith("==") for one in pins.values())
    waiting = _read(*wished)
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        need = waiting.pop()
        name = canonicalize_name(need.name)
        assert name in pins, f"{need} is not in {pinned[0]}: run make pins"
        version = str(pins[name].specifier).removeprefix("==")
        assert need.specifier.contains(version, prereleases=True), f"{need}, but {version} is pinned"
        if (name, asked := frozenset({"", *need.extras})) in seen:
            continue
        seen.add((name, asked))
        more = [Requirement(line) for line in requires(name) or []]
        waiting += [one for one in more if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in asked)]


def test_every_pin_has_a_hash() -> None:
    for file in HERE.glob("*.txt"):
        entries = file.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
        assert all("--hash=sha256:" in line for line in entries if line and not line.lstrip().startswith("#")), file.name
