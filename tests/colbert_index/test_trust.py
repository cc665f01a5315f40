"""An index of a stranger's loads no model that nobody here has named, and never runs code of one."""

import errno
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import polyqa
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, add_passages, build_index, check_index, remove_passages
from polyqa.colbert_index.checkpoint import embedded_checkpoint, resolve_checkpoint
from polyqa.colbert_index.trust import trust, trusted_checkpoint, trusted_encoder

NEW = Passage(pid="new", title="New", text="A new passage.")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for what is trusted that no other test shares."""
    folder = tmp_path / "home"
    monkeypatch.setattr("polyqa.colbert_index.trust.checkpoint_home", lambda: folder)
    return folder


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A checkpoint of somebody's: the embedded one in another place."""
    return Path(shutil.copytree(embedded_checkpoint(), tmp_path / "own"))


def naming(folder: Path, **manifest: str) -> Path:
    """Write other names into the manifest of an index's version; return the index."""
    path = folder / "polyqa.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **manifest}))
    return folder.parents[1]


def with_code(checkpoint: Path, told: Path) -> Path:
    """Put code beside a checkpoint's weights that writes a file when it runs."""
    (checkpoint / "evil.py").write_text(f"open({str(told)!r}, 'w').close()\nclass Config: pass\n")
    config = json.loads((checkpoint / "config.json").read_text())
    (checkpoint / "config.json").write_text(json.dumps({**config, "auto_map": {"AutoConfig": "evil.Config"}}))
    return checkpoint


USES: dict[str, Callable[[ColBERTIndex], object]] = {
    "search": lambda index: index.search("kite"),
    "ask": lambda index: polyqa.load("rac", index=index)(question="Why does a kite spin?"),
    "add": lambda index: add_passages(index, [NEW]),
    "remove": lambda index: remove_passages(index, [index.passages[0].pid]),
    "check": lambda index: check_index(index.path),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("name", ["somebody/colbert", "{own}"])
def test_a_checkpoint_that_nobody_named_is_not_loaded(
    use: Callable[[ColBERTIndex], object], name: str, copy_folder: Callable[[], Path], own: Path, tmp_path: Path
) -> None:
    with_code(own, tmp_path / "ran")
    index = ColBERTIndex(naming(copy_folder(), checkpoint=name.format(own=own)))
    with pytest.raises(PolyqaError, match=r"not polyqa's own.*polyqa index info .* --trust"):
        use(index)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("use", ["add", "check"])
def test_nor_is_an_encoder(use: str, copy_folder: Callable[[], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # the hub's client would try for a minute
    index = ColBERTIndex(naming(copy_folder(), encoder="somebody/encoder"))
    with pytest.raises(PolyqaError, match=r"'somebody/encoder', which is not polyqa's own"):
        USES[use](index)
    assert trust(index.manifest) == ["somebody/encoder"]
    with pytest.raises(Exception, match="huggingface"):  # it is looked for now
        USES[use](index)


def test_a_model_is_trusted_as_a_checkpoint_and_as_an_encoder(
    index: ColBERTIndex, copy_folder: Callable[[], Path], own: Path
) -> None:
    both = ColBERTIndex(naming(copy_folder(), checkpoint=str(own), encoder=str(own)))
    assert trust(both.manifest) == [str(own)]
    assert trusted_encoder(both.manifest, both.path) == str(own)
    trust(both.manifest.model_copy(update={"encoder": None}))
    trust(index.manifest.model_copy(update={"encoder": str(own)}))
    assert both.search("kite")
    assert trusted_encoder(both.manifest, both.path) == str(own)
    with pytest.raises(PolyqaError, match=r"polyqa index info .* --trust"):
        trusted_checkpoint(both.manifest.model_copy(update={"checkpoint_hash": "0" * 16}), both.path)


@pytest.mark.parametrize("part", ["config.json", "tokenizer_config.json"])
def test_code_of_its_own_never_runs(part: str, own: Path, copy_folder: Callable[[], Path], tmp_path: Path) -> None:
    with_code(own, tmp_path / "ran")
    if part != "config.json":
        (own / part).write_text((own / "config.json").read_text())
        shutil.copy(embedded_checkpoint() / "config.json", own / "config.json")
    index = ColBERTIndex(naming(copy_folder(), checkpoint=str(own)))
    for use in (
        lambda: trust(index.manifest),
        lambda: build_index([NEW], tmp_path / "made", checkpoint=str(own), progress=False),
    ):
        with pytest.raises(PolyqaError, match="code of its own"):
            use()
    assert not (tmp_path / "ran").exists()


def test_weights_are_safetensors(own: Path) -> None:
    (own / "model.safetensors").rename(own / "pytorch_model.bin")
    with pytest.raises(PolyqaError, match="no weights as safetensors"):
        resolve_checkpoint(str(own))


def test_who_builds_with_a_checkpoint_trusts_it_as_it_is(own: Path, home: Path, tmp_path: Path) -> None:
    built = build_index([NEW], tmp_path / "made", checkpoint=str(own), progress=False)
    assert built.search("new")[0].pid == "new"
    (home / "trusted.json").unlink()
    with pytest.raises(PolyqaError, match=r"polyqa index info .* --trust"):
        ColBERTIndex(built.path).search("new")
    assert trust(built.manifest) == [str(own)]
    assert ColBERTIndex(built.path).search("new")[0].pid == "new"
    with (own / "model.safetensors").open("r+b") as weights:
        weights.seek(-1, 2)
        weights.write(b"\x01")
    for use in (lambda: ColBERTIndex(built.path).search("new"), lambda: trust(built.manifest)):
        with pytest.raises(PolyqaError, match="other weights of"):
            use()


def test_the_embedded_models_need_no_naming(index: ColBERTIndex, home: Path) -> None:
    assert trust(index.manifest) == []
    assert not home.exists()


@pytest.mark.parametrize("text", ["{", "[]", '"all"'])
def test_a_broken_list_trusts_nobody(text: str, home: Path, copy_folder: Callable[[], Path]) -> None:
    home.mkdir()
    (home / "trusted.json").write_text(text)
    with pytest.raises(PolyqaError, match=r"trusted\.json cannot be read"):
        ColBERTIndex(naming(copy_folder(), checkpoint="somebody/colbert")).search("kite")


def test_a_list_that_may_not_be_read_is_told(
    home: Path, copy_folder: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    index = ColBERTIndex(naming(copy_folder(), checkpoint="somebody/colbert"))
    home.mkdir()
    (home / "trusted.json").touch()
    monkeypatch.setattr(Path, "read_bytes", forbidden)
    with pytest.raises(PolyqaError, match=r"trusted\.json cannot be read: Permission denied\. Mend that"):
        trusted_checkpoint(index.manifest, index.path)
