"""Stored runs over HTTP and in the browser: the list, one run, two compared, one question, what is damaged."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import chromium
from playwright.sync_api import Page, expect
from web_server import Web, web_server

import polyqa
from polyqa.artifacts.store import REPORT, compiled_home
from polyqa.base.errors import PolyqaError
from polyqa.colbert_index import ColBERTIndex
from polyqa.compilation_report.page import BEGINNING
from polyqa.evaluation.comparison import compare_runs
from polyqa.evaluation.runs import PREDICTIONS, open_run
from polyqa.metrics.gold import Question, Reading
from polyqa.web.run_folder import RunFolder

SCRIPT = "When did <script>alert(1)</script> come out?"


def gold(id: str, question: str, *answers: str) -> Question:
    readings = tuple(Reading(question=question, short_answers=(answer,), pid=None) for answer in answers)
    return Question(id=id, question=question, readings=readings, long_answers=(f"It was {answers[0]}.",))


ONE = [
    gold("films/1", "When did Solaris come out?", "20 March 1972", "29 November 2002"),
    gold("films/2", SCRIPT, "3 May 1999"),
    gold("films/3", "Who directed Solaris?", "Tarkovsky", "Soderbergh"),
]
RUNS = {"rac-run": ("rac", ONE), "narrow-run": ("rac", ONE), "other-run": ("rac", [gold("else", "When?", "1972")])}


@pytest.fixture(scope="module")
def folder(films: ColBERTIndex, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Finished runs, one that was stopped, one that is damaged, one of other questions, a link to one elsewhere."""
    root = tmp_path_factory.mktemp("runs")
    for name, (program, questions) in RUNS.items():
        models = polyqa.Models(judge=None)
        k = 1 if name == "narrow-run" else 5
        polyqa.evaluate(program, questions, models=models, folder=root / name, index=films, passages=k)
    stopped = Path(shutil.copytree(root / "rac-run", root / "stopped"))
    (stopped / "summary.json").unlink()
    lines = (stopped / PREDICTIONS).read_text(encoding="utf-8").splitlines(keepends=True)
    (stopped / PREDICTIONS).write_text("".join(lines[:-1]), encoding="utf-8")
    damaged = Path(shutil.copytree(root / "rac-run", root / "damaged"))
    (damaged / PREDICTIONS).write_text('{"id": 1}\n', encoding="utf-8")
    secret = Path(shutil.copytree(root / "rac-run", tmp_path_factory.mktemp("elsewhere") / "secret"))
    (root / "linked").symlink_to(secret)
    report = Path(shutil.copytree(compiled_home() / "rac-homonyms", root / "mine"))
    (report / REPORT).write_text(BEGINNING + "<p>It helped.</p>", encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def web(films: ColBERTIndex, folder: Path) -> Iterator[Web]:
    with web_server([films], programs=["rac"], runs=folder) as running:
        yield running


def test_the_runs_are_listed_with_what_is_wrong_with_them(client: httpx.Client, folder: Path) -> None:
    runs = {one["name"]: one for one in client.get("/runs").json()["runs"]}
    assert set(runs) == {"rac-run", "narrow-run", "other-run", "stopped", "damaged"}
    assert (runs["stopped"]["answered"], runs["stopped"]["of"]) == (2, 3)
    assert "line 1 is not a prediction" in runs["damaged"]["fault"]
    assert str(folder) not in json.dumps(runs)
    own = open_run(folder / "rac-run").summarized()
    assert runs["rac-run"]["scores"]["dr"] == own["dr"].to_dict()
    assert runs["rac-run"]["program"] == "rac"
    assert client.get("/health").json()["runs"]


def test_a_run_is_shown_some_questions_at_a_time(client: httpx.Client) -> None:
    found = client.get("/run", params={"name": "rac-run", "limit": 2, "offset": 1}).json()
    assert (found["total"], [one["id"] for one in found["questions"]]) == (3, ["films/2", "films/3"])
    assert found["settings"]["program"] == "rac"
    only = client.get("/run", params={"name": "rac-run", "find": "solaris"}).json()
    assert [one["id"] for one in only["questions"]] == ["films/1", "films/3"]
    worst = client.get("/run", params={"name": "rac-run", "sort": "str_em"}).json()["questions"]
    assert [one["value"] for one in worst] == sorted(one["value"] for one in worst)


def test_a_comparison_is_that_of_the_command(client: httpx.Client, folder: Path) -> None:
    found = client.get("/compare", params={"a": "rac-run", "b": "narrow-run"}).json()
    own = compare_runs(open_run(folder / "rac-run"), open_run(folder / "narrow-run")).to_dict()
    assert {name: found[name] for name in own} == json.loads(json.dumps(own))
    by_length = client.get("/compare", params={"a": "rac-run", "b": "narrow-run", "measure": "length"}).json()
    assert (by_length["headline"], by_length["higher_is_better"], found["higher_is_better"]) == ("length", None, True)
    assert all(one["a"] != one["b"] for one in by_length["questions"])


def test_one_question_in_two_runs(client: httpx.Client) -> None:
    found = client.get("/questions", params=[("id", "films/1"), ("run", "rac-run"), ("run", "narrow-run")]).json()
    assert found["question"] == "When did Solaris come out?"
    assert [one["run"] for one in found["runs"]] == ["rac-run", "narrow-run"]
    assert any("20 March 1972" in one["answer"] for one in found["runs"])
    assert found["runs"][0]["interpretations"][0]["question"]


@pytest.mark.parametrize(
    "name", ["../elsewhere", "/etc", "linked", "..", "", "rac-run/", "rac-run/../narrow-run", "\0"]
)
@pytest.mark.parametrize(
    "path", ["/run?name={}", "/compare?a=rac-run&b={}", "/questions?id=films/1&run={}", "/report?name={}"]
)
def test_a_name_is_no_path(client: httpx.Client, path: str, name: str) -> None:
    response = client.get(path.format(quote(name, safe="")))
    assert response.status_code == 404
    assert response.json()["error"]["kind"] == "unknown"


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/compare?a=rac-run&b=other-run", 400, "no question in common"),
        ("/compare?a=rac-run&b=narrow-run&measure=beauty", 400, "no metric 'beauty'"),
        ("/compare?a=rac-run&b=damaged", 400, "is not a prediction"),
        ("/run?name=rac-run&sort=beauty", 404, "no measure 'beauty'"),
        ("/questions?id=films/9&run=rac-run", 404, "has no question 'films/9'"),
        ("/report?name=rac-homonyms", 404, "There is no report"),
    ],
)
def test_what_cannot_be_shown_is_told(client: httpx.Client, folder: Path, path: str, status: int, says: str) -> None:
    response = client.get(path)
    assert response.status_code == status
    assert says in response.json()["error"]["message"]
    assert str(folder.parent) not in response.text


def test_a_report_runs_nothing(client: httpx.Client) -> None:
    assert client.get("/reports").json() == {"reports": ["mine"]}
    shown = client.get("/report", params={"name": "mine"})
    assert "It helped." in shown.text
    csp = shown.headers["content-security-policy"]
    assert "sandbox" in csp
    assert "script" not in csp


def test_a_report_that_polyqa_did_not_write_is_not_shown(films: ColBERTIndex, folder: Path, tmp_path: Path) -> None:
    made = Path(shutil.copytree(folder / "mine", tmp_path / "theirs"))
    (made / REPORT).write_text("<script>alert(1)</script>", encoding="utf-8")
    with web_server([films], programs=["rac"], runs=tmp_path) as web:
        response = httpx.get(f"{web.base}/report", params={"name": "theirs"})
    assert response.status_code == 400
    assert "alert" not in response.text
    assert str(tmp_path) not in response.text


def test_a_run_that_goes_on_is_read_again(folder: Path, tmp_path: Path) -> None:
    growing = Path(shutil.copytree(folder / "stopped", tmp_path / "growing"))
    runs = RunFolder(tmp_path)
    first = runs.run("growing")
    assert runs.run("growing") is first
    shutil.copy(folder / "rac-run" / PREDICTIONS, growing / PREDICTIONS)
    assert (len(first.run.records), len(runs.run("growing").run.records)) == (2, 3)


def test_without_a_folder_there_are_no_runs(films: ColBERTIndex, tmp_path: Path) -> None:
    with web_server([films], programs=["rac"]) as web:
        response = httpx.get(f"{web.base}/runs")
        assert not httpx.get(f"{web.base}/health").json()["runs"]
    assert (response.status_code, "--runs FOLDER" in response.text) == (404, True)
    with pytest.raises(PolyqaError, match="There is no folder"):
        RunFolder(tmp_path / "nowhere")


@pytest.fixture
def page(web: Web) -> Iterator[Page]:
    said: list[str] = []
    with chromium() as browser:
        context = browser.new_context()
        opened = context.new_page()
        opened.on("console", lambda message: said.append(message.text))
        opened.on("pageerror", lambda error: said.append(str(error)))
        opened.on("dialog", lambda dialog: said.append(dialog.message))
        expect.set_options(timeout=60_000)
        opened.set_default_timeout(60_000)
        opened.goto(f"{web.base}/")
        yield opened
        context.close()
    assert said == []


def test_from_the_list_to_both_answers(page: Page) -> None:
    page.get_by_role("link", name="Runs").click()
    for name in ("rac-run", "narrow-run"):
        page.get_by_label(f"Choose {name}").check()
    _accessible(page)
    page.get_by_role("button", name="Compare two").click()
    expect(page.get_by_role("heading", name="narrow-run against rac-run")).to_be_focused()
    expect(page.get_by_text("cannot be told with 3 questions")).to_be_visible()
    _accessible(page)
    page.get_by_role("link", name="LEN", exact=True).click()
    page.get_by_role("region", name="Questions").get_by_role("link").first.click()
    expect(page.get_by_role("article")).to_have_count(2)
    _accessible(page)
    page.get_by_role("link", name="All runs").click()
    expect(page.get_by_text("is not a prediction")).to_be_visible()
    expect(page.get_by_role("link", name="Report of mine")).to_be_visible()


def test_a_run_on_a_phone_with_markup_as_text(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.evaluate("location.hash = '#/runs/run?name=rac-run'")
    expect(page.get_by_role("link", name=SCRIPT)).to_be_visible()
    page.get_by_label("Questions with").fill("directed")
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_role("link", name=SCRIPT)).to_have_count(0)
    page.get_by_role("link", name="Show the worst first").click()
    expect(page.get_by_role("link", name="Who directed Solaris?")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    _accessible(page)


def _accessible(page: Page) -> None:
    found = Axe().run(page).response["violations"]
    assert [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found] == []
