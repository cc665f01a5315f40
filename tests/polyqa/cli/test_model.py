import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import Printed

from polyqa.models import gguf

NAMES = [model.name for model in gguf.MODELS]


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYQA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def put(name: str) -> Path:
    path = gguf.model_path(gguf.find_model(name))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"GGUF")
    return path


def test_the_list_tells_what_is_here(printed: Printed) -> None:
    path = put(NAMES[1])
    listed = json.loads(printed("model", "--json"))
    assert [(one["name"], one["default"], one["pulled"]) for one in listed] == [
        (NAMES[0], True, False),
        (NAMES[1], False, True),
        (NAMES[2], False, False),
    ]
    assert listed[1]["path"] == str(path)
    assert {"title", "licence", "bytes", "sha256", "sources", "prompts_tested"} <= listed[1].keys()
    lines = printed("model").splitlines()
    assert [line.split()[-1] for line in lines[1:4]] == ["no", "yes", "no"]
    assert "(default)" in lines[1]
    assert str(path.parent) in lines[4]


def test_one_is_removed(printed: Printed, refused: Printed) -> None:
    path = put(NAMES[0])
    assert printed("model", "remove", NAMES[0]) == f"removed {path}\n"
    assert not path.exists()
    assert "There is nothing to remove" in refused("model", "remove", NAMES[0])
    assert f"polyqa knows {', '.join(NAMES)}." in refused("model", "remove", "gpt-5")


def test_a_file_of_the_users_is_taken(
    printed: Printed, refused: Printed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.gguf").write_bytes(b"GGUF")
    assert "is not qwen2.5-coder-1.5b: it has 4 bytes, the official file has 1,117,320,768." in refused(
        "model", "pull", "--file", tmp_path / "mine.gguf"
    )
    # A file of the official size is too large for a test.
    small = replace(gguf.MODELS[0], bytes=4, sha256=hashlib.sha256(b"GGUF").hexdigest())
    monkeypatch.setattr("polyqa.models.gguf.find_model", lambda name: small)
    monkeypatch.setattr("polyqa.model_files.find_model", lambda name, models: small)
    out = printed("model", "pull", "--file", tmp_path / "mine.gguf")
    assert out == f"{NAMES[0]} is ready: {gguf.model_path(small)}\n"
