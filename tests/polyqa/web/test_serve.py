"""`polyqa serve` as a command: what they refuse, that they start, and how they stop."""

import os
import shutil
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import httpx
import pytest
from web_server import started, web_server

from polyqa.artifacts.store import CARD, artifact_names, compiled_home
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.cli import options
from polyqa.colbert_index import ColBERTIndex
from polyqa.colbert_index.files import MANIFEST
from polyqa.extractive import embedded_lm
from polyqa.language_models import language_model
from polyqa.lm.assigned import own_lms
from polyqa.lm.recorded import recorded
from polyqa.lm.servers import NEAR_TIMEOUT
from polyqa.loading import open_index
from polyqa.programs import PROGRAMS
from polyqa.questions import questions_path
from polyqa.serving import limits_of
from polyqa.web import run
from polyqa.web.errors import WebError
from polyqa.web.shelf import Shelf

ANSWERING = [name for name in PROGRAMS if name != "sixpaq"]  # over an index without questions

QUESTION = "When did Solaris come out?"


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_until_it_is_stopped(films: ColBERTIndex, how: signal.Signals) -> None:
    words = ["serve", "--port", "0", "--index", str(films.path), "--program", "rac"]
    with started(sys.executable, "-m", "polyqa", *words) as (base, process):
        assert httpx.get(f"{base}/health", timeout=60).json()["status"] == "ok"
        found = httpx.post(f"{base}/ask", json={"question": QUESTION}, timeout=120).json()
        assert "20 March 1972" in found["answer"]
        process.send_signal(how)
        _, rest = process.communicate(timeout=60)
    assert "Traceback" not in rest
    assert process.returncode in (0, 130, -how)


def test_a_port_that_is_taken_is_told(films: ColBERTIndex, refused: Callable[..., str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = refused("serve", "--index", films.path, "--program", "rac", "--port", port)
    assert f"Cannot listen on 127.0.0.1, port {port}" in told


def test_names_on_a_shelf_are_folders_names_and_one_each(films: ColBERTIndex, tmp_path: Path) -> None:
    lm = embedded_lm()
    shelf = Shelf(lm, indexes=[films.path], programs=["rac", "rac-homonyms-local"])
    assert list(shelf.indexes) == ["films"]
    assert shelf.names(None, None) == ("rac", "films")
    assert shelf.names("rac-homonyms-local", None) == ("rac-homonyms-local", "films")
    assert shelf.programs["rac-homonyms-local"].about["compiled"]
    assert "rac, compiled with the recipe" in shelf.programs["rac-homonyms-local"].about["summary"]
    with pytest.raises(WebError, match="There is no program 'diva'; there are rac, rac-homonyms-local"):
        shelf.names("diva", None)
    with pytest.raises(PolyqaError, match="Two indexes are called films"):
        Shelf(lm, indexes=[films.path, films.path])
    assert shelf.program("rac", "films") is shelf.program("rac", "films")


def test_without_names_everything_is_offered_that_can_answer(films: ColBERTIndex, tmp_path: Path) -> None:
    shelf = Shelf(embedded_lm(), indexes=[films.path])
    assert list(shelf.programs) == [*ANSWERING, *artifact_names()]
    assert shelf.default_program == "auto"
    with_questions = tmp_path / "films"
    shutil.copytree(films.path, with_questions)
    questions_path(open_index(with_questions)).mkdir()
    assert list(Shelf(embedded_lm(), indexes=[with_questions]).programs) == [*PROGRAMS, *artifact_names()]


def test_a_users_own_index_is_the_default(films: ColBERTIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "indexes"
    shutil.copytree(films.path, home / "homonyms")
    monkeypatch.setenv("POLYQA_HOME", str(tmp_path))
    assert Shelf(embedded_lm(), programs=["rac"]).default_index == "homonyms"
    for name, built in (("alpha", 2_000_000_000), ("beta", 1_900_000_000)):
        shutil.copytree(films.path, home / name)
        os.utime(home / name, (built, built))
    shelf = Shelf(embedded_lm(), programs=["rac"])
    assert shelf.default_index == "alpha"
    assert shelf.shared_names("beta") == ["Solaris"]


class Opened(list[Passage]):
    """An index, as far as its passages go."""

    @property
    def passages(self) -> list[Passage]:
        return self


def test_a_name_that_titles_share_is_told_without_its_document_and_a_long_section_shares_none(
    films: ColBERTIndex,
) -> None:
    shelf = Shelf(embedded_lm(), indexes=[films.path], programs=["rac"])
    titles = ("notes › Mercury (planet)", "notes › Mercury (element)", "notes › Leave", "notes › Leave")
    notes: Any = Opened(Passage(pid=str(at), title=title, text="") for at, title in enumerate(titles))
    shelf.indexes["notes"] = notes
    assert shelf.shared_names("notes") == ["Mercury"]


def test_programs_that_were_compiled_here_are_offered(
    films: ColBERTIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(compiled_home() / "rac-homonyms-local", tmp_path / "compiled" / "my-corpus")
    monkeypatch.chdir(tmp_path)
    shelf = Shelf(embedded_lm(), indexes=[films.path])
    assert list(shelf.programs) == [*ANSWERING, *artifact_names(), "my-corpus"]
    assert shelf.programs["my-corpus"].about["compiled"]


OWN = '''
import dspy

class Best(dspy.Module):
    def __init__(self, index):
        super().__init__()
        self.index = index

    def forward(self, question):
        passages = self.index.search(question, 1)
        return dspy.Prediction(answer=passages[0].text, passages=passages)

def best(index):
    """Reads one passage aloud."""
    return Best(index)
'''


def test_a_program_of_the_users_own_is_served(
    films: ColBERTIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "read_aloud.py").write_text(OWN)
    with web_server([films], programs=["read_aloud:best"]) as web:
        asked = {"question": "Who wrote the novel?", "program": "best"}
        told, filtered = (
            httpx.post(f"{web.base}/ask", json=asked | more, timeout=120).json() for more in ({}, {"where": "page = 2"})
        )
        (listed,) = httpx.get(f"{web.base}/programs").json()["programs"]
    assert told["answer"] == "Solaris is a novel that Lem published in 1961. A sea thinks in it."
    assert filtered["answer"].startswith("Solaris is a film by Soderbergh")
    assert (listed["name"], listed["summary"]) == ("best", "Reads one passage aloud.")
    (tmp_path / "half_written.py").write_text("def best(index)")
    for name, why in (("read_aloud:worst", "AttributeError: .*worst"), ("half_written:best", "SyntaxError: ")):
        with pytest.raises(PolyqaError, match=rf"{name} cannot be imported \({why}"):
            Shelf(embedded_lm(), indexes=[films.path], programs=[name])
    (tmp_path / "made.py").write_text(OWN + "\nmade, name, empty = Best(None), 'best', lambda index: None")
    for name, what in (("made:made", "Best"), ("made:name", "str")):
        with pytest.raises(
            PolyqaError, match=f"{name} is {what}, made already; .* name a function that takes an index"
        ):
            Shelf(embedded_lm(), indexes=[films.path], programs=[name])
    shelf = Shelf(embedded_lm(), indexes=[films.path], programs=["made:empty"])
    with pytest.raises(PolyqaError, match=r"empty returned None for an index; it has to return a dspy\.Module"):
        shelf.program("empty", "films")


def test_the_helper_helps_the_programs_that_have_a_call_for_it(
    films: ColBERTIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "served_here.py").write_text(
        'import polyqa\n\ndef asks(index):\n    return polyqa.load("diva", index=index)'
    )
    helper = dspy.LM("openai/helper", api_key="none")
    shelf = Shelf(embedded_lm(), helper_lm=helper, indexes=[films.path], programs=["diva", "rac", "served_here:asks"])
    helped = dict.fromkeys(("classify", "infer", "verify"), helper)
    assert [own_lms(shelf.program(name, "films")) for name in shelf.programs] == [helped, {}, helped]
    with pytest.raises(PolyqaError, match="has no call that a helper could make"):
        Shelf(embedded_lm(), helper_lm=helper, indexes=[films.path], programs=["rac"]).program("rac", "films")


def test_what_nobody_named_and_cannot_be_read_is_left_out(
    films: ColBERTIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYQA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    shutil.copytree(films.path, tmp_path / "indexes" / "whole")
    broken = shutil.copytree(films.path, tmp_path / "indexes" / "broken")
    for manifest in broken.rglob(MANIFEST):
        manifest.write_text("{")
    shutil.copytree(compiled_home() / "rac-homonyms-local", tmp_path / "compiled" / "old")
    (tmp_path / "compiled" / "old" / CARD).write_text('{"format": 99}')
    with pytest.warns(UserWarning, match="^Not served: ") as told:
        shelf = Shelf(embedded_lm())
    assert len(told) == 2
    assert (list(shelf.indexes), "old" in shelf.programs) == (["whole"], False)
    for named in ({"indexes": ["broken"]}, {"indexes": ["whole"], "programs": ["compiled/old"]}):
        with pytest.raises(PolyqaError):
            Shelf(embedded_lm(), **named)  # type: ignore[arg-type]


def test_a_model_on_this_machine_answers_no_more_at_once_than_it_can(tmp_path: Path) -> None:
    """Whoever waits for a place is not on the clock; whoever waits for a slot is."""
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    assert limits_of(language_model(f"local/{tmp_path / 'm.gguf'}", slots=3)).at_once == 3
    assert limits_of(language_model("openai/x@http://example.com")).at_once == 64
    assert 1 <= limits_of(language_model()).at_once < 64
    assert limits_of(language_model(), 7).at_once == 7
    recorders = [
        recorded(tmp_path / f"{at}.jsonl.gz", language_model(name))
        for at, name in enumerate((f"local/{tmp_path / 'm.gguf'}", "openai/x@http://example.com"))
    ]
    assert [limits_of(recorder).seconds for recorder in recorders] == [NEAR_TIMEOUT, 120]
    assert limits_of(recorders[1]).at_once == 64


def test_settings_without_an_option_are_set_by_lm_set() -> None:
    sets = ["temperature=0.2", "temperature=0.5", "timeout=9", "top_p=0.9", "max_tokens=null"]
    models = options.LanguageModels(lm="openai/x", lm_set=sets).models()
    settings = models.settings
    assert (settings.temperature, settings.timeout, settings.retries) == (0.5, 9, 3)
    assert settings.more == {"top_p": 0.9, "max_tokens": None}


def test_a_connection_is_kept_longer_than_clients_keep_it() -> None:
    async def app(scope: object, receive: object, send: object) -> None: ...

    kept_by_clients = httpx.Limits().keepalive_expiry
    assert kept_by_clients is not None
    assert run.server(app, "127.0.0.1", 0).config.timeout_keep_alive > kept_by_clients
