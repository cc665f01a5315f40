import shutil
from pathlib import Path

import dspy
import pytest

from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, build_index, read_corpus
from polyqa.extractive import embedded_lm
from polyqa.models import Encoder, Reader
from polyqa.questions import Generation, QuestionDatabase, generate_questions
from polyqa.questions.database import write_database

CORPUS = Path(__file__).parents[1] / "questions" / "corpus.jsonl"


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
    journal = tmp_path_factory.mktemp("generation") / "journal.sqlite"
    return generate_questions(corpus, lm=lm, reader=reader, journal=journal, threads=2)


@pytest.fixture(scope="session")
def corpus_index(corpus: list[Passage], encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> ColBERTIndex:
    folder = tmp_path_factory.mktemp("indexes") / "twelve"
    return build_index(corpus, folder, encoder=encoder, progress=False)


@pytest.fixture(scope="session")
def database(
    corpus_index: ColBERTIndex,
    generation: Generation,
    encoder: Encoder,
    tmp_path_factory: pytest.TempPathFactory,
) -> QuestionDatabase:
    """The questions of `generation`, in a folder of its own; tests that change it take `copy_database`."""
    folder = tmp_path_factory.mktemp("database") / "questions"
    folder.mkdir()
    write_database(folder, generation, corpus_index, encoder)
    return QuestionDatabase(folder, encoder=encoder, index=corpus_index)


@pytest.fixture
def copy_database(database: QuestionDatabase, tmp_path: Path) -> Path:
    return Path(shutil.copytree(database.path, tmp_path / "copy"))
