"""The pages about the server name what there is, all of it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.server.stage import Live

from wellread.server.options import ServerOptions

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
