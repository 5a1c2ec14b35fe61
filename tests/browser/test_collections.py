"""Your documents in the page: dropped, watched, asked, removed; with and without JavaScript."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect
from tests.reading.test_pdf import pdf, prose
from tests.server.desk import LAMPS, STORM
from tests.server.stage import Live, ask, finished, quoting, running, until

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]
LIGHT = "# The light\n\nThe lamp of Skerry was lit by Ada Moffat in 1822.\n"
OIL = "Whale oil was burned in the lamps of Skerry until 1860."
DROP = """({name, text}) => {
  const moved = new DataTransfer();
  moved.items.add(new File([text], name));
  document.querySelector(".drop").dispatchEvent(new DragEvent("drop", {dataTransfer: moved, bubbles: true, cancelable: true}));
}"""


@pytest.fixture(scope="module")
def shelf(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with running(quoting(), tmp_path_factory.mktemp("shelf"), max_document=200_000) as server:
        yield server


def read(page: Page) -> None:
    expect(page.locator("#collection[data-working]")).to_have_count(0, timeout=30_000)


def chosen(page: Page, name: str, *files: tuple[str, str]) -> None:
    page.get_by_label("Name", exact=True).fill(name)
    sent = [{"name": file, "mimeType": "text/plain", "buffer": text.encode()} for file, text in files]
    page.locator("input[type=file][multiple]").set_input_files(sent)
    page.get_by_role("button", name="Make it").click()
    page.wait_for_url(re.compile("/collections/"))


def test_drop_watch_ask_and_remove(shelf: Live, visit: Visit) -> None:
    page = visit(shelf, "/collections")
    page.get_by_label("Name", exact=True).fill("Skerry")
    page.evaluate(DROP, {"name": "light.md", "text": LIGHT})
    page.wait_for_url("**/collections/skerry")
    read(page)
    expect(page.locator(".files li")).to_contain_text("1 passage")
    page.get_by_role("link", name="Ask it").click()
    expect(page.locator(".ticked")).to_have_text("Skerry")
    page.locator(".ticks summary").click()
    page.get_by_label("Library").check()
    expect(page.locator(".ticked")).to_have_text("Library, Skerry")
    page.keyboard.press("Escape")
    expect(page.locator(".panel")).to_be_hidden()
    page.get_by_role("textbox").fill("Who lit the lamp of Skerry?")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/r/"))
    expect(page.locator(".answer")).to_contain_text("Ada Moffat")
    expect(page.locator("article > .question + .facts")).to_contain_text("Library + Skerry")
    expect(page.locator(".follow-up .ticked")).to_have_text("Library, Skerry")
    page.goto(f"{shelf.url}/collections/skerry")
    page.get_by_role("link", name="Remove", exact=True).click()
    expect(page.get_by_role("heading", name="Remove Skerry?")).to_be_visible()
    page.get_by_role("link", name="Keep").click()
    page.get_by_role("link", name="Remove", exact=True).click()
    page.get_by_role("button", name="Remove").click()
    page.wait_for_url("**/collections")
    expect(page.get_by_role("link", name="Skerry")).to_have_count(0)


def test_citations_open_at_their_place(shelf: Live, visit: Visit) -> None:
    with shelf.client() as client:
        files = {"lamps.html": LAMPS.encode(), "log.pdf": pdf(prose(780), [*prose(780), *STORM])}
        sent = [("documents", (name, body, "text/plain")) for name, body in files.items()]
        client.post("/collections", data={"name": "Cited"}, files=sent)
        until(lambda: "data-working" not in client.get("/collections/cited").text, 30)
        oil = ask(client, "Until when was whale oil burned in the lamps of Skerry?", sources=["Cited"])
        storm = ask(client, "What put out the light for two nights?", sources=["Cited"])
        links = [finished(client, run)["answer"]["citations"][0]["link"] for run in (oil, storm)]
    page = visit(shelf, f"/r/{oil}")
    expect(page.locator(".source .facts").first).to_contain_text("lamps.html, “Oil”")
    page.locator(".answer .cite").first.click()
    expect(page.get_by_role("dialog").locator(".paper mark")).to_have_text(OIL)
    page.goto(f"{shelf.url}/r/{storm}")
    page.locator(".answer .cite").first.click()
    expect(page.get_by_role("dialog").locator(".sheet rect.words")).to_have_count(1)
    for link, words in zip(links, ("mark#words", "rect#words"), strict=True):
        page.goto(link)  # as somebody would who got the answer as Markdown
        expect(page.locator(words)).to_be_visible()
        assert page.locator(words).evaluate(
            "e => { const b = e.getBoundingClientRect(); return b.top >= 0 && b.bottom <= innerHeight }"
        )
    expect(page.locator(".pages")).to_contain_text("Page 2 of 2")


def test_more_documents_come_and_what_is_refused_is_told(shelf: Live, visit: Visit) -> None:
    page = visit(shelf, "/collections")
    chosen(page, "More", ("light.md", LIGHT), ("empty.txt", ""))
    expect(page.get_by_role("alert").first).to_contain_text("empty.txt: is empty")
    assert page.url.endswith("/collections/more")
    page.evaluate(DROP, {"name": "large.txt", "text": "x" * 200_001})
    expect(page.get_by_role("alert").first).to_contain_text("large.txt: is too large")
    page.evaluate(DROP, {"name": "ferry.txt", "text": "The ferry ran on Tuesdays."})
    expect(page.locator(".files li")).to_have_count(2)
    read(page)
    expect(page.get_by_role("alert").filter(has_text="too large")).to_have_count(0)


def test_a_name_that_is_taken_is_told_where_one_is(shelf: Live, visit: Visit) -> None:
    page = visit(shelf, "/collections", expected="status of 400")
    page.get_by_label("Name", exact=True).fill("Library")
    page.evaluate(DROP, {"name": "light.md", "text": LIGHT})
    expect(page.locator(".sending .problem")).to_contain_text("already")
    expect(page.get_by_role("button", name="Make it")).to_be_enabled()


def test_sending_can_be_cancelled(shelf: Live, visit: Visit) -> None:
    page = visit(shelf, "/collections")
    page.route("**/collections", lambda route: None if route.request.method == "POST" else route.continue_())  # never arrives
    page.get_by_label("Name", exact=True).fill("Cancelled")
    page.evaluate(DROP, {"name": "light.md", "text": LIGHT})
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".sending .problem")).to_have_text("Cancelled; nothing was added.")
    assert shelf.service.collections.get("cancelled") is None


def test_nothing_ticked_is_said_before_anything_is_asked(shelf: Live, visit: Visit) -> None:
    page = visit(shelf, "/")
    page.locator(".ticks summary").click()
    page.get_by_label("Library").uncheck()
    page.get_by_role("textbox").fill("Who?")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("Tick at least one source to search in.")


def test_without_javascript(shelf: Live, visit: Visit) -> None:
    page = visit(shelf, "/collections", java_script_enabled=False)
    chosen(page, "Plain", ("light.md", LIGHT))
    read(page)
    page.get_by_role("link", name="Ask it").click()
    page.get_by_role("textbox").fill("Who lit the lamp of Skerry?")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator(".answer")).to_contain_text("Ada Moffat", timeout=15_000)
    expect(page.locator("article > .question + .facts")).to_contain_text("Plain")
    page.goto(f"{shelf.url}/collections/plain")
    page.get_by_role("link", name="Remove light.md").click()
    page.get_by_role("button", name="Remove").click()
    expect(page.locator(".empty")).to_have_text("There is no document in it.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 360])
def test_accessible_and_nothing_sticks_out(shelf: Live, visit: Visit, scheme: str, width: int, tmp_path: Path) -> None:
    name = f"Minutes {scheme} {width} " + "x" * 30
    page = visit(shelf, "/collections", color_scheme=scheme, viewport={"width": width, "height": 780})
    chosen(page, name, ("light.md", LIGHT), ("a" * 150 + ".txt", LIGHT), ("broken.pdf", "%PDF-1.7 no more"))
    read(page)
    here = page.url.removeprefix(shelf.url)
    for path in (here, f"{here}/remove", "/collections", "/", "/search?q=lamp"):
        page.goto(shelf.url + path)
        if path == "/":
            if width < 500:
                page.get_by_text("Options").click()
            page.locator(".ticks summary").click()
        found = Axe().run(page)
        assert found.violations_count == 0, f"{path}: {found.generate_report()}"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
