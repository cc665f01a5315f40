"""The report as a browser sees it: nothing is asked of the network, and nothing is complained of."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attack_texts import ATTACKS
from browser import chromium
from playwright.sync_api import Browser

Report = Callable[..., str]
HOST = "host-of-a-stranger.invalid"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


def opened(browser: Browser, html: str, folder: Path) -> tuple[list[str], list[str], str]:
    """Open a page; return what it asked of the network, what the console says, and the page as it became."""
    path = folder / "page.html"
    path.write_text(html, encoding="utf-8")
    asked: list[str] = []
    said: list[str] = []
    page = browser.new_page()
    # What the page's own policy stops is not asked of anybody.
    page.on("requestfailed", lambda request: request.failure == "csp" or asked.append(request.url))
    page.on("requestfinished", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri(), wait_until="networkidle")
    became = page.content()
    page.close()
    return [url for url in asked if not url.startswith("file:")], said, became


def test_the_check_itself_notices_what_it_looks_for(browser: Browser, tmp_path: Path) -> None:
    bad = f'<!DOCTYPE html><img src="http://{HOST}/pixel.png"><script>console.error("oh no")</script>'
    asked, said, _ = opened(browser, bad, tmp_path)
    assert asked == [f"http://{HOST}/pixel.png"]
    assert "oh no" in said


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("the ship", id="plain"),
        pytest.param(
            " ".join(ATTACKS.values()).replace("example.com", HOST) + f'<img src="http://{HOST}/p.png">', id="attacks"
        ),
    ],
)
def test_it_asks_nothing_of_the_network_and_the_console_is_silent(
    browser: Browser, report: Report, text: str, tmp_path: Path
) -> None:
    asked, said, became = opened(browser, report(text), tmp_path)
    assert (asked, said) == ([], [])
    assert "What changed in the prompts" in became
    assert not re.search(r"<(script|img|iframe|link)\b", became)


def test_a_script_that_a_stranger_writes_into_a_report_does_not_run(
    browser: Browser, report: Report, tmp_path: Path
) -> None:
    evil = report().replace(
        "<main>", f'<main><script>document.title="mine"</script><img src="http://{HOST}/p.png" onerror="x()">'
    )
    asked, said, became = opened(browser, evil, tmp_path)
    assert asked == []
    assert "<title>mine</title>" not in became
    assert any("Content Security Policy" in line for line in said)
