"""The pages about the server name what there is, all of it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.server.stage import Live

from wellread.server.options import ServerOptions

pytestmark = pytest.mark.slow

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_every_setting_is_described() -> None:
    table = (DOCS / "how-to" / "serve.md").read_text(encoding="utf-8").partition("## Settings")[2].partition("##")[0]
    named = {name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert named == set(ServerOptions.__slots__)


def test_every_route_is_described(live: Live) -> None:
    page = (DOCS / "reference" / "http-api.md").read_text(encoding="utf-8").replace("{id}", "{run}")
    with live.client() as client:
        schema = client.get("/openapi.json").json()
    for path, methods in schema["paths"].items():
        for method in methods:
            assert f"`{method.upper()} {path}" in page


def section(live: Live) -> str:
    """How to use the clients, with the address of a server that is there."""
    page = (DOCS / "how-to" / "serve.md").read_text(encoding="utf-8")
    return page.partition("## OpenAI-compatible clients")[2].partition("\n## ")[0].replace("http://127.0.0.1:8000", live.url)


def test_the_example_in_python_works_when_typed(library: Live, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", section(library), re.DOTALL)
    names: dict[str, object] = {}
    try:
        exec(code, names)
    finally:
        names["client"].close()  # type: ignore[attr-defined]
    shown = capsys.readouterr().out
    assert "Huygens" in shown
    assert "Titan" in shown.partition("**Sources**")[2]


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_the_commands_work_when_typed(library: Live) -> None:
    commands = re.findall(r"^    (curl .*\\\n.*)$", section(library), re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        done = subprocess.run(["bash", "-c", f"{command} --noproxy '*'"], capture_output=True, text=True, timeout=60, check=True)
        assert "Sources" in done.stdout
