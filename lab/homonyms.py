"""Proves what the shipped corpus and questions promise: `python -m lab.homonyms`."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from polyqa.base.values import Passage
from polyqa.colbert_index import read_corpus
from polyqa.evaluation.homonyms import SPLITS, corpus_path
from polyqa.evaluation.loading import load_questions
from polyqa.metrics import has_answer, normalize_answer
from polyqa.metrics.gold import Question
from polyqa.models import Encoder

_KINDS = ("subject", "object", "predicate", "time", "location", "none")
_SHINGLE = 5
_SHARED_SHINGLES = 0.2
_SAME_MEANING = 0.97


def faults(passages: Sequence[Passage], splits: dict[str, list[Question]]) -> Iterator[str]:
    """Yield what is wrong with the corpus and the questions, one line each; nothing if all is well."""
    texts = {passage.pid: passage for passage in passages}
    for passage in passages:
        length = len(passage.text.split())
        if not passage.title or not 60 <= length <= 120:
            yield f"{passage.pid}: {length} words, title {passage.title!r}"
    yield from _near_duplicates(passages)
    seen: dict[str, str] = {}
    for split, questions in splits.items():
        for question in questions:
            for key in (question.id, normalize_answer(question.question)):
                if key in seen:
                    yield f"{question.id} ({split}) is also in {seen[key]}"
                seen[key] = split
            yield from _question_faults(question, texts, 1 if split == "train" else 2)


def _question_faults(question: Question, texts: dict[str, Passage], references: int) -> Iterator[str]:
    count = len(question.readings)
    if question.ambiguity not in _KINDS or not question.reason:
        yield f"{question.id}: ambiguity {question.ambiguity!r}, reason {question.reason!r}"
    if not (count == 1 if question.ambiguity == "none" else 2 <= count <= 6):
        yield f"{question.id}: {count} readings for {question.ambiguity}"
    if len({normalize_answer(reading.question) for reading in question.readings}) != count:
        yield f"{question.id}: readings repeat"
    if len({normalize_answer(reading.short_answers[0]) for reading in question.readings}) != count:
        yield f"{question.id}: answers repeat"
    if len(question.long_answers) != references:
        yield f"{question.id}: {len(question.long_answers)} long answers, {references} are due"
    for reading in question.readings:
        passage = texts.get(reading.pid or "")
        if passage is None:
            yield f"{question.id}: no passage {reading.pid!r}"
        elif not has_answer(reading.short_answers[:1], passage.text):
            yield f"{question.id}: {reading.short_answers[0]!r} does not stand in {reading.pid}"
        for answer in question.long_answers:
            if not has_answer(reading.short_answers, answer):
                yield f"{question.id}: a long answer lacks {reading.short_answers[0]!r}"
    for one, other in combinations(question.readings, 2):
        if {normalize_answer(a) for a in one.short_answers} & {normalize_answer(a) for a in other.short_answers}:
            yield f"{question.id}: two readings share an alias"


def _near_duplicates(passages: Sequence[Passage]) -> Iterator[str]:
    shingles = []
    for passage in passages:
        words = normalize_answer(passage.text).split()
        shingles.append({tuple(words[i : i + _SHINGLE]) for i in range(len(words) - _SHINGLE + 1)})
    vectors = Encoder().encode([passage.text for passage in passages])
    similar = vectors @ vectors.T
    for i, j in combinations(range(len(passages)), 2):
        shared = len(shingles[i] & shingles[j]) / max(1, len(shingles[i] | shingles[j]))
        if shared > _SHARED_SHINGLES or similar[i, j] > _SAME_MEANING:
            yield f"near duplicates: {passages[i].pid}, {passages[j].pid}"


def main() -> int:
    """Print the counts and the faults; return 1 if there is a fault."""
    passages = read_corpus(corpus_path())
    splits = {split: load_questions("homonyms", split=split) for split in SPLITS}
    found = list(faults(passages, splits))
    for split, questions in splits.items():
        kinds = Counter(question.ambiguity for question in questions)
        print(f"{split}: {len(questions)} questions, {', '.join(f'{n} {kind}' for kind, n in kinds.most_common())}")
    print(f"{len(passages)} passages, {len(found)} faults", *found, sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
