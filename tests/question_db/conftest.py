from pathlib import Path

import dspy
import pytest

from colbert_index import read_corpus
from embedded_models import Reader
from engines.extractive import embedded_lm
from question_db import Generation, generate_questions
from signatures import Passage

CORPUS = Path(__file__).parents[1] / "optimizers" / "corpus.jsonl"


@pytest.fixture(scope="session")
def corpus() -> list[Passage]:
    return read_corpus(CORPUS)[:12]


@pytest.fixture(scope="session")
def lm() -> dspy.LM:
    return embedded_lm()


@pytest.fixture(scope="session")
def generation(
    corpus: list[Passage], lm: dspy.LM, reader: Reader, tmp_path_factory: pytest.TempPathFactory
) -> Generation:
    journal = tmp_path_factory.mktemp("generation") / "journal.jsonl"
    return generate_questions(corpus, lm=lm, reader=reader, journal=journal, threads=2)
