"""Demos of the calls that judge passages, or choose from a list."""

import random

from polyqa.base.values import Grade, render_passages
from polyqa.metrics.agreement import agree
from polyqa.metrics.exact_presence import exact_presence
from polyqa.metrics.gold import Question
from polyqa.metrics.text import sentences_by_shape
from polyqa.programs.sixpaq import render_candidates

from .shown import Demo, Shown, cut, first_empty, held_readings


def verdicts(question: Question, shown: Shown) -> list[Demo]:
    """Return demos of `VerifyInterpretation`: gold readings in turn over passages that answer them, and that do not.

    A model that is shown hardly any No learns to say Yes. Which reading is the first to be shown with its answer
    is drawn by the question.
    """
    held = {one[0].question: [one] for one in held_readings(question, shown.passages)}
    first = random.Random(question.question).randrange(2)
    demos: list[Demo] = []
    for place, reading in enumerate(question.readings, first):
        own = held.get(reading.question, [])
        silent = [one for one in shown.passages if not exact_presence(reading.short_answers, one.render())]
        if own and not (place % 2 and silent):
            passages, _ = cut(shown.passages, own, spare=2 - len(own), mixed_by=reading.question)
        else:
            own, passages = [], silent[:2]
        demos.append(
            {
                "passages": render_passages(passages),
                "question": reading.question,
                "answerable": "Yes" if own else "No",
            }
        )
    return demos


def answered_candidates(question: Question, shown: Shown) -> list[Demo]:
    """Return the demo of `VerifyInterpretations`: all gold readings, over passages that answer about half of them."""
    drawn = random.Random(question.question)
    held = held_readings(question, shown.passages)
    count = (len(held) + drawn.randrange(2)) // 2
    numbers = sorted({number for _, number, _ in drawn.sample(held, count)})
    empty = first_empty(question, shown.passages)
    passages = [shown.passages[number - 1] for number in numbers] + ([empty] if empty else [])
    if not passages:
        return []
    drawn.shuffle(passages)
    texts = [passage.render() for passage in passages]
    answered = [
        number
        for number, reading in enumerate(question.readings, 1)
        if any(exact_presence(reading.short_answers, text) for text in texts)
    ]
    return [
        {
            "passages": render_passages(passages),
            "question": question.question,
            "candidates": [reading.question for reading in question.readings],
            "answered": answered,
        }
    ]


def readings_that_hold(question: Question, shown: Shown) -> list[Demo]:
    """Return the demo of `VerifyReadings`: gold readings, every other one with the answer of the one before it.

    Which they are is drawn by the question. A reading whose answers agree with that answer stays as it is.
    """
    held = held_readings(question, shown.passages)
    if not held:
        return []
    passages, held = cut(shown.passages, held, spare=1, mixed_by=question.question)
    first = random.Random(question.question).randrange(2)
    told: list[Demo] = []
    supported: list[int] = []
    for place, (reading, number, alias) in enumerate(held):
        _, other_number, other = held[place - 1]
        if place % 2 != first and len(held) > 1 and not agree(other, reading.short_answers):
            told.append({"question": reading.question, "answer": other, "pid": str(other_number)})
        else:
            told.append({"question": reading.question, "answer": alias, "pid": str(number)})
            supported.append(place + 1)
    return [
        {
            "passages": render_passages(passages),
            "question": question.question,
            "interpretations": told,
            "supported": supported,
        }
    ]


def grades(question: Question, shown: Shown) -> list[Demo]:
    """Return demos of `GradePassage`: one of each grade."""
    # One of each: the nearest demos would otherwise all be passages of one training question.
    numbers = [number for _, number, _ in held_readings(question, shown.retrieved)]
    chosen = [
        (shown.retrieved[min(numbers) - 1] if numbers else None, Grade.CORRECT),
        (first_empty(question, shown.retrieved), Grade.INCORRECT),
    ]
    return [
        {"question": question.question, "passage": passage.render(), "grade": str(grade)}
        for passage, grade in chosen
        if passage is not None
    ]


def drafts(question: Question, shown: Shown) -> list[Demo]:
    """Return demos of `DraftSegment`: a passage that answers and one that does not."""
    held = held_readings(question, shown.retrieved)
    demos: list[Demo] = []
    for number in sorted({number for _, number, _ in held}):
        own = [(reading, alias) for reading, at, alias in held if at == number]
        said = [
            sentence.text
            for sentence in sentences_by_shape(" ".join(question.long_answers[:1]))
            if any(exact_presence(reading.short_answers, sentence.text) for reading, _ in own)
        ]
        if said:
            readings = [{"question": reading.question, "answer": alias} for reading, alias in own]
            passage = shown.retrieved[number - 1].render()
            demos.append({"passage": passage, "relevant": "Yes", "readings": readings, "segment": " ".join(said)})
            break
    empty = first_empty(question, shown.retrieved)
    if empty is not None:
        demos.append({"passage": empty.render(), "relevant": "No", "readings": [], "segment": "None"})
    return [{"question": question.question, **demo} for demo in demos]


def selected_passages(question: Question, shown: Shown) -> list[Demo]:
    """Return the demo of `SelectPassages`: of a shortlist the first passage of each gold reading, then the best."""
    shortlist, count = shown.shortlist, shown.count
    numbers = [number for _, number, _ in held_readings(question, shortlist)]
    if not numbers or len(shortlist) <= count:
        return []
    chosen = list(dict.fromkeys([*numbers, *range(1, len(shortlist) + 1)]))[:count]
    return [
        {
            "passages": render_passages(shortlist),
            "question": question.question,
            "count": count,
            "selected": chosen,
        }
    ]


def selected_questions(question: Question, shown: Shown) -> list[Demo]:
    """Return the demo of `SelectQuestions`: of the candidates the first with an answer of each gold reading."""
    candidates = shown.candidates
    if not candidates:
        return []
    kept = [
        next((number for number, one in enumerate(candidates, 1) if agree(one.answer, reading.short_answers)), None)
        for reading in question.readings
    ]
    return [
        {
            "question": question.question,
            "candidates": render_candidates(candidates),
            "kept": sorted({number for number in kept if number is not None}),
        }
    ]
