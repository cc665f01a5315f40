"""The report as a browser sees it: nothing is asked of the network, and nothing is complained of."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from attack_texts import ATTACKS

Report = Callable[..., str]
CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium is installed: apt-get install chromium"),
]
ITS_OWN = ("google.com", "googleapis.com", "gvt1.com")
"""What Chromium asks of its maker, whatever the page is."""
HOST = "host-of-a-stranger.invalid"


def opened(html: str, folder: Path) -> tuple[set[str], list[str], str]:
    """Open a page; return the hosts that it asked for, what the console says, and the page as it became."""
    page, log = folder / "page.html", folder / "net.json"
    page.write_text(html, encoding="utf-8")
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={folder / 'profile'}",
            f"--log-net-log={log}",
            "--enable-logging=stderr",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    asked = set(re.findall(r'"url":"https?://([^/"]+)', log.read_text(errors="replace")))
    asked = {host for host in asked if not host.endswith(ITS_OWN)}
    return asked, [line for line in done.stderr.splitlines() if "CONSOLE" in line], done.stdout


def test_the_check_itself_notices_what_it_looks_for(tmp_path: Path) -> None:
    bad = f'<!DOCTYPE html><img src="http://{HOST}/pixel.png"><script>console.error("oh no")</script>'
    asked, said, _ = opened(bad, tmp_path)
    assert HOST in asked
    assert any("oh no" in line for line in said)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("the ship", id="plain"),
        pytest.param(
            " ".join(ATTACKS.values()).replace("example.com", HOST) + f'<img src="http://{HOST}/p.png">', id="attacks"
        ),
    ],
)
def test_it_asks_nothing_of_the_network_and_the_console_is_silent(report: Report, text: str, tmp_path: Path) -> None:
    asked, said, became = opened(report(text), tmp_path)
    assert asked == set()
    assert said == []
    assert "What changed in the prompts" in became
    assert not re.search(r"<(script|img|iframe|link)\b", became)


def test_a_script_that_a_stranger_writes_into_a_report_does_not_run(report: Report, tmp_path: Path) -> None:
    evil = report().replace(
        "<main>", f'<main><script>document.title="mine"</script><img src="http://{HOST}/p.png" onerror="x()">'
    )
    asked, said, became = opened(evil, tmp_path)
    assert asked == set()
    assert "<title>mine</title>" not in became
    assert any("Content Security Policy" in line for line in said)
