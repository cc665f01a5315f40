"""DIVA through the real index and the embedded engine."""

import dspy
import pytest

from polyqa.base.values import AmbiguityType, Coverage
from polyqa.colbert_index import BiEncoderReranker, FusedRetriever
from polyqa.models import Encoder
from polyqa.programs import DIVA

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
