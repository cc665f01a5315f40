"""The container's files agree with the project: what they copy, what they install, who runs it."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

import polyqa

ROOT = Path(polyqa.__file__).resolve().parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE_FILE = (ROOT / "compose.yaml").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load(COMPOSE_FILE)


def test_the_image_has_every_room_and_nothing_that_is_not_there() -> None:
    copied = {name for line in re.findall(r"^COPY (?!--)(.+) \S+$", DOCKERFILE, re.MULTILINE) for name in line.split()}
    assert [name for name in sorted(copied) if not (ROOT / name).exists()] == []
    rooms = {path.resolve().name for path in (ROOT / "polyqa").iterdir() if path.is_symlink()}
    assert rooms <= copied
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert not copied & set(ignored)


def test_the_image_installs_what_the_project_pins() -> None:
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    (torch,) = re.findall(r"torch==[\w.]+", DOCKERFILE)
    assert torch in pinned.split()
    assert re.search(r"pip install [^\n]*torch==[^\n]*-c constraints\.txt", DOCKERFILE)
    assert "polyqa setup" in DOCKERFILE
    extras = re.findall(r"EXTRAS[=:] ?([\w,]+)", DOCKERFILE + COMPOSE_FILE)
    named = {extra for names in extras for extra in names.split(",")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"serve", "questions", "mlflow"} <= named <= project["optional-dependencies"].keys()


def test_nobody_runs_it_as_root_and_its_health_is_looked_at() -> None:
    last = DOCKERFILE.rsplit("\nFROM ", 1)[1]
    assert re.findall(r"^USER (\w+)$", last, re.MULTILINE) == ["10001"]
    assert "/health" in last
    assert '"--host", "0.0.0.0"' in last
    assert "POLYQA_TOKEN=" not in DOCKERFILE.replace("POLYQA_TOKEN=…", "")


def test_compose_wants_a_token_and_listens_on_this_machine_only() -> None:
    services = COMPOSE["services"]
    own = services["polyqa"]
    assert own["environment"]["POLYQA_TOKEN"].startswith("${POLYQA_TOKEN:?")
    assert all(port.startswith("127.0.0.1:") for one in services.values() for port in one.get("ports", ()))
    assert "exec polyqa serve --host 0.0.0.0" in own["command"][-1]
    assert own["read_only"] is True
    assert "/health" in str(own["healthcheck"])


def test_compose_starts_others_only_if_asked_and_keeps_what_they_store() -> None:
    others = {name: one for name, one in COMPOSE["services"].items() if name != "polyqa"}
    assert {name: one["profiles"] for name, one in others.items()} == {"ollama": ["ollama"], "mlflow": ["mlflow"]}
    assert all(not one["image"].endswith((":latest", "mlflow", "ollama")) for one in others.values())
    used = {volume.split(":")[0] for one in COMPOSE["services"].values() for volume in one["volumes"]}
    assert used == {*COMPOSE["volumes"]}


@pytest.mark.parametrize(
    "given", [{}, {"POLYQA_API_BASE": "http://ollama:11434", "POLYQA_MLFLOW": "http://mlflow:5000"}]
)
def test_the_command_of_compose_is_one_of_polyqa(given: dict[str, str], tmp_path: Path) -> None:
    """The shell's part of it is run, with an `echo` in the place of the command."""
    shell, flag, script = COMPOSE["services"]["polyqa"]["command"]
    script = script.replace("$$", "$").replace("exec polyqa", "echo polyqa")
    done = subprocess.run(
        [shell, flag, script],
        env={**os.environ, "POLYQA_LM": "a/b", **given},
        capture_output=True,
        text=True,
        check=True,
    )
    told = done.stdout.split()
    assert told[: told.index("--lm") + 2][-2:] == ["--lm", "a/b"]
    options = {"POLYQA_API_BASE": "--api-base", "POLYQA_MLFLOW": "--mlflow"}
    assert told[told.index("a/b") + 1 :] == [word for name, value in given.items() for word in (options[name], value)]
