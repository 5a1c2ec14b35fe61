"""Conversations and controls in a real browser: by keyboard, on a phone, in print, without a complaint of axe."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from tests.server.stage import Live, ask, finished

pytestmark = [pytest.mark.browser, pytest.mark.slow]
Visit = Callable[..., Page]


@pytest.fixture
def run(library: Live) -> str:
    with library.client() as client:
        first = ask(client, "Who wrote Hamlet?")
        finished(client, first)
    return first


def clean(page: Page) -> None:
    found = Axe().run(page)
    assert not found.response["violations"], found.generate_report()


def test_ask_again_goes_to_two_answers_side_by_side(library: Live, visit: Visit, run: str) -> None:
    page = visit(library, f"/r/{run}")
    page.get_by_text("Ask again, and compare").focus()
    page.keyboard.press("Enter")
    form = page.locator(".again form")
    form.get_by_label("How thorough").select_option("normal")
    form.get_by_label("The question again").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"{library.url}/compare/{run}/*")
    expect(page.locator("article[data-state=done]")).to_have_count(2, timeout=60_000)
    left, right = (page.locator("article").nth(number).bounding_box() for number in (0, 1))
    assert left is not None
    assert right is not None
    assert left["x"] + left["width"] <= right["x"]  # side by side
    expect(page.locator("article").nth(1).locator(".short")).to_have_text("William Shakespeare")
    clean(page)


def test_a_conversation_is_named_saved_and_found_by_its_name(library: Live, visit: Visit, run: str) -> None:
    page = visit(library, f"/r/{run}")
    page.get_by_text("Keep this conversation").click()
    page.get_by_label("Name", exact=True).fill("Plays")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Plays", exact=True)).to_be_visible()
    page.get_by_text("Keep this conversation").click()
    clean(page)
    with page.expect_download() as saving:
        page.get_by_role("link", name="Save as Markdown").click()
    assert saving.value.suggested_filename == "plays.md"
    assert saving.value.path().read_text("utf-8").startswith("# Plays\n\n## Who wrote Hamlet?")
    page.goto(f"{library.url}/history")
    expect(page.get_by_role("link", name="Plays")).to_be_visible()
    clean(page)


def test_on_paper_there_is_the_answer_and_nothing_to_press(library: Live, visit: Visit, run: str) -> None:
    page = visit(library, f"/r/{run}")
    page.emulate_media(media="print")
    expect(page.locator(".answer")).to_be_visible()
    expect(page.locator(".sources .source").first).to_be_visible()
    for gone in (".actions", ".tools", ".again", ".follow-up", "header.top", ".trail"):
        expect(page.locator(gone).first).to_be_hidden()


def test_labels_are_read_on_a_phone_and_nothing_covers_anything(library: Live, visit: Visit) -> None:
    page = visit(library, "/", viewport={"width": 360, "height": 740})
    page.get_by_text("Options").click()
    for label in ("How", "How thorough", "Search in", "Model"):
        expect(page.locator(".picker > span, .picker > summary > span").get_by_text(label, exact=True)).to_be_visible()
    last, send = page.locator(".picker").last.bounding_box(), page.locator(".send").bounding_box()
    assert last is not None
    assert send is not None
    assert last["y"] + last["height"] <= send["y"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    clean(page)


def test_a_way_is_told_in_a_line_while_one_chooses(library: Live, visit: Visit) -> None:
    page = visit(library, "/")
    picker = page.get_by_label("How", exact=True)
    expect(picker.locator("option").first).to_have_text("Automatic")
    picker.focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("select[name=strategy]").input_value() == "quote"
