"""`wellread search`: a source that cannot be asked is named on stderr, the others answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from wellread.cli.main import app


def test_a_source_that_is_down_is_named_and_the_others_answer(tmp_path: Path) -> None:
    (tmp_path / "bread.txt").write_text("The sourdough rested overnight.")
    sources = ["--source", f"files:{tmp_path}?meaning=no", "--source", "searxng:http://127.0.0.1:9"]
    done = CliRunner().invoke(app, ["search", "sourdough", *sources, "--json"])
    assert done.exit_code == 0
    assert [hit["text"] for hit in json.loads(done.stdout)["hits"]] == ["The sourdough rested overnight."]
    assert "searxng:127.0.0.1:9: 127.0.0.1 cannot be reached" in done.stderr


@pytest.mark.parametrize("limit", ["1000000000", str(10**18), "0", "-1"])
@pytest.mark.parametrize("command", [["search", "moons"], ["index", "search", "library", "moons"]])
def test_a_limit_that_nobody_needs_is_wrong_usage(command: list[str], limit: str) -> None:
    done = CliRunner().invoke(app, [*command, "--limit", limit])
    assert done.exit_code == 2
    assert "--limit" in done.stderr
