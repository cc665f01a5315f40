"""The container's files agree with the project: what they copy, what they install, who runs it."""

import re
from pathlib import Path

import yaml

import polyqa

ROOT = Path(polyqa.__file__).resolve().parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


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


def test_nobody_runs_it_as_root_and_its_health_is_looked_at() -> None:
    last = DOCKERFILE.rsplit("\nFROM ", 1)[1]
    assert re.findall(r"^USER (\w+)$", last, re.MULTILINE) == ["10001"]
    assert "/health" in last
    assert '"--host", "0.0.0.0"' in last
    assert "POLYQA_TOKEN=" not in DOCKERFILE.replace("POLYQA_TOKEN=…", "")


def test_compose_wants_a_token_and_listens_on_this_machine_only() -> None:
    (service,) = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"].values()
    assert service["environment"]["POLYQA_TOKEN"].startswith("${POLYQA_TOKEN:?")
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert service["command"][:4] == ["polyqa", "serve", "--host", "0.0.0.0"]
