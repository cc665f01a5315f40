"""Generation on a real Ray cluster of two workers."""

import json
from functools import partial
from pathlib import Path

import pytest

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.language_models import Models
from polyqa.models import Reader
from polyqa.question_building import make_models
from polyqa.questions import Generation, QuestionSettings, generate_questions
from polyqa.questions.distributed import on_ray

pytest.importorskip("ray", reason="Ray is an extra: pip install 'polyqa[ray]'")

pytestmark = pytest.mark.slow


def test_two_workers_make_the_same_questions_and_go_on_from_the_journal(
    corpus: list[Passage], generation: Generation, reader: Reader, tmp_path: Path
) -> None:
    """The journal begins as a local one that was stopped after three passages, and ends as one of Ray."""
    from polyqa.extractive import embedded_lm

    journal = tmp_path / "journal.jsonl"

    def stop() -> None:
        if len(journal.read_bytes().splitlines()) > 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate_questions(corpus, lm=embedded_lm(), reader=reader, journal=journal, threads=1, step=stop)
    before = journal.read_text().splitlines()
    assert 3 < len(before) < len(corpus)
    steps: list[int] = []
    models = partial(make_models, Models(reader=reader.name))
    with pytest.raises(PolyqaError, match="revisions was 2, is 1"):
        on_ray(models, settings=QuestionSettings(revisions=1))(corpus, journal=journal, step=stop)
    generate = on_ray(models, workers=2)
    made = generate(corpus, journal=journal, step=lambda: steps.append(1))
    assert made == generation
    assert len(steps) == len(corpus)
    lines = journal.read_text().splitlines()
    assert lines[: len(before)] == before
    assert sorted(json.loads(line)["pid"] for line in lines[1:]) == sorted(one.pid for one in corpus)
    again = generate(corpus, journal=journal, step=lambda: None)
    assert again == generation
    assert journal.read_text().splitlines() == lines


def test_bad_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        on_ray(partial(make_models, Models(reader="r")), workers=0)
