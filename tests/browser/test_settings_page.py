"""The settings as people use them: set, save, check."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from tests.server.stage import Live

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 360)])
def test_set_save_and_check(
    library: Live, visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str, width: int
) -> None:
    path = tmp_path / "config.toml"
    path.touch()
    monkeypatch.setenv("WELLREAD_CONFIG", str(path))
    monkeypatch.delenv("TAVILY_API_KEY", raising=False)
    page = visit(library, "/", color_scheme=scheme, viewport={"width": width, "height": 780})
    page.get_by_role("link", name="Settings").click()
    page.get_by_label("Wikipedia").check()
    page.get_by_label("TAVILY_API_KEY").fill("a-key")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").first).to_contain_text("Saved")
    assert tomllib.loads(path.read_text()) == {"sources": ["library", "wikipedia"], "keys": {"TAVILY_API_KEY": "a-key"}}
    assert page.get_by_label("TAVILY_API_KEY: ").input_value() == ""
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#findings")).to_contain_text("TAVILY_API_KEY is set", timeout=30_000)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_label("forget TAVILY_API_KEY").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("forget TAVILY_API_KEY")).to_have_count(0)
    assert "keys" not in tomllib.loads(path.read_text()) or not tomllib.loads(path.read_text())["keys"]
