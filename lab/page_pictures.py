"""Takes the pictures of the page of `polyqa serve` for the documents: docs/serve-light.png, docs/serve-dark.png.

It starts a server over the shipped index and asks one question in headless Chromium, which must be installed:

    python -m lab.page_pictures
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from polyqa.base.errors import PolyqaError

DOCS = Path(__file__).resolve().parents[1] / "docs"
QUESTION, PROGRAM = "When did Titanic come out?", "auto"
WIDTH, HEIGHT = 1200, 830


def take_pictures(base: str, browser: Browser) -> Iterator[tuple[Path, bytes]]:
    """Yield the file and the bytes of each picture of the page at an address."""
    for scheme in ("light", "dark"):
        context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce")
        page = context.new_page()
        page.emulate_media(color_scheme="light" if scheme == "light" else "dark")
        page.goto(f"{base}/#/ask?{urlencode({'q': QUESTION, 'program': PROGRAM})}")
        page.locator("#program option").first.wait_for(state="attached")
        page.get_by_role("button", name="Ask", exact=True).click()
        page.locator(".how").wait_for()
        with Image.open(BytesIO(page.screenshot())) as taken:
            small = BytesIO()
            taken.convert("RGB").save(small, "PNG", optimize=True)
        yield DOCS / f"serve-{scheme}.png", small.getvalue()
        context.close()


@contextmanager
def served() -> Iterator[str]:
    """Run `polyqa serve` on a free port for the block; the value is its address."""
    command = [sys.executable, "-m", "polyqa", "serve", "--port", "0", "--index", "homonyms", "--program", PROGRAM]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            for line in running.stdout:
                if found := re.search(r"http://[\d.:]+", line):
                    yield found[0].rstrip(".")
                    break
            else:
                raise PolyqaError("The server did not start; run `polyqa serve` to see why.")
        finally:
            running.terminate()
            running.communicate()  # what it still says would fill the pipe otherwise


def main() -> None:
    """Take the pictures.

    Raises
    ------
    PolyqaError
        If there is no Chromium.
    """
    chromium = shutil.which("chromium")
    if chromium is None:
        raise PolyqaError("The pictures are taken with Chromium: install it so that `chromium` runs.")
    with served() as base, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for path, content in take_pictures(base, browser):
            path.write_bytes(content)
            print(f"{path.relative_to(DOCS.parent)}: {len(content):,} bytes")
        browser.close()


if __name__ == "__main__":
    main()
