"""Takes the pictures of the page of `polyqa serve` for the documents: docs/serve-light.png, docs/serve-dark.png.

It starts a server over the shipped index and asks one question in headless Chromium, which must be installed:

    python -m lab.page_pictures
"""

import shutil
from io import BytesIO
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from polyqa.base.errors import PolyqaError

from .servers import polyqa_server

DOCS = Path(__file__).resolve().parents[1] / "docs"
QUESTION, PROGRAM = "When did Titanic come out?", "auto"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def take_picture(base: str, browser: Browser, scheme: Literal["light", "dark"]) -> None:
    """Take the picture of the page at an address."""
    viewport = {"width": 1200, "height": 830}
    page = browser.new_page(viewport=viewport, reduced_motion="reduce", color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(f"{base}/#/ask?{urlencode({'q': QUESTION, 'program': PROGRAM})}")
    page.locator("#program option").first.wait_for(state="attached")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator(".how").wait_for()
    with Image.open(BytesIO(page.screenshot())) as taken:
        taken.convert("RGB").save(DOCS / f"serve-{scheme}.png", optimize=True)
    page.close()


def main() -> None:
    """Take the pictures."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise PolyqaError("The pictures are taken with Chromium: install it so that `chromium` runs.")
    with polyqa_server("--index", "homonyms", "--program", PROGRAM) as base, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for scheme in SCHEMES:
            take_picture(base, browser, scheme)
        browser.close()


if __name__ == "__main__":
    main()
