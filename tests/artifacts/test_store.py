"""Artifacts: what is saved comes back; what is damaged, old or hostile is refused in one clear line."""

import json
import os
import random
import resource
import socket
import subprocess
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dspy
import pytest

from lab.faults.damage import MUTATIONS, damaged_by
from polyqa.artifacts.card import Card, DataCard, IndexCard, check_settings
from polyqa.artifacts.state import dump_program, load_program, signature_fingerprints
from polyqa.artifacts.store import find_artifact, read_artifact, save_artifact
from polyqa.base.errors import PolyqaError
from polyqa.colbert_index import BiEncoderReranker, ColBERTIndex, SpanReaderReranker
from polyqa.loading import load
from polyqa.models import EMBEDDED_ENCODER, Encoder
from polyqa.programs import RAC, set_knn_demos

DEMO = {
    "passages": ["Dune (novel) | Dune appeared in August 1965."],
    "question": "When did Dune come out?",
    "interpretations": [{"question": "When did the novel Dune come out?", "answer": "August 1965", "pid": "1"}],
}
Make = Callable[..., Path]


@pytest.fixture(scope="module")
def program() -> dspy.Module:
    made = load("rac", preset="paper", passages=3)
    set_knn_demos(made, {"extract": [DEMO], "write": [{**DEMO, "answer": "In 1965."}]}, k=2)
    return made


@pytest.fixture
def make(program: dspy.Module, tmp_path: Path) -> Make:
    def write(name: str = "mine", saved: dspy.Module = program, **changes: Any) -> Path:
        index = ColBERTIndex("homonyms")
        fields: dict[str, Any] = {
            "name": name,
            "program": "rac",
            "settings": {"preset": "paper", "passages": 3},
            "signatures": signature_fingerprints(program),
            "recipe": {"name": "knn", "optimizer": "labels"},
            "measure": "dr",
            "threshold": 0.5,
            "reader": "polyqa-minilm-reader",
            "train": DataCard(source="homonyms/train", n=1, fingerprint="0"),
            "lm": "polyqa/extractive",
            "encoder": EMBEDDED_ENCODER,
            "index": IndexCard(name=index.name, fingerprint=index.fingerprint, passages=len(index)),
            "versions": {"polyqa": version("polyqa"), "dspy": version("dspy")},
            "date": "2026-01-01",
        }
        path = save_artifact(saved, Card(**fields), tmp_path / name, "# mine")
        if changes:
            card = json.loads((path / "card.json").read_text())
            (path / "card.json").write_text(json.dumps({**card, **changes}))
        return path

    return write


def with_state(path: Path, change: Callable[[Any], object]) -> Path:
    """Change the state of a saved program."""
    state = json.loads((path / "program.json").read_text())
    change(state)
    (path / "program.json").write_text(json.dumps(state))
    return path


def test_what_is_saved_comes_back(make: Make, program: dspy.Module) -> None:
    path = make()
    loaded = load(path)
    assert isinstance(loaded, RAC)
    assert loaded.passages == 3
    assert dump_program(loaded) == dump_program(program)
    assert sorted(file.name for file in path.iterdir()) == ["README.md", "card.json", "program.json"]


def test_only_the_fields_of_a_predictor_are_saved(program: dspy.Module, make: Make) -> None:
    state = json.loads((make() / "program.json").read_text())
    for name, predictor in program.named_predictors():
        assert set(state[name]) == {"signature", "demos", "knn"}
        assert all(set(demo) <= set(predictor.signature.fields) for demo in state[name]["demos"])


def test_saving_again_replaces(make: Make, program: dspy.Module) -> None:
    other = program.deepcopy()
    changed = {**DEMO, "question": "When was Dune filmed?"}
    set_knn_demos(other, {"extract": [DEMO, changed], "write": [{**changed, "answer": "In 1984."}]}, k=1)
    path = make()
    assert path == make(saved=other)
    loaded = load(path)
    assert dump_program(loaded) == dump_program(other) != dump_program(program)
    assert [demo["question"] for demo in loaded.extract.demos] == [DEMO["question"], changed["question"]]
    assert loaded.write.k == 1
    assert sorted(file.name for file in path.iterdir()) == ["README.md", "card.json", "program.json"]


def test_a_full_disk_leaves_the_old_one_and_no_half_file(make: Make) -> None:
    path = make()
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, most[1]))
    try:
        with pytest.raises(PolyqaError, match="File too large"):
            make()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"program": "os.system"}, "unknown program 'os.system'"),
        ({"format": 2}, "not a card of this version"),
        ({"signatures": {"extract": "0", "write": "0"}}, "signature of extract is not the one"),
        ({"signatures": {}}, "signature of extract is not the one"),
        ({"encoder": "/tmp/evil"}, "encoder '/tmp/evil'"),
        ({"index": {"name": "../../etc", "fingerprint": "0", "passages": 1}}, "names the index by a path"),
        ({"index": None}, "names no index"),
        ({"settings": {"passages": 900}}, "cannot be made"),
        ({"settings": {"passages": "few"}}, "The setting passages of rac is int, not 'few'"),
        ({"settings": {"retriever": "x"}}, "rac has no setting 'retriever'"),
        ({"settings": {"self": 1}}, "rac has no setting 'self'"),
        ({"settings": {"reranker": "reader"}}, "gives 'reranker' as a setting"),
        ({"settings": {"passages": 3, "encoder": "/tmp/evil"}}, "gives 'encoder' as a setting"),
        ({"settings": {"index": "../../etc"}}, "gives 'index' as a setting"),
        ({"settings": {"program": "auto"}}, "gives 'program' as a setting"),
        ({"settings": {"questions": "/tmp/evil"}}, "gives 'questions' as a setting"),
        ({"reranker": "/tmp/evil"}, "reranker '/tmp/evil': load it with reranker="),
        ({"reranker": {"name": "reader"}}, "not a card"),
        ({"settings": {"passages": [1]}}, "not a card"),
        ({"settings": {"candidates": 10**400}}, "not a card"),
        ({"api_base": "http://evil"}, "not a card"),
        ({"threshold": "x"}, "not a card"),
    ],
)
def test_a_card_that_does_not_fit_is_refused(changes: dict[str, Any], told: str, make: Make) -> None:
    with pytest.raises(PolyqaError, match=told):
        load(make(**changes))


def test_the_reranker_of_the_card_is_taken_unless_another_is_given(make: Make) -> None:
    assert isinstance(load(make()).reranker, BiEncoderReranker)
    assert isinstance(load(make(reranker="reader")).reranker, SpanReaderReranker)
    assert isinstance(load(make(reranker="some/other"), reranker="reader").reranker, SpanReaderReranker)


def test_a_given_encoder_must_be_that_of_the_card(make: Make) -> None:
    with pytest.raises(PolyqaError, match=r"encoder 'some/other': load it with encoder= of that name"):
        load(make(encoder="some/other"))
    with pytest.raises(PolyqaError, match=f"encoder '{EMBEDDED_ENCODER}'"):
        load(make(), encoder=Encoder("some/other"))
    assert load(make(), encoder=Encoder()).passages == 3


@pytest.mark.parametrize("value", [[1, 2], (1.0, 0.5), {"a": 1}, Path("x"), float("nan"), float("inf"), "x" * 501])
def test_settings_that_a_card_cannot_keep_are_told(value: Any) -> None:
    check_settings({"passages": 3, "rule": "spread", "margin": 0.5, "pruning": False, "by": None})
    with pytest.raises(PolyqaError, match=r"setting weights=.* cannot be kept in an artifact"):
        check_settings({"passages": 3, "weights": value})


def test_other_passages_and_another_dspy_are_told_and_another_signature_is_refused(make: Make) -> None:
    with pytest.warns(UserWarning, match="homonyms, that index has changed since"):
        load(make(index={"name": "homonyms", "fingerprint": "0", "passages": 1}))
    with pytest.warns(UserWarning, match="compiled with DSPy"):
        load(make(versions={"dspy": "2.5.0"}))
    with pytest.warns(UserWarning, match="compiled with DSPy unknown"):
        load(make(versions={}))
    with pytest.raises(PolyqaError, match="signature"):
        load(make(signatures={}))


def test_a_given_index_is_taken_with_a_warning(make: Make, index: ColBERTIndex) -> None:
    with pytest.warns(UserWarning, match=f"compiled over the index homonyms, not {index.name}"):
        loaded = load(make(), index=index)
    assert loaded.retriever.retrievers[0] is index
    with pytest.warns(UserWarning, match="homonyms, that index has changed since"):
        load(make(index={"name": "homonyms", "fingerprint": "0", "passages": 1}), index="homonyms")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(make(), index="homonyms")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda state: state.pop("extract"), "nothing for the predictor extract"),
        (lambda state: state.update(verify=state["extract"]), "has no predictor 'verify'"),
        (
            lambda state: state["extract"].update(lm={"model": "x", "api_base": "http://evil"}, demos="x"),
            "extract is damaged at demos",
        ),
        (lambda state: state["extract"].update(__class__="os.system"), "damaged at __class__"),
        (lambda state: state["extract"]["signature"]["fields"].pop(), "signature of extract has changed"),
        (lambda state: state["extract"]["knn"].update(k=0), "damaged at knn.k"),
        (lambda state: state["extract"]["knn"].update(encoder="/tmp/evil"), "picked with the encoder"),
        (lambda state: state["extract"]["knn"].update(field="answer"), "no input 'answer'"),
        (lambda state: state["extract"]["signature"].update(instructions=7), "damaged at signature.instructions"),
    ],
)
def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(
    change: Callable[[Any], Any], told: str, make: Make, program: dspy.Module
) -> None:
    path, before = with_state(make(), change), dump_program(program)
    with pytest.raises(PolyqaError, match=told):
        load(path)
    with pytest.raises(PolyqaError):
        load_program(program, json.loads((path / "program.json").read_text()), "here")
    assert dump_program(program) == before


def test_a_language_model_in_a_state_is_left_out(make: Make) -> None:
    evil = {"model": "openai/evil", "api_base": "http://evil", "api_key": "k"}
    assert load(with_state(make(), lambda state: state["extract"].update(lm=evil))).extract.lm is None


def test_names_cannot_leave_the_folder(tmp_path: Path, make: Make) -> None:
    path = make()
    for name in ("../compiled", "..", ".", "", "a/../../b", str(tmp_path / "none")):
        assert find_artifact(name) is None
    with pytest.raises(PolyqaError, match="no compiled program 'nothing'"):
        read_artifact("nothing")
    secret = tmp_path / "secret.json"
    secret.write_text("{}")
    (path / "program.json").unlink()
    (path / "program.json").symlink_to(secret)
    with pytest.raises(PolyqaError, match="no regular file"):
        load(path)


def test_oversize_files_are_refused_before_they_are_read(make: Make) -> None:
    path = make()
    with (path / "program.json").open("r+b") as file:
        file.truncate(65 << 20)  # sparse: takes no disk
    with pytest.raises(PolyqaError, match="larger than 64 MB"):
        load(path)


@pytest.mark.slow
def test_a_thousand_hostile_artifacts(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each loads to a program of prompts, or is refused; nothing is run, written or connected to."""
    path = make()
    (path / "README.md").unlink()  # nobody reads it
    originals = {file: file.read_bytes() for file in path.iterdir()}
    index = ColBERTIndex("homonyms")
    index.search("warm up", 1)

    def forbidden(*args: object, **options: object) -> None:
        raise AssertionError(f"an artifact ran something: {args}")

    for module, name in ((os, "system"), (subprocess, "Popen"), (socket.socket, "connect"), (os, "execv")):
        monkeypatch.setattr(module, name, forbidden)
    draw = random.Random(0)
    refusals: list[str] = []
    for _ in range(1_000):
        damaged_by(draw.choice(list(MUTATIONS)), path, draw)
        listing = sorted(tmp_path.rglob("*"))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                loaded = load(path, index=index)
        except PolyqaError as error:
            refusals.append(str(error))
        else:
            assert isinstance(loaded, dspy.Module)
            assert all(predictor.lm is None for _, predictor in loaded.named_predictors())
        assert sorted(tmp_path.rglob("*")) == listing
        for file, data in originals.items():
            file.write_bytes(data)
    assert len(refusals) > 500
    assert all("\n" not in text and len(text) < 1_500 for text in refusals)
