import dataclasses
from collections import Counter

import pytest

from lab.homonyms import faults
from polyqa.base.values import Passage
from polyqa.colbert_index import read_corpus
from polyqa.evaluation.homonyms import SPLITS, corpus_path
from polyqa.evaluation.loading import load_questions
from polyqa.metrics.gold import Question

Splits = dict[str, list[Question]]


@pytest.fixture(scope="module")
def passages() -> list[Passage]:
    return read_corpus(corpus_path())


@pytest.fixture(scope="module")
def splits() -> Splits:
    return {split: load_questions("homonyms", split=split) for split in SPLITS}


@pytest.mark.slow
def test_the_shipped_data_has_no_fault(passages: list[Passage], splits: Splits) -> None:
    assert list(faults(passages, splits)) == []


def test_the_shipped_data_is_as_large_as_promised(passages: list[Passage], splits: Splits) -> None:
    questions = [question for own in splits.values() for question in own]
    kinds = Counter(question.ambiguity for question in questions)
    assert len(passages) >= 240
    assert sum(count for kind, count in kinds.items() if kind != "none") >= 80
    assert kinds["none"] >= 40
    assert min(kinds[kind] for kind in ("subject", "object", "predicate", "time", "location")) >= 5
    assert all(len(splits[split]) >= 40 for split in SPLITS)


def changed(splits: Splits, **change: object) -> Splits:
    """Return the splits with their first ambiguous dev question changed."""
    dev = list(splits["dev"])
    at = next(i for i, question in enumerate(dev) if question.ambiguity != "none")
    dev[at] = dataclasses.replace(dev[at], **change)
    return {**splits, "dev": dev}


def test_the_checker_finds_what_is_wrong_with_questions(passages: list[Passage], splits: Splits) -> None:
    few = passages[:2]  # duplicates are looked for elsewhere; fewer passages are faster
    usual = set(faults(few, splits))

    question = next(q for q in splits["dev"] if q.ambiguity != "none")
    reading = question.readings[0]
    lost = dataclasses.replace(reading, pid="nowhere")
    same = dataclasses.replace(reading, question="Another question altogether?")
    changes: dict[str, dict[str, object]] = {
        "nowhere": {"readings": (lost, *question.readings[1:])},
        "answers repeat": {"readings": (reading, same)},
        "long answer": {"long_answers": question.long_answers[:1]},
        "lacks": {"long_answers": ("Nothing.", "Nothing.")},
        "readings for": {"readings": question.readings[:1]},
        "ambiguity": {"ambiguity": "vague"},
        "also in": {"question": splits["train"][0].question},
    }
    for told, change in changes.items():
        assert any(told in fault for fault in set(faults(few, changed(splits, **change))) - usual), told


def test_the_checker_finds_what_is_wrong_with_passages(passages: list[Passage], splits: Splits) -> None:
    by_pid = {passage.pid: passage for passage in passages}
    reading = next(q for q in splits["train"] if q.ambiguity == "none").readings[0]
    target = by_pid[reading.pid or ""]
    without = target.model_copy(update={"text": target.text.replace(reading.short_answers[0], "something")})
    twin = target.model_copy(update={"pid": "twin"})
    short = target.model_copy(update={"pid": "short", "text": "Too short."})
    some = [passage for passage in passages[:30] if passage.pid != target.pid]
    found = list(faults([*some, without, twin, short], splits))
    assert any("does not stand in" in fault and target.pid in fault for fault in found)
    assert any("near duplicates" in fault and "twin" in fault for fault in found)
    assert any(fault.startswith("short: 2 words") for fault in found)
