"""The page as people use it: ask, watch, check, stop, go on, come back."""

from __future__ import annotations

import re
from collections.abc import Callable

import httpx2
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from tests.server.stage import Live

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]
QUESTION = "Which planet has the most moons, and who discovered its largest one?"


def ask(page: Page, question: str = QUESTION) -> None:
    page.get_by_role("textbox").fill(question)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/r/"))


def answered(page: Page) -> None:
    expect(page.locator("article.run").last).not_to_have_attribute("data-state", "running")


def test_ask_read_and_check(library: Live, visit: Visit) -> None:
    page = visit(library)
    ask(page)
    answered(page)
    expect(page.get_by_role("heading", level=2, name=QUESTION)).to_be_visible()
    expect(page.locator(".answer")).to_contain_text("Huygens discovered Titan")
    cite = page.get_by_role("button", name="Source 1")
    cite.click()
    viewer = page.get_by_role("dialog")
    expect(viewer).to_be_visible()
    expect(viewer.locator("mark")).to_have_text("As of 2023, Saturn had 146 confirmed moons, the most of any planet.")
    expect(viewer).to_contain_text("quoted word for word")
    expect(viewer.locator(".source-head")).to_contain_text("Saturn")
    page.keyboard.press("Escape")
    expect(viewer).to_be_hidden()
    expect(cite).to_be_focused()
    page.locator(".trail > summary").click()
    expect(page.locator(".step").first).to_contain_text("Searched")
    page.locator(".step details summary").first.click()
    expect(page.locator(".step ul").first).to_contain_text("Saturn")


def test_sources_stand_beside_the_answer_where_there_is_room(library: Live, visit: Visit) -> None:
    page = visit(library, viewport={"width": 1280, "height": 800})
    ask(page)
    answered(page)
    first, second = (page.get_by_role("button", name=f"Source {number}").first for number in (1, 2))
    first.hover()
    expect(page.locator("#peek")).to_contain_text("Saturn had 146 confirmed moons")
    first.click()
    viewer, answer = page.locator("#viewer"), page.locator(".answer")
    expect(viewer.locator("mark")).to_contain_text("146 confirmed moons")
    page.wait_for_timeout(300)  # it slides in
    panel, words = viewer.bounding_box(), answer.bounding_box()
    assert panel is not None
    assert words is not None
    assert words["x"] + words["width"] <= panel["x"]  # nothing of the answer is covered
    second.click()  # without closing the first
    expect(viewer.locator("#viewer-title")).to_have_text("Source 2")
    expect(second).to_have_attribute("aria-current", "true")
    page.keyboard.press("ArrowLeft")
    expect(viewer.locator("#viewer-title")).to_have_text("Source 1")
    page.keyboard.press("Escape")
    expect(viewer).to_be_hidden()


def test_on_a_phone_the_question_has_more_room_than_its_options(library: Live, visit: Visit) -> None:
    page = visit(library, viewport={"width": 390, "height": 800})
    expect(page.get_by_label("How thorough")).to_be_hidden()
    page.get_by_text("Options").click()
    expect(page.get_by_label("How thorough")).to_be_visible()
    page.get_by_label("How thorough").select_option("low")
    ask(page)
    answered(page)
    page.get_by_role("textbox").focus()
    further = page.locator(".follow-up")
    further.get_by_text("Options").click()
    for label in ("How", "How thorough", "Model"):
        box = further.get_by_label(label, exact=True).bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        assert box["y"] + box["height"] <= 800


def test_words_stream_in_and_unsupported_sentences_are_marked(slow: Live, visit: Visit) -> None:
    page = visit(slow)
    ask(page, "How many moons has Saturn?")
    draft = page.locator(".draft")
    expect(draft).to_contain_text("Saturn has 146")
    early = draft.inner_text()
    assert early.count("Titan") < 12
    expect(draft.locator("p .cite").first).to_have_text("1")  # as it will look in the end, while it is written
    expect(page.locator(".status-text")).to_have_text("Writing the answer")
    expect(page.locator("#announcer")).to_have_text("Writing the answer")
    answered(page)
    expect(page.locator(".mark").first).to_be_visible()
    expect(page.locator(".note-weak")).to_contain_text("14 of 14 sentences checked; 1 not carried by the cited sources")
    page.locator(".answer .mark").click()
    expect(page.locator("#viewer mark")).to_have_text(["likes cheese", "Saturn", "146 moons"])
    page.keyboard.press("Escape")
    page.locator(".doubts summary").click()
    expect(page.locator(".doubts li")).to_contain_text("It likes cheese.")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    expect(page.locator(".source-head a").first).to_have_attribute(
        "href", "https://planets.example/saturn#:~:text=Saturn%20has%20146%20moons."
    )
    expect(page.locator("#announcer")).to_contain_text("Answer: Saturn has 146 moons.")


def test_stop_really_stops(slow: Live, visit: Visit) -> None:
    page = visit(slow)
    ask(page, "How many moons has Saturn?")
    expect(page.locator(".draft")).to_contain_text("Saturn")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".note")).to_contain_text("You stopped this run.")
    assert not slow.service.runs.live
    assert slow.service.gate.running == 0


def test_a_reload_in_the_middle_loses_nothing(slow: Live, visit: Visit) -> None:
    page = visit(slow)
    ask(page, "How many moons has Saturn?")
    expect(page.locator(".draft")).to_contain_text("Saturn has")
    page.reload()
    expect(page.locator(".draft")).to_contain_text("Saturn has 146 moons.")
    expect(page.locator(".step").first).to_be_visible()
    answered(page)
    text = page.locator(".answer").inner_text()
    assert text.count("Titan is the largest of them.") == 12
    assert page.locator("article.run").count() == 1


def test_two_tabs_see_the_same(slow: Live, visit: Visit) -> None:
    first = visit(slow)
    ask(first, "How many moons has Saturn?")
    second = visit(slow, first.url.removeprefix(slow.url), context=first.context)
    for page in (first, second):
        answered(page)
    assert first.locator(".answer").inner_text() == second.locator(".answer").inner_text()


def test_a_follow_up_stands_below_its_question(library: Live, visit: Visit) -> None:
    page = visit(library)
    ask(page, "Who discovered Titan?")
    answered(page)
    ask_again = page.get_by_role("textbox", name="Ask a follow-up")
    ask_again.fill("What is the capital of Australia?")
    page.keyboard.press("Enter")
    expect(page.locator("article.run")).to_have_count(2)
    answered(page)
    expect(page.locator("article.run").last.locator(".answer")).to_contain_text("Canberra")
    expect(page.locator("article.run").first).to_contain_text("Who discovered Titan?")


def test_history_is_searched_opened_and_deleted(library: Live, visit: Visit) -> None:
    page = visit(library)
    ask(page, "Who discovered Titan?")
    answered(page)
    page.get_by_role("link", name="History").click()
    page.get_by_role("searchbox").fill("huygens titan")
    page.wait_for_url(re.compile("q=huygens"))
    links = page.locator(".runs h2 a")
    expect(links.first).to_have_text("Who discovered Titan?")
    page.get_by_role("searchbox").fill("nothing like this")
    expect(page.locator(".empty")).to_have_text("Nothing fits these words.")
    page.get_by_role("searchbox").fill("titan")
    page.on("dialog", lambda dialog: dialog.accept())
    expect(links.first).to_be_visible()
    count = links.count()
    page.get_by_role("button", name="Delete: Who discovered Titan?").first.click()
    page.wait_for_url(f"{library.url}/history")
    page.get_by_role("searchbox").fill("titan")
    page.wait_for_url(re.compile("q=titan"))
    expect(links).to_have_count(count - 1)


def test_a_shared_link_works_in_another_browser_and_without_scripts(library: Live, visit: Visit) -> None:
    page = visit(library)
    ask(page)
    answered(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    page.get_by_role("button", name="Copy as Markdown").click()
    expect(page.get_by_role("button", name="Copied")).to_have_count(2)
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("As of 2023, Saturn had 146 confirmed moons")
    assert "\nSources:\n\n- [1] Saturn (library:saturn): “As of 2023" in copied
    plain = visit(library, link.removeprefix(library.url), java_script_enabled=False)
    expect(plain.locator(".answer")).to_contain_text("Huygens")
    plain.get_by_role("button", name="Source 2").click()
    assert plain.url.endswith("#source-2")


def test_asking_works_without_scripts(library: Live, visit: Visit) -> None:
    page = visit(library, java_script_enabled=False)
    page.get_by_role("textbox").fill("Who discovered Titan?")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator(".answer:not(.draft)")).to_contain_text("Huygens")  # the page reloads itself until it is there


def test_keys(library: Live, visit: Visit) -> None:
    page = visit(library)
    ask(page)
    answered(page)
    page.keyboard.press("1")
    expect(page.get_by_role("dialog")).to_contain_text("Source 1")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("write a question")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.get_by_role("textbox")).to_be_focused()
    page.keyboard.type("a?1")
    expect(page.get_by_role("textbox")).to_have_value("a?1")
    page.keyboard.press("Shift+Enter")
    expect(page.get_by_role("textbox")).to_have_value("a?1\n")
    page.keyboard.press("Escape")
    page.keyboard.press("h")
    page.wait_for_url(f"{library.url}/history")
    page.keyboard.press("n")
    page.wait_for_url(f"{library.url}/")


def test_light_and_dark_are_kept(library: Live, visit: Visit) -> None:
    page = visit(library, color_scheme="dark")
    colour = "getComputedStyle(document.documentElement).backgroundColor"
    assert page.evaluate(colour) == "rgb(23, 22, 20)"
    page.get_by_role("button", name="Switch between light and dark").click()
    assert page.evaluate(colour) == "rgb(250, 248, 243)"
    page.reload()
    assert page.evaluate(colour) == "rgb(250, 248, 243)"


def test_what_the_server_refuses_is_told(library: Live, visit: Visit) -> None:
    page = visit(library, expected="status of 400")
    page.evaluate("document.querySelector('input[name=source]:checked').value = 'files:/etc'")
    page.get_by_role("textbox").fill("x")
    with page.expect_response("**/api/runs") as refused:
        page.evaluate("document.querySelector('form.ask').requestSubmit()")
    assert refused.value.status == 400
    expect(page.get_by_role("alert")).to_contain_text("not offered here")
    expect(page.get_by_role("button", name="Ask")).to_be_enabled()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible_and_nothing_sticks_out(library: Live, visit: Visit, scheme: str) -> None:
    with httpx2.Client(base_url=library.url, trust_env=False) as client:
        run = client.post("/api/runs", json={"question": QUESTION}).json()["id"]
    for width in (1200, 360):
        page = visit(library, f"/r/{run}", color_scheme=scheme, viewport={"width": width, "height": 780})
        answered(page)
        page.locator(".trail > summary").click()
        for path in (None, "/", "/search?q=moons+of+Saturn", "/history", "/docs"):
            if path is not None:
                page.goto(library.url + path)
            page.wait_for_timeout(600)  # steps fade in: their colours are whole then
            found = Axe().run(page)
            assert found.violations_count == 0, found.generate_report()
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
