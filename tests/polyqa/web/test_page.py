"""The page in a real browser: ask, look into the evidence, with the keyboard, on a phone, when things go wrong."""

import re
import shutil
import sys
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
from playwright.sync_api import Browser, Locator, Page, Route, expect
from scripted_engine import scripted_lm
from web_server import Web, web_server

import polyqa.web
from polyqa.colbert_index import ColBERTIndex, build_index
from polyqa.extractive import MODEL_NAME, ExtractiveEngine
from polyqa.web.guard import Guard
from polyqa.web.limits import WebLimits

pytestmark = pytest.mark.slow

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

    def opened(web: Web, hash: str = "", *, refused: bool = False, **settings: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1100, "height": 800}, **settings})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(LONG)
        expect.set_options(timeout=LONG)
        # Chromium itself writes a line for an answer with an error status; what the page does wrong is never let pass.
        harmless = re.compile("^Failed to load resource: ") if refused else re.compile("(?!)")
        page.on("console", lambda one: None if harmless.match(one.text) else said.append(one.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(urlsplit(request.url)[:2]))
        page.goto(f"{web.base}/{hash}")
        origins.add(urlsplit(web.base)[:2])
        return page

    origins: set[tuple[str, str]] = set()
    yield opened
    for context in contexts:
        context.close()
    assert said == []
    assert set(asked) <= origins


def field(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Your question")


def options(page: Page) -> None:
    """Unfold the form, and its options."""
    if page.get_by_role("button", name="Edit").is_visible():
        page.get_by_role("button", name="Edit").click()
    page.locator("#program option").first.wait_for(state="attached")
    page.locator("#options").evaluate("one => { one.open = true }")


def ask(page: Page, question: str = QUESTION, program: str = "rac", beside: str = "") -> None:
    options(page)
    page.get_by_label("Program", exact=True).select_option(program)
    page.get_by_label("Compare with").select_option(beside)
    field(page).fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()


def panel(page: Page, program: str = "rac") -> Locator:
    return page.get_by_role("article", name=program, exact=True)


def answered(page: Page, program: str = "rac") -> Locator:
    panel(page, program).locator(".how").wait_for()
    return panel(page, program)


def answer(page: Page, question: str = QUESTION, program: str = "rac", beside: str = "") -> Locator:
    """Ask, and wait for the answer."""
    ask(page, question, program, beside)
    return answered(page, program)


def found(section: Locator) -> Locator:
    """Unfold how an answer was found, and all that is folded in it."""
    section.locator(".how").evaluate(
        "one => { for (const all of [one, ...one.querySelectorAll('details')]) all.open = true }"
    )
    return section.locator(".how")


def test_an_answer_with_its_steps_readings_and_evidence(web: Web, open_page: Open) -> None:
    page = open_page(web)
    section = answer(page, program="diva")
    expect(section.locator(".lead")).to_have_text("This can mean three things.")
    cards = section.locator(".reading")
    expect(cards.locator(".reading-title")).to_contain_text(["1972 film", "2002 film"])
    film = cards.filter(has_text="29 November 2002")
    expect(film.locator("blockquote mark")).to_have_text("29 November 2002")
    expect(film.locator(".reading-source")).to_have_text("films.pdf, p. 2")
    expect(film.locator(".sure")).to_contain_text("ight about")
    expect(section.locator(".answer-text")).to_contain_text("20 March 1972")
    order = [".lead", ".readings", ".whole", ".evidence", ".how"]
    tops = [section.locator(one).bounding_box()["y"] for one in order]  # type: ignore[index]
    assert tops == sorted(tops)
    how = found(section)
    expect(how).to_contain_text("The passages answer every reading")
    for step in ("Kind of ambiguity", "Passages found", "What could be meant", "Which readings are answered"):
        expect(how.get_by_text(step, exact=True)).to_be_visible()
    expect(how.locator(".step-verdicts")).to_contain_text("The passages answer readings 1, 2")
    stages = how.locator(".why-stage h5")
    expect(stages).to_have_text(["Question", "5 candidates", "5 passages kept", "3 readings", "Dropped, and why"])
    expect(how.locator(".why-stage").last).to_contain_text("no reading rests on")


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_the_answer_is_on_the_first_screen(web: Web, open_page: Open, width: int, height: int) -> None:
    page = open_page(web, viewport={"width": width, "height": height})
    chosen = page.locator("#question").evaluate(
        "one => [one.scrollWidth <= one.clientWidth, one.scrollHeight <= one.clientHeight + 1]"
    )
    assert chosen == [True, True]  # the placeholder is not cut
    section = answer(page)
    expect(page.locator("#ask")).to_be_hidden()
    assert page.evaluate("scrollY") == 0
    card = section.locator(".reading").first.bounding_box()
    assert card is not None
    assert card["y"] + card["height"] < height * 2 / 3
    assert page.evaluate("document.documentElement.scrollHeight") < 2.5 * height
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("button", name="Edit").click()
    expect(field(page)).to_be_focused()
    expect(field(page)).to_have_value(QUESTION)


def test_colours_and_words_follow_how_sure_it_is(web: Web, open_page: Open) -> None:
    page = open_page(web)

    def asked(*confidence: float) -> Locator:
        def weighed(route: Route) -> None:
            answer = route.fetch()
            body = re.sub(r'"confidence": \[[\d., ]+\]', f'"confidence": {list(confidence)}', answer.text())
            route.fulfill(response=answer, body=body)

        page.route("**/ask", weighed)
        section = answer(page)
        page.unroute("**/ask")
        return section

    section = asked(0.9, 0.5)
    expect(section.locator(".lead")).to_have_class("lead good")
    expect(section.locator(".doubtful, .doubt")).to_have_count(0)
    section = asked(0.9, 0.49)
    expect(section.locator(".lead")).to_have_class("lead doubt")
    expect(section.locator(".reading.doubtful")).to_have_count(1)
    expect(section.locator(".reading.doubtful .sure")).to_contain_text("Not sure: ")
    section.get_by_role("button", name="What does this mean?").first.click()
    help = page.get_by_role("dialog", name="90%: how likely this reading is right")
    expect(help.get_by_role("row")).to_have_count(6)
    assert _faults(page) == []
    page.keyboard.press("Escape")
    expect(help).to_be_hidden()


def test_one_reading_is_shown_alone_without_a_call(web: Web, open_page: Open) -> None:
    page = open_page(web)
    section = answer(page)
    before = web.service.gate.answered
    chips = section.locator(".chips")
    chip = chips.get_by_role("button", name="2002 film")
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")
    expect(section.locator(".reading:visible .reading-answer")).to_have_text("29 November 2002")
    expect(section.locator(".source:visible .source-title")).to_have_text("Solaris (2002 film)")
    chips.get_by_role("button", name="All", exact=True).click()
    expect(section.locator(".reading:visible")).to_have_count(3)
    chips.get_by_role("button", name="All sources").click()
    expect(section.locator(".source-title", has_text="Honey bee")).to_be_visible()
    assert web.service.gate.answered == before
    chip.click()
    chips.get_by_role("button", name="All sources").click()
    expect(section.locator(".reading:visible")).to_have_count(3)
    expect(section.locator(".source-title", has_text="Honey bee")).to_be_visible()
    chip.click()
    section.get_by_role("button", name=re.compile("^Ask “When did the 2002 film")).click()
    expect(answered(page).locator(".reading").first).to_contain_text("29 November 2002")
    assert web.service.gate.answered == before + 1


STEPS: list[tuple[str, dict[str, Any], str, list[str]]] = [
    ("typing", {"reason": "[AmbTime] No", "ambiguity_types": ["AmbTime"]}, "which time is meant. No", []),
    ("typing", {"reason": "It is plain.", "ambiguity_types": ["N/A"]}, "One reading only. It is plain.", []),
    ("typing", {"settled": "No"}, "Settled: No", []),
    ("passages", {"query": "a", "passages": [{"pid": "7", "title": ""}], "found": 1}, "1 passage", []),
    ("passages", {"query": "a · b", "passages": [], "found": 200}, "2 possible questions", []),
    ("readings", {"pseudo_interpretations": ["A?", "B?"]}, "2 readings:", ["A?", "B?"]),
    ("readings", {"interpretations": [{"question": "A?", "answer": "7", "pid": "1"}]}, "1 reading:", ["A? — 7"]),
    ("readings", {"interpretation": "A?", "short_answer": "7"}, "A? — 7", []),
    ("readings", {"interpretation": "null", "short_answer": "null"}, "It answers no reading.", []),
    ("verdicts", {"answered": [1, 3]}, "The passages answer readings 1, 3.", []),
    ("verdicts", {"answered": []}, "The passages answer none of the readings.", []),
    ("verdicts", {"fitting": "yes"}, "Yes.", []),
    ("answer", {"answer": "In  1912."}, "2 words.", []),
    ("other", {"new_field": {"a": True, "b": None}}, "New field: yes, none", []),
    ("other", {}, "Done.", []),
]


def test_steps_are_told_in_words(web: Web, open_page: Open) -> None:
    page, words_of = open_page(web), "async (step) => (await import('/static/words.js')).wordsOf(step)"
    for kind, data, told, lines in STEPS:
        step = {"kind": kind, "name": "one", "data": data}
        found = page.evaluate(words_of, step)
        assert told in found["told"]
        assert found["lines"] == lines
        assert page.evaluate(words_of, step | {"failed": "No."}) == {"told": "No.", "lines": []}


def test_a_mark_leads_to_its_passage_and_back(web: Web, open_page: Open) -> None:
    page = open_page(web)
    section = answer(page)
    mark = section.locator(".answer-text button").first
    number = (mark.text_content() or "").strip("[]")
    mark.click()
    passage = section.locator(f'[data-number="{number}"]')
    expect(passage).to_be_focused()
    expect(passage).to_be_in_viewport()
    assert passage.locator("mark").count() > 0
    passage.locator(".source-foot button").first.click()
    expect(section.locator(".reading:focus")).to_have_count(1)
    passage.get_by_role("button", name="Back to where you were").click()
    expect(mark).to_be_focused()
    section.get_by_text(re.compile("other passages? that")).click()
    expect(section.locator(".source-title", has_text="Honey bee")).to_be_visible()


def test_steps_appear_while_it_runs_and_stop_ends_it(films: ColBERTIndex, open_page: Open) -> None:
    engine, lm = _hanging()
    with web_server([films], programs=["rac"], lm=lm) as web:
        page = open_page(web)
        ask(page)
        expect(panel(page).locator(".step-title").first).to_have_text("Passages found")
        expect(panel(page)).to_have_attribute("aria-busy", "true")
        expect(page.locator("#live")).to_contain_text("rac: ")
        page.get_by_role("button", name="Stop").click()
        expect(panel(page)).to_contain_text("Stopped. Press Edit to ask again.")
        expect(page.get_by_role("button", name="Stop")).to_be_hidden()
        expect(page.get_by_role("heading", name=QUESTION)).to_be_focused()
        engine.released.set()
        page.get_by_role("button", name="Edit").click()
        page.get_by_role("button", name="Ask", exact=True).click()
        answered(page)


def test_an_earlier_question_is_asked_while_another_runs(films: ColBERTIndex, open_page: Open) -> None:
    engine, lm = _hanging()
    with web_server([films], programs=["rac", "diva"], lm=lm) as web:
        page = open_page(web)
        ask(page, "Who directed Solaris?", beside="diva")
        expect(panel(page)).to_have_attribute("aria-busy", "true")
        page.get_by_role("button", name="Stop").click()
        ask(page)
        expect(panel(page)).to_have_attribute("aria-busy", "true")
        engine.released.set()
        page.get_by_text("Asked before").click()
        page.get_by_role("button", name="Ask again: Who directed Solaris?").click()
        expect(page.get_by_role("heading", name="Who directed Solaris?")).to_be_visible()
        answered(page)
        answered(page, "diva")
        page.get_by_role("button", name=f"Ask again: {QUESTION}").click()
        answered(page)
        expect(panel(page, "diva")).to_have_count(0)  # it was asked of one program


OWN = """
import dspy

class Planting(dspy.Module):
    def forward(self, question):
        return dspy.Prediction(answer="An oak.", tree="oak")

def planting(index):
    return Planting()
"""


def test_the_tree_of_a_users_own_program_may_be_any_other(
    films: ColBERTIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_page: Open
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "planted.py").write_text(OWN)
    with web_server([films], programs=["planted:planting"]) as web:
        section = answer(open_page(web), "Which tree?", "planting")
        expect(section.locator(".answer-text")).to_have_text("An oak.")


def test_a_compiled_program_asks_its_own_index(films: ColBERTIndex, tmp_path: Path, open_page: Open) -> None:
    shipped = shutil.copytree(films.path, tmp_path / "homonyms")
    with web_server([films, shipped], programs=["rac", "rac-homonyms-local"]) as web:
        page = open_page(web)
        options(page)
        index = page.get_by_label("Index", exact=True)
        expect(index).to_have_value("films")
        page.get_by_label("Program", exact=True).select_option("rac-homonyms-local")
        expect(index).to_have_value("homonyms")
        linked = open_page(web, "#/ask?q=Why&program=rac-homonyms-local")
        options(linked)
        expect(linked.get_by_label("Index", exact=True)).to_have_value("homonyms")
        named = open_page(web, "#/ask?q=Why&program=rac-homonyms-local&index=films")
        options(named)
        expect(named.get_by_label("Index", exact=True)).to_have_value("films")


def test_examples_come_from_the_chosen_index(films: ColBERTIndex, tmp_path: Path, open_page: Open) -> None:
    shipped = shutil.copytree(films.path, tmp_path / "homonyms")
    with web_server([films, shipped], programs=["rac"]) as web:
        page = open_page(web)
        page.get_by_role("button", name="Solaris", exact=True).click()  # a name that three passages share
        expect(field(page)).to_be_focused()
        page.keyboard.type("Who directed ")
        expect(field(page)).to_have_value("Who directed Solaris?")
        options(page)
        page.get_by_label("Index", exact=True).select_option("homonyms")
        assert _faults(page) == []
        page.get_by_role("button", name="Who directed Titanic?").click()
        answered(page)
        expect(panel(page)).to_contain_text("on homonyms")
        expect(page.get_by_role("heading", name="Who directed Titanic?")).to_be_visible()
        expect(page.locator("#examples")).to_be_hidden()


def test_a_condition_is_offered_where_there_are_columns(films: ColBERTIndex, tmp_path: Path, open_page: Open) -> None:
    passages = [film.model_copy(update={"metadata": {"year": film.pid[-4:]}}) for film in films.passages]
    dated = build_index(passages, tmp_path / "dated", progress=False)
    bare = build_index([film.model_copy(update={"metadata": {}}) for film in passages], tmp_path / "a", progress=False)
    with web_server([bare, dated], programs=["rac"]) as web:
        page = open_page(web, refused=True)
        options(page)
        where = page.get_by_label("Only passages where")
        expect(where).to_be_hidden()
        page.get_by_label("Index", exact=True).select_option("dated")
        expect(page.get_by_text("Columns of dated: year.")).to_be_visible()
        assert _faults(page) == []
        where.fill("yaer = '1972'")
        ask(page)
        expect(panel(page)).to_contain_text("there are pid, title, year")
        options(page)
        where.fill("year = '1972'")
        section = answer(page)
        expect(section).to_contain_text("on dated where year = '1972'")
        expect(section.locator(".answer-text")).to_contain_text("20 March 1972")
        expect(section.locator(".answer-text")).not_to_contain_text("2002")
        other = open_page(web, f"#{urlsplit(page.url).fragment}")
        expect(other.get_by_label("Only passages where")).to_have_value("year = '1972'")


def test_prompts_tokens_and_time_of_each_call(web: Web, open_page: Open) -> None:
    page = open_page(web)
    how = found(answer(page))
    expect(how.get_by_text("Find every reading of the question")).to_be_visible()
    table = how.get_by_role("table")
    expect(table.get_by_role("row")).to_have_count(3)
    numbers = [table.locator("tr").nth(at).locator(".number").all_text_contents() for at in (1, 2)]
    assert numbers[0] == numbers[1]  # one call: the sums are its own
    assert len(numbers[0]) == 3
    expect(table.get_by_role("caption")).not_to_contain_text("same time")  # one call runs beside no other


@pytest.mark.parametrize("how", ["mouse", "Enter", "arrows"])
def test_the_tree_folds(web: Web, open_page: Open, how: str) -> None:
    page = open_page(web)
    tree = found(answer(page, program="toc")).locator(".tree")
    leaf = tree.get_by_text("29 November 2002")
    root = tree.get_by_role("button", name=QUESTION).first
    for key, shown in (("ArrowLeft", False), ("ArrowRight", True)):
        if how == "mouse":
            root.click()
        else:
            root.press("Enter" if how == "Enter" else key)
        expect(root).to_have_attribute("aria-expanded", str(shown).lower())
        expect(leaf).to_be_visible(visible=shown)
    root.press("ArrowDown")
    expect(tree.locator("ul .tree-node").first).to_be_focused()


def test_two_programs_side_by_side(web: Web, open_page: Open) -> None:
    page = open_page(web)
    answer(page, program="rac", beside="diva")
    answered(page, "diva")
    compared = page.get_by_role("region", name="Side by side")
    expect(compared).to_contain_text("Both give: ")
    # Measured at one moment: what comes above both moves both.
    boxes = page.locator("article.panel").evaluate_all("all => all.map((one) => one.getBoundingClientRect().toJSON())")
    left, right = boxes
    assert left["top"] == right["top"]
    assert left["right"] <= right["left"]
    expect(compared.get_by_role("row", name=re.compile("^Calls 1 4$"))).to_be_visible()


def test_with_the_keyboard_alone(web: Web, open_page: Open) -> None:
    page = open_page(web)
    page.get_by_label("Program", exact=True).locator("option").first.wait_for(state="attached")
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    section = answered(page)
    expect(page.locator("#live")).to_have_text(re.compile(r"^rac has answered: \d readings, \d sources\.$"))
    expect(page.get_by_role("heading", name=QUESTION)).to_be_focused()
    for name in ("Edit", "Copy link", "All"):
        page.keyboard.press("Tab")
        expect(page.get_by_role("button", name=name, exact=True)).to_be_focused()
    section.locator(".answer-text button").first.press("Enter")
    expect(section.locator(".source:focus")).to_have_count(1)
    expect(section.locator(".source:focus .source-text")).to_be_visible()
    section.locator(".how > summary").press("Enter")
    expect(section.locator(".why")).to_be_visible()
    page.reload()
    page.get_by_label("Program", exact=True).locator("option").first.wait_for(state="attached")
    skip = page.get_by_role("link", name="Skip to the content")
    skip.focus()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1100), ("dark", 360)])
def test_nothing_keeps_anybody_out(web: Web, open_page: Open, scheme: str, width: int) -> None:
    page = open_page(web, color_scheme=scheme, viewport={"width": width, "height": 740}, reduced_motion="reduce")
    options(page)
    assert _faults(page) == []
    ask(page, program="diva", beside="toc")
    for program in ("diva", "toc"):
        answered(page, program)
    page.get_by_role("heading", name="Side by side").wait_for()
    page.get_by_text("Asked before").click()
    assert _faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for program in ("diva", "toc"):
        found(answered(page, program))
    assert _faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def _faults(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]


def test_the_colours_are_the_systems_until_chosen_and_then_remembered(web: Web, open_page: Open) -> None:
    page = open_page(web, color_scheme="dark")
    colour = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(colour)
    switch = page.get_by_role("switch", name="Dark")
    expect(switch).to_be_checked()
    switch.click()
    light = page.evaluate(colour)
    assert light != dark
    page.reload()
    expect(page.get_by_role("switch", name="Dark")).not_to_be_checked()
    assert page.evaluate(colour) == light


def test_what_was_asked_is_kept_here_until_it_is_cleared(web: Web, open_page: Open) -> None:
    page = open_page(web)
    answer(page, program="diva")
    answer(page, "Who directed Solaris?")
    page.goto(f"{web.base}/")
    page.reload()
    page.get_by_text("Asked before").click()
    page.get_by_role("button", name=f"Ask again: {QUESTION}").click()
    answered(page, "diva")
    page.get_by_role("button", name="Ask again: Who directed Solaris?").click()
    answered(page)
    page.get_by_role("button", name="Edit").click()
    assert field(page).evaluate("one => one.clientHeight >= one.scrollHeight")  # the form was away when it was filled
    page.get_by_role("button", name="Forget: Who directed Solaris?").click()
    expect(page.get_by_role("button", name=re.compile("^Ask again"))).to_have_count(1)
    page.get_by_role("button", name="Clear", exact=True).click()
    page.get_by_role("button", name="Really clear all?").click()
    expect(page.get_by_text("Asked before")).to_be_hidden()
    assert page.evaluate("localStorage.getItem('polyqa.history')") == "[]"


def test_a_link_fills_the_form_and_asks_nothing(web: Web, open_page: Open) -> None:
    page = open_page(web, permissions=["clipboard-read", "clipboard-write"])
    question = 'Is "a&b" <i>?'
    ask(page, question, program="toc", beside="rac")
    page.get_by_role("button", name="Copy link").click()
    page.get_by_text("Copied", exact=True).wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == page.url
    for program in ("rac", "toc"):
        answered(page, program)
    gate = web.service.gate
    before = gate.answered
    other = open_page(web, f"#{urlsplit(link).fragment}")
    expect(field(other)).to_have_value(question)
    expect(other.get_by_label("Program", exact=True)).to_have_value("toc")
    expect(other.get_by_label("Compare with")).to_have_value("rac")
    expect(other.get_by_text("This question came with a link.")).to_be_visible()
    expect(other.get_by_role("article")).to_have_count(0)
    assert (gate.answered, gate.running, gate.waiting) == (before, 0, 0)
    unknown = open_page(web, "#/ask?q=Why&program=nobody")
    expect(unknown.get_by_text("This server has no nobody")).to_be_visible()
    expect(unknown.get_by_label("Program", exact=True)).to_have_value("rac")


def test_a_link_written_by_hand_may_hold_question_marks(web: Web, open_page: Open) -> None:
    page = open_page(web, "#/ask?q=Who? When?&program=diva")
    expect(page.get_by_label("Program", exact=True)).to_have_value("diva")
    expect(field(page)).to_have_value("Who? When?")


def test_markup_of_passages_is_text(web: Web, open_page: Open) -> None:
    page = open_page(web)
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    section = answer(page, "When did Mallory write <i>this</i>?")
    source = section.locator(".source").filter(has_text="Mallory")
    expect(source.locator(".source-title")).to_have_text("<script>alert(1)</script>")
    expect(source).to_contain_text("<img src=x onerror=alert(2)>")
    found(section)
    assert page.locator("#outcome").locator("img, i, script, a, iframe").count() == 0


@pytest.mark.parametrize(
    ("question", "told"), [("   ", "Write a question first."), ("x" * 2_001, "at most 2,000 are taken")]
)
def test_a_question_that_is_none_is_told(web: Web, open_page: Open, question: str, told: str) -> None:
    page = open_page(web, refused=True)
    ask(page, question)
    expect(page.get_by_role("alert").filter(has_text=told)).to_be_visible()
    expect(page.locator(".answer")).to_have_count(0)
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)  # it would change nothing
    expect(page.get_by_text("Asked before")).to_be_hidden()


def test_a_server_that_has_gone_is_told_and_asked_again(films: ColBERTIndex, open_page: Open) -> None:
    with web_server([films], programs=["rac"]) as web:
        page = open_page(web, refused=True)
        answer(page)
    ask(page)
    alert = panel(page).get_by_role("alert")
    expect(alert).to_contain_text("does not answer. Start it with “polyqa serve”")
    assert _faults(page) == []
    alert.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="rac")).to_be_focused()
    expect(alert).to_contain_text("does not answer")


def test_a_busy_server_is_asked_again_by_itself(films: ColBERTIndex, open_page: Open) -> None:
    engine, lm = _hanging()
    with web_server([films], programs=["rac"], lm=lm, limits=WebLimits(at_once=1, queue=1)) as web:
        pages = [open_page(web, refused=True) for _ in range(3)]
        ask(pages[0])
        pages[0].locator(".step").first.wait_for()
        ask(pages[1])
        pages[1].get_by_text("Waiting: you are next").wait_for()
        ask(pages[2])
        expect(pages[2].get_by_role("alert").filter(has_text="try again in")).to_be_visible()
        expect(pages[2].get_by_text(re.compile(r"^Asking again in \d+ s$"))).to_be_visible()
        pages[1].get_by_role("button", name="Stop").click()
        expect(panel(pages[1])).to_contain_text("Stopped.")
        threading.Timer(0.1, engine.released.set).start()
        answered(pages[0])
        answered(pages[2])


def _hanging() -> tuple[Hanging, dspy.LM]:
    engine = Hanging(ExtractiveEngine(), after=0)
    return engine, scripted_lm(engine, MODEL_NAME)


def test_a_token_is_asked_for_once(films: ColBERTIndex, open_page: Open) -> None:
    with web_server([films], programs=["rac"], guard=Guard(token="correct-horse-battery")) as web:
        page = open_page(web, refused=True)
        dialog = page.get_by_role("dialog", name="This server wants a token")
        for given in ("wrong-horse-battery", "correct-horse-battery"):
            dialog.get_by_label("Token", exact=True).fill(given)
            dialog.get_by_role("button", name="Use it").click()
            if given.startswith("wrong"):
                dialog.get_by_text("did not take that token").wait_for()
                assert _faults(page) == []
        expect(dialog).to_be_hidden()
        answer(page)
        assert "battery" not in page.evaluate("JSON.stringify(localStorage) + location.href")
        page.reload()
        answer(page)


def test_on_paper_everything_is_unfolded_and_the_form_is_away(web: Web, open_page: Open) -> None:
    page = open_page(web)
    section = answer(page)
    bees = section.locator(".source-title", has_text="Honey bee")
    expect(bees).to_be_hidden()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(bees).to_be_visible()
    expect(field(page)).to_be_hidden()
    expect(section.locator(".chips")).to_be_hidden()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(bees).to_be_hidden()


def test_the_page_is_small_and_soon_there(web: Web, open_page: Open) -> None:
    assert sum(path.stat().st_size for path in STATIC.iterdir()) < 150_000
    page = open_page(web)
    page.get_by_label("Program", exact=True).locator("option").first.wait_for(state="attached")
    painted = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    page.wait_for_function(f"{painted} > 0")
    assert page.evaluate(painted) < 10_000  # a busy machine; on a quiet one it is a tenth of a second


@pytest.mark.parametrize("path", sorted(STATIC.iterdir()), ids=lambda path: path.name)
def test_no_file_brings_inline_scripts_styles_or_other_hosts(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"innerHTML|insertAdjacentHTML|document\.write|eval\(|style=|onclick=\"|<style", text) == []
    assert set(re.findall(r"https?://[\w.]+", text)) <= {"http://www.w3.org"}
