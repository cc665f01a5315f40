import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, IndexSettings, build_index, check_index, compressing
from polyqa.colbert_index.checkpoint import checkpoint_hash, embedded_checkpoint, resolve_checkpoint
from polyqa.colbert_index.compressing import sampled
from polyqa.colbert_index.engine import encode_documents
from polyqa.colbert_index.settings import fingerprint
from polyqa.colbert_index.store import checkpoint_home
from polyqa.models import Encoder

QUERIES = ["what stops the kite from spinning", "why does printing metal hold lead", "salt in the tea"]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith(".") and path.suffix != ".lock")


def test_two_builds_of_the_same_passages_are_the_same_index(
    index: ColBERTIndex, passages: list[Passage], encoder: Encoder, tmp_path: Path
) -> None:
    again = build_index(passages, tmp_path / "again", encoder=encoder, progress=False)
    assert again.fingerprint == index.fingerprint
    assert again.manifest == index.manifest
    assert again.search_many(QUERIES, 5) == index.search_many(QUERIES, 5)


def test_the_fingerprint_names_passages_order_checkpoint_and_settings(
    index: ColBERTIndex, passages: list[Passage]
) -> None:
    hashed = index.manifest.checkpoint_hash
    first, *rest = passages
    variants: list[tuple[list[Passage | None], str, IndexSettings]] = [
        ([*passages], hashed, index.settings),
        ([*rest, first], hashed, index.settings),
        ([*rest], hashed, index.settings),
        ([None, *rest], hashed, index.settings),
        ([first.model_copy(update={"text": f"{first.text} "}), *rest], hashed, index.settings),
        ([first.model_copy(update={"title": ""}), *rest], hashed, index.settings),
        ([first.model_copy(update={"pid": "other"}), *rest], hashed, index.settings),
        ([*passages], hashed[::-1], index.settings),
        ([*passages], hashed, IndexSettings(nbits=4)),
    ]
    found = [fingerprint(*variant) for variant in variants]
    assert found[0] == index.fingerprint
    assert len(set(found)) == len(variants)
    assert fingerprint([p.with_score(9) for p in passages], hashed, index.settings) == index.fingerprint


@pytest.mark.parametrize("count", [1, 2])
def test_tiny_corpora(passages: list[Passage], tmp_path: Path, count: int) -> None:
    few = passages[:count]
    built = build_index(few, tmp_path / "few", progress=False)
    assert len(built) == count
    for passage in few:
        found = built.search(passage.text, k=10)
        assert found[0].pid == passage.pid
        assert {hit.pid for hit in found} <= {other.pid for other in few}
        assert built.bm25.search(passage.text)[0].pid == passage.pid
    assert check_index(tmp_path / "few").passages == few


def test_a_corpus_of_several_chunks(passages: list[Passage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressing, "_CHUNK", 15)  # the usual 25,000 passages would take minutes
    monkeypatch.setattr(compressing, "sampled", lambda count, *_: [*range(17, 0, -2), *range(18, 30, 2)])
    encoded: list[str] = []

    def encode(model: Any, texts: Any, *more: Any) -> Any:
        encoded.extend(texts)
        return encode_documents(model, texts, *more)

    monkeypatch.setattr(compressing, "encode_documents", encode)
    built = build_index(passages, tmp_path / "chunks", progress=False)
    assert (built.folder / "2.codes.pt").is_file()
    assert not (built.folder / "3.codes.pt").exists()
    check_index(built.path)
    assert sorted(encoded) == sorted(one.indexed_text for one in passages)  # those of the sample, too, once
    for passage in passages[::6]:
        assert built.search(passage.text, k=3)[0].pid == passage.pid


@pytest.mark.parametrize("settings", [{"nbits": 3}, {"doc_maxlen": 600}, {"doc_maxlen": 2}, {"batch_size": 0}])
def test_impossible_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        IndexSettings(**settings)


@pytest.mark.parametrize("texts", [["the of and"], ["...", "?!"]])
def test_a_corpus_without_a_word_for_bm25(tmp_path: Path, texts: list[str]) -> None:
    built = build_index(texts, tmp_path / "x", progress=False)
    for opened in (built, ColBERTIndex(built.path)):
        assert opened.bm25.search("the kite") == []
    assert check_index(built.path).search("the kite", k=1)


def test_a_passage_is_cut_at_doc_maxlen(tmp_path: Path) -> None:
    long = "Steam keeps the crust soft. " * 20 + "A marmot whistles."
    built = build_index([long, "A loaf."], tmp_path / "cut", settings=IndexSettings(doc_maxlen=16), progress=False)
    assert 16 < built.manifest.tokens <= 32


def test_a_checkpoint_by_its_path_makes_the_same_index(
    index: ColBERTIndex, passages: list[Passage], tmp_path: Path
) -> None:
    location = str(embedded_checkpoint())
    built = build_index(passages, tmp_path / "by_path", checkpoint=location, progress=False)
    assert built.fingerprint == index.fingerprint
    assert built.manifest.checkpoint == location


def test_a_folder_of_a_model_is_found_from_any_other(
    passages: list[Passage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "mine").symlink_to(embedded_checkpoint())
    monkeypatch.chdir(tmp_path)
    encoder = Encoder()
    encoder.encode(["It is loaded."])
    encoder.name = "models"
    assert resolve_checkpoint("models/mine") == str(tmp_path / "models" / "mine")  # else the hub would be asked
    build_index(passages, "./mine", checkpoint="models/mine", encoder=encoder, progress=False)
    opened = ColBERTIndex("./mine")
    assert opened.vectors("models") is not None
    monkeypatch.chdir("/")
    assert opened.search("the kite", 1)
    assert opened.manifest.encoder == str(tmp_path / "models")
    assert opened.vectors("models") is None


@pytest.mark.parametrize("checkpoint", ["./nowhere", "/no/such/checkpoint", "~/no/such", "a/b/c", "empty"])
def test_what_is_no_checkpoint(
    passages: list[Passage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkpoint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(PolyqaError, match=r"There is no ColBERT checkpoint at|no ColBERT checkpoint: it has no config"):
        build_index(passages, tmp_path / "x", checkpoint=checkpoint, progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


def test_a_checkpoint_in_the_home_of_nobody_is_told(passages: list[Passage], tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match=r"^~nobody-of-this-name/colbert: .* give the whole path"):
        build_index(passages, tmp_path / "x", checkpoint="~nobody-of-this-name/colbert", progress=False)


def test_the_hash_of_a_checkpoint_is_that_of_weights_and_configuration(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "README.md").write_text("one")
    hashed = checkpoint_hash(str(tmp_path))
    (tmp_path / "README.md").write_text("two")
    assert checkpoint_hash(str(tmp_path)) == hashed
    (tmp_path / "config.json").write_text('{"a": 1}')
    other = checkpoint_hash(str(tmp_path))
    (tmp_path / "model.safetensors").write_bytes(b"weightz")
    assert len({hashed, other, checkpoint_hash(str(tmp_path))}) == 3


def test_an_index_is_overwritten_only_on_demand(copy_index: Callable[[], Path]) -> None:
    path = copy_index()
    before = contents(path)
    with pytest.raises(PolyqaError, match="exists; remove it, choose another name, or overwrite it"):
        build_index(["A marmot whistles."], path, progress=False)
    assert contents(path) == before
    kept = path / "questions" / "table", path / ".questions.journal.jsonl"  # what others keep in an index
    kept[0].parent.mkdir()
    for file in kept:
        file.write_text("paid for")
    built = build_index(["A marmot whistles."], path, overwrite=True, progress=False)
    assert [passage.text for passage in ColBERTIndex(path).passages] == ["A marmot whistles."]
    assert built.search("kite", k=5)[0].text == "A marmot whistles."
    assert not (built.folder / "vectors.npy").exists()
    assert [file.read_text() for file in kept] == ["paid for", "paid for"]
    assert leftovers(path.parent) == []


def test_an_index_that_was_built_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    def corpus() -> Iterator[str]:
        build_index(["A marmot whistles."], tmp_path / "x", progress=False)
        yield "A kite flies."

    with pytest.raises(PolyqaError, match="exists; remove it, choose another name, or overwrite it"):
        build_index(corpus(), tmp_path / "x", progress=False)
    assert [passage.text for passage in ColBERTIndex(tmp_path / "x").passages] == ["A marmot whistles."]
    assert leftovers(tmp_path) == []


def test_an_index_behind_a_link_can_be_built_again(copy_index: Callable[[], Path]) -> None:
    link = copy_index().with_name("link")
    link.symlink_to("copy")
    for text in ("one whistle", "two whistles"):
        assert build_index([text], link, overwrite=True, progress=False).passages[0].text == text
    assert ColBERTIndex(link.with_name("copy")).passages[0].text == "two whistles"
    assert link.is_symlink()


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("kind", ["folder", "empty folder", "file"])
def test_a_foreign_place_is_left_alone(tmp_path: Path, kind: str, overwrite: bool) -> None:
    target = tmp_path / "mine"
    if kind == "file":
        target.write_text("a diary")
    else:
        target.mkdir()
    if kind == "folder":
        (target / "diary.txt").write_text("a diary")
    with pytest.raises(PolyqaError, match="is not a polyqa index; it is left alone"):
        build_index(["A marmot whistles."], target, overwrite=overwrite, progress=False)
    assert list(tmp_path.iterdir()) == [target]
    if kind != "empty folder":
        assert (target if kind == "file" else target / "diary.txt").read_text() == "a diary"


def test_a_faulty_corpus_leaves_no_trace(tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match="an id is a text or a number"):
        build_index(["fine", {"id": ["x"], "text": "fine"}], tmp_path / "x", progress=False)
    assert list(tmp_path.iterdir()) == []


_TRACED_BUILD = """
import sys
connections = []
sys.addaudithook(lambda event, args: event == "socket.connect" and connections.append(args[1]))
from polyqa.colbert_index import ColBERTIndex, build_index
from polyqa.models import Encoder
built = build_index("corpus.tsv", "./traced", encoder=Encoder(), progress=False)
found = built.search("marmot")
assert connections == [], connections
assert found
"""


@pytest.mark.slow
def test_a_build_connects_to_nothing_prints_nothing_and_does_not_tell_who_made_it(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("zanzigrub")  # folder and user have names that stand out
    (folder / "corpus.tsv").write_text("1\tA marmot whistles.\n2\tThe burrow is dry.\n", encoding="utf-8")
    environment = {**os.environ, **dict.fromkeys(("USER", "LOGNAME", "USERNAME"), "quibblefen")}
    assert subprocess.check_output([sys.executable, "-c", _TRACED_BUILD], cwd=folder, env=environment) == b""
    secrets = [b"zanzigrub", b"quibblefen", os.fsencode(Path.home()), os.fsencode(checkpoint_home())]
    host = os.uname().nodename
    secrets.append(host.encode() if len(host) > 6 else f'"{host}"'.encode())  # a short one may stand in any file
    for name, content in contents(folder / "traced").items():
        for secret in secrets:
            assert secret not in content, name


@pytest.mark.parametrize(
    ("passages", "characters", "drawn"),
    [
        (40, 40 * 100, 40),
        (20_000, 20_000 * 500, 10_381),
        (100_000, 100_000 * 500, 20_762),  # 32,768 centroids of 64 vectors, 111 in each passage
        (100_000, 100_000 * 9_000, 25_632),  # longer ones are cut at 180 tokens: 65,536 centroids
        (100_000, 10, 55_426),
    ],
)
def test_no_more_passages_are_drawn_than_the_centroids_need(passages: int, characters: int, drawn: int) -> None:
    numbers = sampled(passages, characters, IndexSettings())
    assert len(numbers) == pytest.approx(drawn, rel=0.01)
    assert len({*numbers}) == len(numbers)
    assert all(0 <= number < passages for number in numbers)
    assert numbers == sampled(passages, characters, IndexSettings())
    assert numbers != sampled(passages, characters, IndexSettings(seed=1))
