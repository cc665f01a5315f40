"""DIVA through the real index and the embedded engine."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import dspy
import pytest

import polyqa
from polyqa.base.values import AmbiguityType, Coverage
from polyqa.colbert_index import BiEncoderReranker, FusedRetriever
from polyqa.language_models import shared_reader
from polyqa.metrics.gold import Question
from polyqa.models import Encoder
from polyqa.optimizers.labels import label_demos
from polyqa.programs import DIVA, set_knn_demos

QUESTION = "When did Titanic come out?"


@pytest.fixture
def diva(parts: tuple[FusedRetriever, BiEncoderReranker], encoder: Encoder) -> DIVA:
    return DIVA(*parts, encoder=encoder, preset="paper")


def test_diva_reports_every_stage(diva: DIVA, embedded: dspy.LM) -> None:
    result = diva(question=QUESTION)
    assert result.coverage in (Coverage.USEFUL, Coverage.PARTIAL_USEFUL)
    assert len(result.verdicts) == len(result.pseudo_interpretations) >= 2
    assert all(isinstance(kind, AmbiguityType) for kind in result.ambiguity)
    assert result.reason
    assert {reading.pid for reading in result.interpretations} <= {passage.pid for passage in result.passages}
    assert result.get_lm_usage()["polyqa/extractive"]["prompt_tokens"] > 1000


def test_covering_follows_equations_4_and_5(diva: DIVA) -> None:
    pseudo = ["When was the ship Titanic launched?", "When did the musical Titanic open on Broadway?"]
    passages = diva.covering(diva.search(QUESTION), pseudo)
    candidates = diva.retriever.search(QUESTION, diva.candidates)
    relevance = diva.reranker.score(pseudo, candidates)
    union = set()
    for row in relevance:
        union |= {candidates[i].pid for i in sorted(range(len(row)), key=lambda i: -row[i])[:5]}
    mean = dict(zip((c.pid for c in candidates), relevance.mean(axis=0), strict=True))
    assert [p.pid for p in passages] == sorted(union, key=lambda pid: -mean[pid])[:5]
    assert {"titanic-ship", "titanic-musical"} <= {p.pid for p in passages}


_CHILD = """
import json, sys
import dspy
import polyqa
from polyqa.asking import ask
program = polyqa.load("diva", demos=sys.argv[1], preset="paper")
result = ask(sys.argv[2], program=program)
print(json.dumps([result.to_dict() | {"seconds": 0}, [call.messages for call in result.calls]], default=str))
"""


@pytest.mark.slow
def test_a_saved_diva_gives_identical_prompts_and_answers_in_a_new_process(
    diva: DIVA, training: Callable[[str], list[Question]], tmp_path: Path
) -> None:
    set_knn_demos(diva, label_demos(diva, training("diva")), k=1)
    diva.source_reader = shared_reader()  # as `polyqa.load` gives it
    path = tmp_path / "diva.json"
    diva.save(str(path))
    here = polyqa.ask(QUESTION, program=diva)
    child = subprocess.run(
        [sys.executable, "-c", _CHILD, str(path), QUESTION], capture_output=True, text=True, check=True
    )
    result, prompts = json.loads(child.stdout.splitlines()[-1])
    expected = json.loads(json.dumps(here.to_dict() | {"seconds": 0}, default=str))
    assert {**result, "program": ""} == {**expected, "program": ""}
    # Concurrent calls end in any order.
    assert sorted(map(json.dumps, prompts)) == sorted(json.dumps(call.messages) for call in here.calls)
