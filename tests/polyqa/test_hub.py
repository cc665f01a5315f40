"""Compiled programs go to a hub and come back; what is not one, or not whole, is refused in one line."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import Printed, Run
from hub_server import TOKEN, Answer, Hub, serve_hub
from refusals import told

import polyqa
from polyqa.artifacts.scores import QuestionScores, SetScores, read_scores
from polyqa.artifacts.store import compiled_home, read_artifact

REPO = "tester/rac"
NAMES = ["README.md", "card.json", "program.json", "scores.json"]


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """Serve an empty hub, which the client takes for the real one, and log in there."""
    with serve_hub(tmp_path / "hub") as served:
        at(served.base, monkeypatch)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.chdir(tmp_path)
        yield served


def at(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the client take an address for the hub's, as HF_ENDPOINT does when it is imported."""
    for name in ("huggingface_hub.constants", "huggingface_hub.hf_api.constants"):
        monkeypatch.setattr(f"{name}.ENDPOINT", base)
    monkeypatch.setattr(
        "huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", base + "/{repo_id}/resolve/{revision}/{filename}"
    )


def shipped() -> dict[str, bytes]:
    """Return the files of an artifact."""
    return {name: (compiled_home() / "rac-homonyms-local" / name).read_bytes() for name in NAMES}


def copied(to: Path) -> Path:
    """Copy an artifact into a new folder of one's own."""
    return Path(shutil.copytree(compiled_home() / "rac-homonyms-local", to))


def front(readme: bytes) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(readme.decode().split("---\n")[1])
    return data


def test_an_artifact_goes_there_and_comes_back(hub: Hub, tmp_path: Path) -> None:
    pushed = polyqa.push("rac-homonyms-local", REPO, license="apache-2.0")
    assert pushed.url == f"{hub.base}/{REPO}"
    files = hub.files(REPO, pushed.commit)
    assert sorted(files) == [".gitattributes", *NAMES]
    assert {name: files[name] for name in NAMES[1:]} == {name: shipped()[name] for name in NAMES[1:]}
    assert files["README.md"].endswith(shipped()["README.md"])
    data = front(files["README.md"])
    assert (data["library_name"], data["license"]) == ("polyqa", "apache-2.0")
    assert {"dspy", "rac", "labeled-few-shot"} <= set(data["tags"])

    pulled = polyqa.pull(REPO)
    assert (pulled.path, pulled.commit, pulled.repo) == (Path("rac"), pushed.commit, REPO)
    assert sorted(path.name for path in pulled.path.iterdir()) == sorted([*NAMES, "hub.json"])
    assert json.loads((pulled.path / "hub.json").read_text())["commit"] == pushed.commit
    there, here = read_artifact(pulled.path), read_artifact("rac-homonyms-local")
    assert (there.card, there.state) == (here.card, here.state)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == [".rac.lock"]
    assert not {path for _, path in hub.asked if path.endswith(".gitattributes")}, "only known names are downloaded"


def test_a_report_and_code_are_neither_pushed_nor_pulled(hub: Hub, tmp_path: Path) -> None:
    own = copied(tmp_path / "own")
    (own / "report.html").write_text("<!DOCTYPE html><script>alert(1)</script>")
    pushed = polyqa.push(own, REPO)
    assert sorted(hub.files(REPO, pushed.commit)) == [".gitattributes", *NAMES]
    # A stranger may have put such files there all the same.
    strange = {"report.html": b"<script>alert(1)</script>", "setup.py": b"raise SystemExit", "program.pkl": b"\x80"}
    hub.commit("tester/evil", shipped() | strange)
    pulled = polyqa.pull("tester/evil")
    assert sorted(path.name for path in pulled.path.iterdir()) == sorted([*NAMES, "hub.json"])
    assert not [path for _, path in hub.asked if path.endswith((*strange,))], "they are not even asked for"


def test_the_scores_of_its_questions_go_along_and_are_checked(hub: Hub, tmp_path: Path) -> None:
    own = copied(tmp_path / "own")
    scores = SetScores(ids=["q1"], before={"rouge_l": [0.1]}, after={"rouge_l": [None]})
    (own / "scores.json").write_text(QuestionScores(test=scores).to_text())
    polyqa.push(own, REPO)
    pulled = read_artifact(polyqa.pull(REPO).path)
    assert read_scores(pulled) == QuestionScores(test=scores)
    (own / "scores.json").unlink()
    assert "scores.json" not in hub.files(REPO, polyqa.push(own, REPO).commit)
    hub.commit("tester/evil", shipped() | {"scores.json": b'{"test": {"ids": 5}}'})
    assert "scores.json is damaged" in told(lambda: polyqa.pull("tester/evil"))


def test_what_was_pulled_can_be_pushed_again_with_one_front(hub: Hub) -> None:
    polyqa.push("rac-homonyms-local", REPO, license="mit")
    polyqa.push(polyqa.pull(REPO).path, "tester/again")
    readme = hub.files("tester/again")["README.md"]
    assert "license" not in front(readme), "nobody said so"
    assert readme.count(b"\nlibrary_name:") == 1
    assert readme.count(b"`polyqa pull ") == 1
    assert b"`polyqa pull tester/again` gets this compiled program." in readme


def test_a_commit_pins_what_is_pulled(hub: Hub) -> None:
    first = hub.commit(REPO, shipped())
    second = hub.commit(REPO, shipped() | {"README.md": b"# newer\n"}, parent=first)
    hub.commit(REPO, shipped(), tag="v1")
    assert polyqa.pull(REPO).commit == second
    assert polyqa.pull(REPO, "one", revision=first).commit == first
    assert polyqa.pull(REPO, "two", revision="v1").commit == first
    assert (Path("one") / "README.md").read_bytes() == shipped()["README.md"]
    assert "Invalid rev id: v9. Check" in told(lambda: polyqa.pull(REPO, "three", revision="v9"))
    assert not Path("three").exists()


def test_pushing_again_makes_a_commit_only_if_something_changed(hub: Hub) -> None:
    first = polyqa.push("rac-homonyms-local", REPO).commit
    assert polyqa.push("rac-homonyms-local", REPO).commit == first
    assert polyqa.push("rac-homonyms-local", REPO, license="mit").commit != first


def test_nothing_is_overwritten(hub: Hub) -> None:
    hub.commit(REPO, shipped())
    polyqa.pull(REPO)
    Path("link").symlink_to("rac")
    for there in ("rac", "link", ".", "rac/card.json"):
        assert "is there already" in told(lambda there=there: polyqa.pull(REPO, there))


def test_a_pull_that_is_killed_leaves_nothing_to_the_next_one(hub: Hub, tmp_path: Path) -> None:
    hub.commit(REPO, shipped())
    script = f"import os, polyqa.hub as hub; hub.check = lambda *given: os._exit(9); hub.pull({REPO!r})"
    killed = subprocess.run([sys.executable, "-c", script], env={**os.environ, "HF_ENDPOINT": hub.base}, check=False)
    assert killed.returncode == 9
    assert any(".rac.building-" in path.name for path in tmp_path.iterdir())
    polyqa.pull(REPO)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".rac.lock", "hub", "rac"]


def test_a_repository_of_something_else_is_left_alone(hub: Hub) -> None:
    commit = hub.commit(REPO, {"model.safetensors": b"weights", "README.md": b"# a model\n"})
    assert "holds 'model.safetensors'" in told(lambda: polyqa.push("rac-homonyms-local", REPO))
    assert hub.commit_of(REPO, "main") == commit
    assert "holds no compiled program" in told(lambda: polyqa.pull(REPO))


def card(**changes: Any) -> bytes:
    return json.dumps(json.loads(shipped()["card.json"]) | changes).encode()


def state(change: Callable[[Any], None]) -> bytes:
    data = json.loads(shipped()["program.json"])
    change(data)
    return json.dumps(data).encode()


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"card.json": b"{}"}, "is not a card"),
        ({"card.json": b"\x80\x04\x95pickle"}, "is not JSON"),
        ({"card.json": b"[" * 100_000}, "is not JSON"),
        ({"card.json": card(program="os.system")}, "unknown program"),
        ({"card.json": card(settings={"helper_lm": "openai/x"})}, "which it is not"),
        ({"card.json": card(signatures={})}, "the signature of"),
        ({"card.json": card(api_base="http://example.com")}, "is not a card"),
        ({"program.json": b"NaN"}, "is not JSON"),
        ({"program.json": b"{}"}, "is not a saved"),
        ({"program.json": state(lambda data: data["clarify"].update(lm2={"api_base": "http://a.b"}))}, "is damaged"),
        ({"program.json": state(dict.clear)}, "is not a saved"),
    ],
)
def test_what_is_damaged_or_hostile_is_not_taken(hub: Hub, tmp_path: Path, files: dict[str, bytes], why: str) -> None:
    hub.commit(REPO, shipped() | files)
    message = told(lambda: polyqa.pull(REPO))
    assert why in message
    assert REPO in message
    assert {path.name for path in tmp_path.iterdir()} <= {"hub", ".rac.lock"}, "nothing is left"


def listed(of_all: dict[str, Any], of_each: dict[str, Any]) -> Callable[[Answer], Answer]:
    """Return what changes the listing of a repository, and of each of its files."""

    def changed(answer: Answer) -> Answer:
        data = json.loads(answer[1]) | of_all
        data["siblings"] = [one | of_each for one in data["siblings"]]
        return answer[0], json.dumps(data).encode(), answer[2]

    return changed


LACKING = "could not be pulled at http://127.0.0.1:"


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        ("card.json", lambda answer: (200, answer[1][:99], {**answer[2], "Content-Length": "999"}), LACKING),
        ("card.json", lambda answer: (403, b"", {}), LACKING),
        ("revision/main", listed({}, {"size": 10**12}), "larger than"),
        ("revision/main", listed({}, {"size": "many"}), LACKING),
        ("revision/main", listed({"sha": "../../etc"}, {}), LACKING),
        ("revision/main", lambda answer: (200, b"<html>Log in to the hotel</html>", {}), LACKING),
        ("revision/main", lambda answer: (500, b"oops", {}), LACKING),
    ],
)  # fmt: skip
def test_what_comes_otherwise_than_listed_is_not_taken(
    hub: Hub, name: str, change: Callable[[Answer], Answer], why: str
) -> None:
    hub.commit(REPO, shipped())
    hub.twist = lambda path, answer: change(answer) if path.endswith(name) else answer
    assert why in told(lambda: polyqa.pull(REPO))
    assert not Path("rac").exists()


@pytest.mark.parametrize("repo", ["rac", "a/b/c", "../x", "tester/..", "", "tester/a b", "https://example.com/a/b"])
def test_names_that_are_none_are_told(hub: Hub, repo: str) -> None:
    for what in (lambda: polyqa.pull(repo), lambda: polyqa.push("rac-homonyms-local", repo)):
        assert "give OWNER/NAME" in told(what)
    assert hub.asked == []


@pytest.mark.parametrize("token", [TOKEN, "", "hf_wrong"])
@pytest.mark.usefixtures("hub")
def test_what_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    assert "tester/nothing could not be pulled" in told(lambda: polyqa.pull("tester/nothing"))


@pytest.mark.parametrize(("token", "repo"), [("", REPO), ("hf_wrong", REPO), (TOKEN, "strangers/rac")])
def test_who_may_not_push_is_told(hub: Hub, monkeypatch: pytest.MonkeyPatch, token: str, repo: str) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    message = told(lambda: polyqa.push("rac-homonyms-local", repo))
    assert f"{repo} could not be pushed at {hub.base}: " in message
    assert "log in with hf auth login" in message
    assert not hub.root.exists()


def test_no_network_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        at(f"http://127.0.0.1:{taken.getsockname()[1]}", monkeypatch)
        assert "could not be pulled" in told(lambda: polyqa.pull(REPO, tmp_path / "new"))
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_pushed_is_told_before_anything_is_sent(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (copied(tmp_path / "broken") / "program.json").write_text("{}")
    for what, why in {
        "nothing": "There is nothing to push",
        "empty": "There is nothing to push",
        "broken": "is not a saved",
    }.items():
        assert why in told(lambda what=what: polyqa.push(what, REPO))
    assert hub.asked == []


def test_a_link_in_an_artifact_sends_no_file_of_the_users(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the key")
    linked = copied(tmp_path / "linked")

    def link(name: str, to: Path) -> None:
        (linked / name).unlink()
        (linked / name).symlink_to(to)

    link("README.md", tmp_path / "secret")
    polyqa.push("linked", REPO)
    assert b"the key" not in hub.files(REPO)["README.md"]
    link("card.json", compiled_home() / "rac-homonyms-local" / "card.json")
    assert "is no regular file" in told(lambda: polyqa.push("linked", REPO))


def test_a_commit_of_somebody_else_in_between_is_not_overwritten(hub: Hub) -> None:
    first = polyqa.push("rac-homonyms-local", REPO).commit

    def meanwhile(path: str, answer: Answer) -> Answer:
        if path.endswith("preupload/main"):
            hub.commit(REPO, hub.files(REPO) | {"README.md": b"# theirs\n"}, parent=first)
        return answer

    hub.twist = meanwhile
    assert "A commit has happened since" in told(lambda: polyqa.push("rac-homonyms-local", REPO, license="mit"))
    assert hub.files(REPO)["README.md"] == b"# theirs\n"


@pytest.mark.parametrize("path", ["/api/repos/create", "revision/main"])
def test_a_hub_that_is_silent_is_not_waited_for(hub: Hub, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr("polyqa.hub.TIMEOUT", 0.3)
    hub.commit("tester/other", shipped())
    done = threading.Event()

    def silent(asked: str, answer: Answer) -> Answer:
        if asked.endswith(path):
            done.wait(20)
        return answer

    hub.twist = silent
    pushes = path == "/api/repos/create"
    try:
        message = told(lambda: polyqa.push("rac-homonyms-local", REPO) if pushes else polyqa.pull("tester/other"))
    finally:
        done.set()
    assert " could not be pu" in message
    assert not Path("other").exists()


def test_the_commands(hub: Hub, printed: Printed, run: Run) -> None:
    pushed = printed("push", "rac-homonyms-local", REPO, "--private")
    commit = hub.commit_of(REPO, "main")
    assert pushed == f"pushed: {hub.base}/{REPO}, commit {commit}\n"
    pulled = printed("pull", REPO, "--to", "here", "--revision", commit)
    assert pulled == f"pulled: here, commit {commit}\n"
    code, out, err = run("pull", REPO, "--to", "here")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("polyqa: here is there already: ")
