"""Generation on a real Ray cluster of two workers."""

from collections.abc import Callable
from pathlib import Path

import pytest
from harness import ledger_rows

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.cluster import Ray
from polyqa.language_models import Models
from polyqa.models import Reader
from polyqa.question_building import reading_on_ray
from polyqa.questions import Generation, QuestionSettings, generate_questions

pytest.importorskip("ray", reason="Ray is an extra: pip install 'polyqa[ray]'")

pytestmark = pytest.mark.slow


def test_two_workers_make_the_same_questions_and_go_on_from_the_journal(
    corpus: list[Passage], generation: Generation, reader: Reader, tmp_path: Path
) -> None:
    """The journal begins as a local one that was stopped after three passages, and ends as one of Ray."""
    from polyqa.extractive import embedded_lm

    journal = tmp_path / "journal.sqlite"

    kept: list[int] = []

    def stop() -> None:
        kept.append(1)
        if len(kept) > 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate_questions(corpus, lm=embedded_lm(), reader=reader, journal=journal, threads=1, step=stop)
    before = list(ledger_rows(journal))
    assert 3 < len(before) < len(corpus)
    steps: list[int] = []

    def generate(step: Callable[[], None], settings: QuestionSettings = QuestionSettings()) -> Generation:
        return generate_questions(
            corpus,
            lm=embedded_lm(),
            reader=reader,
            journal=journal,
            settings=settings,
            threads=2,
            step=step,
            elsewhere=reading_on_ray(Models(reader=reader.name), settings, Ray(2), at_once=1),
        )

    with pytest.raises(PolyqaError, match="revisions was 2, is 1"):
        generate(stop, QuestionSettings(revisions=1))
    made = generate(lambda: steps.append(1))
    assert made == generation
    assert len(steps) == len(corpus)
    every = list(ledger_rows(journal))
    assert every[: len(before)] == before
    assert sorted(every) == sorted(one.pid for one in corpus)
    again = generate(lambda: None)
    assert again == generation
    assert list(ledger_rows(journal)) == every
