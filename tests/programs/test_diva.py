"""DIVA through the real index and the embedded engine."""

import json
import subprocess
import sys
from pathlib import Path

import dspy
import pytest

from polyqa.base.values import AmbiguityType, Coverage
from polyqa.colbert_index import BiEncoderReranker, FusedRetriever
from polyqa.lm.recorder import recording
from polyqa.models import Encoder
from polyqa.programs import DIVA, set_knn_demos

QUESTION = "When did Titanic come out?"
NONSENSE = "Which quokka won the quantum ukulele sprint on Enceladus?"


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


def test_diva_answers_closed_book_when_the_passages_are_useless(diva: DIVA, embedded: dspy.LM) -> None:
    result = diva(question=NONSENSE)
    assert result.coverage is Coverage.USELESS
    assert not any(result.verdicts)
    assert list(result.interpretations) == []
    assert "do not know" in result.answer


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


def test_prompts_start_with_what_never_changes(diva: DIVA, embedded: dspy.LM) -> None:
    with recording(embedded) as recorder:
        diva(question=QUESTION)
    verifications = [call.messages for call in recorder.calls if "answerable" in str(call.messages[0])]
    assert len(verifications) >= 2
    heads = {str(messages[-1]["content"]).split("## question\n")[0] for messages in verifications}
    assert len(heads) == 1, "passages come before the interpretation: one prefix for all verifications"


def examples() -> list[dict[str, object]]:
    return [
        {
            "question": "When did Solaris come out?",
            "reason": "[AmbObj] Solaris may be the novel, the 1972 film or the 2002 film.",
            "ambiguity_types": ["AmbObj"],
            "pseudo_interpretations": [
                "When did the novel Solaris come out?",
                "When did the 1972 film Solaris come out?",
            ],
            "interpretations": [
                {"question": "When did the novel Solaris come out?", "answer": "1961"},
                {"question": "When did the 1972 film Solaris come out?", "answer": "1972"},
            ],
            "answer": "Solaris may be a novel or a film. The novel came out in 1961. The first film followed in 1972.",
        },
        {
            "question": "Who was the first king?",
            "reason": "[AmbLoc] Many countries had a first king.",
            "ambiguity_types": ["AmbLoc"],
            "pseudo_interpretations": ["Who was the first king in Norway?", "Who was the first king in Siam?"],
            "interpretations": [{"question": "Who was the first king of Norway?", "answer": "Harald Fairhair"}],
            "answer": "It depends on the country. In Norway it was Harald Fairhair. Elsewhere it was someone else.",
        },
    ]


def with_demos(diva: DIVA) -> DIVA:
    pool = examples()
    set_knn_demos(diva, dict.fromkeys(("classify", "infer", "extract", "write"), pool), k=1)
    return diva


def test_demos_change_what_the_engine_does(diva: DIVA, embedded: dspy.LM) -> None:
    bare = diva(question="When did Dune come out?")
    shown = with_demos(diva)(question="When did Dune come out?")
    assert "When did the novel Dune come out?" in shown.pseudo_interpretations
    assert shown.pseudo_interpretations != bare.pseudo_interpretations
    long = [one | {"answer": "It was founded more than once, and not by one alone. " * 20} for one in examples()]
    set_knn_demos(diva, {"write": long}, k=1)
    assert len(diva(question="When did Dune come out?").answer.split()) > len(shown.answer.split())


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
def test_a_saved_diva_gives_identical_prompts_and_answers_in_a_new_process(diva: DIVA, tmp_path: Path) -> None:
    import polyqa
    from polyqa.language_models import shared_reader

    with_demos(diva)
    diva.source_reader = shared_reader()  # as `polyqa.load` gives it
    path = tmp_path / "diva.json"
    diva.save(str(path))
    assert "Solaris" in path.read_text()
    here = polyqa.ask(QUESTION, program=diva)
    child = subprocess.run(
        [sys.executable, "-c", _CHILD, str(path), QUESTION], capture_output=True, text=True, check=True
    )
    result, prompts = json.loads(child.stdout.splitlines()[-1])
    expected = json.loads(json.dumps(here.to_dict() | {"seconds": 0}, default=str))
    assert {**result, "program": ""} == {**expected, "program": ""}
    key = lambda messages: json.dumps(messages)  # noqa: E731  concurrent calls end in any order
    assert sorted(map(key, prompts)) == sorted(key(call.messages) for call in here.calls)
