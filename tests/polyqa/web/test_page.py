"""The page in a real browser: ask, look into the evidence, with the keyboard, on a phone, when things go wrong."""

import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dspy
import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import chromium
from hanging_engine import Hanging
from playwright.sync_api import Browser, Page, Request, expect
from web_server import Web, web_server

import polyqa.web
from polyqa.colbert_index import ColBERTIndex
from polyqa.engines.extractive import AsyncExtractiveEngine, ExtractiveEngine
from polyqa.web.guard import Guard
from polyqa.web.limits import WebLimits

QUESTION = "When did Solaris come out?"
STATIC = Path(polyqa.web.__file__).parent / "static"
LONG = 60_000
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Return what opens the page of a server; nothing may be said on the console, and nobody else be asked."""
    contexts, said, asked = [], [], []

    def opened(web: Web, hash: str = "", *, quiet: bool = True, **settings: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1100, "height": 800}, **settings})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(LONG)
        expect.set_options(timeout=LONG)
        if quiet:
            page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(_origin(request)))
        page.goto(f"{web.base}/{hash}")
        page.get_by_label("What do you want to know?").wait_for()
        return page

    yield opened
    for context in contexts:
        context.close()
    assert said == []
    assert set(asked) <= {"127.0.0.1", ""}


def _origin(request: Request) -> str:
    return urlsplit(request.url).hostname or ""


def ask(page: Page, question: str = QUESTION, program: str = "rac") -> None:
    page.get_by_label("Program").select_option(program)
    page.get_by_label("What do you want to know?").fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()


def answered(page: Page, program: str = "rac") -> Any:
    section = page.get_by_role("region", name=f"Answer of {program}")
    section.get_by_text(re.compile(r"^Answered: ")).wait_for()
    return section


def test_an_answer_with_its_steps_readings_and_evidence(web: Web, open_page: Open) -> None:
    page = open_page(web)
    ask(page, program="diva")
    section = answered(page, "diva")
    section.get_by_text("6 steps").click()
    for step in ("Kind of ambiguity", "Passages found", "What could be meant", "Which readings are answered"):
        expect(section.get_by_text(step, exact=True)).to_be_visible()
    expect(section.locator("p.text")).to_contain_text("20 March 1972")
    cards = section.locator("li.card")
    expect(cards.filter(has_text="29 November 2002").locator("mark")).to_have_text("29 November 2002")
    expect(cards.first).to_contain_text(re.compile(r"likely right: \d+%"))
    cite = section.locator("p.text .cite").first
    number = (cite.text_content() or "").strip("[]")
    cite.click()
    passage = section.locator("article.passage").filter(has_text=f"[{number}]")
    expect(passage).to_be_focused()
    assert passage.locator("mark").count() > 0
    passage.get_by_role("button", name="Back to the answer").click()
    expect(cite).to_be_focused()
    section.get_by_text("not cited").click()
    expect(section.get_by_role("heading", name="Honey bee")).to_be_visible()


def test_prompts_tokens_and_time_of_each_call(web: Web, open_page: Open) -> None:
    page = open_page(web)
    ask(page)
    section = answered(page)
    section.get_by_role("tab", name="Prompts and replies").click()
    section.get_by_text("1. clarify").click()
    expect(section.get_by_text("Find every reading of the question")).to_be_visible()
    section.get_by_role("tab", name="Tokens and time").click()
    table = section.get_by_role("table")
    expect(table.get_by_role("row")).to_have_count(3)
    expect(table).to_contain_text("together")
    assert section.locator(".bar").first.bounding_box()["width"] > 20  # type: ignore[index]


def test_the_tree_folds(web: Web, open_page: Open) -> None:
    page = open_page(web)
    ask(page, program="toc")
    section = answered(page, "toc")
    tree = section.locator(".tree")
    leaf = tree.get_by_text("29 November 2002")
    expect(leaf).to_be_visible()
    tree.locator("summary").first.focus()
    page.keyboard.press("Enter")
    expect(leaf).to_be_hidden()
    page.keyboard.press("Enter")
    expect(leaf).to_be_visible()


def test_two_programs_beside_each_other(web: Web, open_page: Open) -> None:
    page = open_page(web)
    page.get_by_label("Beside it").select_option("diva")
    ask(page)
    left, right = answered(page).bounding_box(), answered(page, "diva").bounding_box()
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]


def test_with_the_keyboard_alone(web: Web, open_page: Open) -> None:
    page = open_page(web)
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    section = answered(page)
    section.get_by_role("tab", name="Answer").focus()
    page.keyboard.press("ArrowRight")
    expect(section.get_by_role("tab", name="Prompts and replies")).to_be_focused()
    expect(section.get_by_role("tabpanel")).to_contain_text("1. clarify")
    page.keyboard.press("End")
    expect(section.get_by_role("tab", name="Tokens and time")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(section.locator("p.text .cite").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(section.locator("article.passage:focus")).to_have_count(1)


@pytest.mark.parametrize("width", [1100, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_keeps_anybody_out(web: Web, open_page: Open, scheme: str, width: int) -> None:
    page = open_page(web, color_scheme=scheme, viewport={"width": width, "height": 740})
    assert _faults(page) == []
    page.get_by_label("Beside it").select_option("toc")
    ask(page, program="diva")
    for program in ("diva", "toc"):
        answered(page, program).get_by_text(re.compile(r"^\d+ steps$")).click()
    assert _faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for tab in ("Prompts and replies", "Tokens and time"):
        answered(page, "diva").get_by_role("tab", name=tab).click()
        assert _faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def _faults(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]


def test_light_and_dark_are_remembered(web: Web, open_page: Open) -> None:
    page = open_page(web)
    light = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    page.get_by_role("button", name="Dark").click()
    page.reload()
    expect(page.get_by_role("button", name="Light")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") != light


def test_what_was_asked_is_kept_here_until_it_is_forgotten(web: Web, open_page: Open) -> None:
    page = open_page(web)
    ask(page)
    answered(page)
    page.reload()
    page.get_by_text("Asked before").click()
    page.get_by_role("button", name=QUESTION).click()
    answered(page)
    page.get_by_role("button", name="Forget all").click()
    expect(page.get_by_text("Asked before")).to_be_hidden()


def test_a_link_fills_the_form_and_asks_nothing(web: Web, open_page: Open) -> None:
    page = open_page(web, permissions=["clipboard-read", "clipboard-write"])
    page.get_by_label("Program").select_option("toc")
    page.get_by_label("What do you want to know?").fill('Is "a&b" <i>?')
    page.get_by_role("button", name="Copy link").click()
    page.get_by_text("The link is copied").wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == page.url
    other = open_page(web, f"#{urlsplit(link).fragment}")
    expect(other.get_by_label("What do you want to know?")).to_have_value('Is "a&b" <i>?')
    expect(other.get_by_label("Program")).to_have_value("toc")
    expect(other.get_by_role("region")).to_have_count(0)


def test_markup_of_passages_is_text(web: Web, open_page: Open) -> None:
    page = open_page(web)
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    ask(page, "When did Mallory write <i>this</i>?")
    section = answered(page)
    expect(section.get_by_role("heading", name="<script>alert(1)</script>")).to_be_visible()
    expect(section.locator("article p").first).to_contain_text("<img src=x onerror=alert(2)>")
    assert section.locator("img, i, script, a").count() == 0


def test_a_question_that_is_none_is_told(web: Web, open_page: Open) -> None:
    page = open_page(web, quiet=False)
    ask(page, "   ")
    field = page.get_by_label("What do you want to know?")
    assert field.evaluate("field => field.validationMessage") == "Write a question first."
    expect(page.get_by_role("region")).to_have_count(0)
    field.evaluate("field => field.removeAttribute('maxlength')")
    ask(page, "x" * 2_001)
    expect(page.get_by_role("alert")).to_contain_text("at most 2,000")


def test_a_server_that_has_gone_is_told_and_asked_again(films: ColBERTIndex, open_page: Open) -> None:
    with web_server([films], programs=["rac"]) as web:
        page = open_page(web, quiet=False)
        ask(page)
        answered(page)
    ask(page)
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Is polyqa serve still running?")
    expect(page.get_by_role("button", name="Try again")).to_be_enabled()


def test_a_busy_server_says_when_to_come_again(films: ColBERTIndex, open_page: Open) -> None:
    engine = Hanging(ExtractiveEngine(), after=0)
    background = AsyncExtractiveEngine(engine)
    lm = dspy.LM("polyqa/extractive", engine=engine, async_engine=background, cache=False)
    with web_server([films], programs=["rac"], lm=lm, limits=WebLimits(at_once=1, queue=1)) as web:
        pages = [open_page(web, quiet=False) for _ in range(3)]
        for page, shown in zip(pages, ("is reading", "Place 1 in the queue", "Try again in"), strict=True):
            ask(page)
            page.get_by_text(re.compile(shown)).wait_for()
        pages[1].get_by_role("button", name="Stop").click()
        expect(pages[1].get_by_text("Stopped.")).to_be_visible()
        threading.Timer(0.1, engine.released.set).start()
        answered(pages[0])
        again = pages[2].get_by_role("button", name="Try again", exact=True)
        again.wait_for()
        again.click()
        answered(pages[2])


def test_a_token_is_asked_for_once(films: ColBERTIndex, open_page: Open, browser: Browser) -> None:
    guard = Guard(token="correct-horse-battery")
    with web_server([films], programs=["rac"], guard=guard) as web:
        context = browser.new_context()
        page = context.new_page()
        page.set_default_timeout(LONG)
        page.goto(web.base)
        for given in ("wrong-horse-battery", "correct-horse-battery"):
            page.get_by_label("Token", exact=True).fill(given)
            page.get_by_role("button", name="Go on").click()
        page.get_by_label("What do you want to know?").wait_for()
        ask(page)
        answered(page)
        assert page.evaluate("JSON.stringify(localStorage)").count("battery") == 0
        context.close()


def test_the_page_is_small_and_soon_there(web: Web, open_page: Open) -> None:
    assert sum(path.stat().st_size for path in STATIC.iterdir()) < 150_000
    page = open_page(web)
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert paint < 10_000  # a busy machine; on a quiet one it is a tenth of a second


@pytest.mark.parametrize("path", sorted(STATIC.iterdir()), ids=lambda path: path.name)
def test_no_file_brings_inline_scripts_styles_or_other_hosts(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"innerHTML|insertAdjacentHTML|document\.write|eval\(|style=|onclick=\"|<style", text) == []
    assert set(re.findall(r"https?://[\w.]+", text)) <= {"http://www.w3.org"}
