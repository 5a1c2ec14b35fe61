"""From a citation to the words in the document: in the panel beside the answer, and in the viewer."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect
from tests.server.desk import furnish, serving
from tests.server.stage import Live, ask, finished

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]
OIL = "Whale oil was burned in the lamps of Skerry until 1860."
STORM = "The great storm of 1839 put out the light for two nights."


@pytest.fixture(scope="module")
def desk(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with serving(furnish(tmp_path_factory.mktemp("desk"))) as live:
        yield live


def answered(live: Live, question: str) -> str:
    with live.client() as client:
        run = ask(client, question)
        assert finished(client, run)["answer"]["citations"]
    return f"/r/{run}"


def seen(words: Locator) -> bool:
    """Whether it stands in the window, neither above nor below."""
    return words.evaluate(
        "e => { const b = e.getBoundingClientRect(); return b.top >= 0 && b.bottom <= innerHeight && b.width > 0 }"
    )


def test_a_citation_opens_its_document_with_the_words_marked(desk: Live, visit: Visit) -> None:
    page = visit(desk, answered(desk, "Until when was whale oil burned in the lamps of Skerry?"))
    page.locator(".answer .cite").first.click()
    panel = page.get_by_role("dialog")
    expect(panel.locator(".paper mark")).to_have_text(OIL)
    expect(panel.locator(".paper")).to_contain_text("A wick is trimmed each evening")  # more than its passage
    panel.get_by_role("link", name="Open the whole document").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("The Book of Lamps")
    words = page.locator("mark#words")
    expect(words).to_have_text(OIL)
    assert seen(words)
    assert words.evaluate("e => getComputedStyle(e).backgroundColor") not in ("rgba(0, 0, 0, 0)", "transparent")
    assert page.title() == "The Book of Lamps · wellread"  # no script of the document has run
    page.get_by_role("link", name="Wicks").click()
    expect(page.locator("section:target")).to_contain_text("A wick is trimmed")
    page.get_by_role("link", name="Back to the answer").click()
    expect(page.locator(".source:target")).to_contain_text("lamps.html")


def test_a_citation_of_a_pdf_opens_its_page_with_the_words_marked(desk: Live, visit: Visit) -> None:
    page = visit(desk, answered(desk, "What put out the light for two nights?"))
    page.locator(".answer .cite").first.click()
    panel = page.get_by_role("dialog")
    expect(panel.locator(".sheet rect.words")).to_have_count(1)
    panel.get_by_role("link", name="Open the whole document").click()
    expect(page.locator(".pages")).to_contain_text("Page 2 of 2")
    words = page.locator("rect#words")
    expect(words).to_be_visible()
    assert seen(words)
    image = page.locator(".sheet image").get_attribute("href")
    assert page.evaluate("async (path) => (await createImageBitmap(await (await fetch(path)).blob())).width", image) == 1400
    page.get_by_text("The text as it was read").click()
    expect(page.locator(".as-read mark")).to_have_text(STORM)
    page.get_by_role("link", name="Page before").click()
    expect(page.locator(".pages")).to_contain_text("Page 1 of 2")
    expect(page.locator("rect.words")).to_have_count(0)


def test_it_works_without_scripts_and_on_a_phone(desk: Live, visit: Visit) -> None:
    path = answered(desk, "How long do pages stay in the edge cache?")
    page = visit(desk, path, java_script_enabled=False, viewport={"width": 390, "height": 780})
    page.locator(".source-head a").first.click()
    words = page.locator("mark#words")
    expect(words).to_have_text("Pages stay in the edge cache for six hours.")
    box = words.bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 780
    assert box["x"] + box["width"] <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_viewer_is_accessible(desk: Live, visit: Visit, scheme: str) -> None:
    for question in ("Until when was whale oil burned in the lamps of Skerry?", "What put out the light for two nights?"):
        page = visit(desk, answered(desk, question) + "/source/1", color_scheme=scheme)
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
