"""Demos of the calls that give kinds of ambiguity, readings and answers."""

from polyqa.base.values import AmbiguityType, render_passages
from polyqa.metrics.exact_presence import exact_presence
from polyqa.metrics.gold import Question
from polyqa.replies import parse_ambiguity_types

from .reasons import reason_of
from .shown import Demo, Held, Shown, cut, held_readings


def ambiguity_types(question: Question, shown: Shown) -> list[Demo]:
    """Return the demo of `TypeAmbiguity`, where the data set names the types, or the question is plain."""
    if question.ambiguity is None and len(question.readings) > 1:
        return []
    kinds = parse_ambiguity_types(question.ambiguity or AmbiguityType.NONE)
    return [
        {
            "question": question.question,
            "reason": reason_of(question, kinds[0]),
            "ambiguity_types": [str(kind) for kind in kinds],
        }
    ]


def pseudo_interpretations(question: Question, shown: Shown) -> list[Demo]:
    """Return the demo of `InferPseudoInterpretations`: the gold readings' questions."""
    kind = AmbiguityType.NONE if len(question.readings) == 1 else None
    if question.ambiguity:
        kind = parse_ambiguity_types(question.ambiguity)[0]
    wanted = [reading.question for reading in question.readings]
    return [
        {"question": question.question, "reason": reason_of(question, kind), "pseudo_interpretations": wanted},
    ]


def extractions(question: Question, shown: Shown) -> list[Demo]:
    """Return the demo of `ExtractInterpretations`: the gold readings that the passages answer."""
    held = held_readings(question, shown.passages)
    return [_over_passages(question, shown, held, spare=1)] if held else []


def long_answers(question: Question, shown: Shown) -> list[Demo]:
    """Return the demo of `WriteLongFormAnswer`: the reference answer beside the passages that its readings cite."""
    held = held_readings(question, shown.passages)
    if not held or not question.long_answers:
        return []
    # What no reading cites teaches nothing about writing.
    return [{**_over_passages(question, shown, held, spare=0), "answer": question.long_answers[0]}]


def clarifications(question: Question, shown: Shown) -> list[Demo]:
    """Return the demo of `ClarifyQuestion`: the readings that the passages answer, and the reference answer."""
    held = held_readings(question, shown.passages)
    if not held or not question.long_answers:
        return []
    return [{**_over_passages(question, shown, held, spare=1), "answer": question.long_answers[0]}]


def _over_passages(question: Question, shown: Shown, held: list[Held], *, spare: int) -> Demo:
    passages, held = cut(shown.passages, held, spare=spare, mixed_by=question.question)
    readings = [{"question": reading.question, "answer": alias, "pid": str(number)} for reading, number, alias in held]
    return {"passages": render_passages(passages), "question": question.question, "interpretations": readings}


def located_answers(question: Question, shown: Shown) -> list[Demo]:
    """Return the demo of `LocateAnswer`: the answer of the first passage that holds one."""
    held = held_readings(question, shown.passages)
    if not held:
        return []
    passages, held = cut(shown.passages, held, spare=1)
    _, number, alias = min(held, key=lambda one: one[1])
    return [
        {
            "passages": render_passages(passages),
            "question": question.question,
            "short_answer": alias,
            "source": str(number),
            "settled": "Yes" if len(held) == 1 else "No",
        }
    ]


def interpreted_passages(question: Question, shown: Shown) -> list[Demo]:
    """Return demos of `InterpretPassage`: passages that answer a reading, and as many that answer none."""
    held = held_readings(question, shown.retrieved)
    given = {number: (reading.question, alias) for reading, number, alias in reversed(held)}
    empty = [
        number
        for number, passage in enumerate(shown.retrieved, 1)
        if not any(exact_presence(reading.short_answers, passage.render()) for reading in question.readings)
    ]
    return [
        {
            "question": question.question,
            "passage": shown.retrieved[number - 1].render(),
            "interpretation": interpretation,
            "short_answer": answer,
        }
        for number in sorted([*given, *empty[: len(given)]])
        for interpretation, answer in [given.get(number, ("null", "null"))]
    ]


def recalled_answers(question: Question, shown: Shown) -> list[Demo]:
    """Return the demo of `AnswerClosedBook`: the reference answer."""
    return [{"question": question.question, "answer": answer} for answer in question.long_answers[:1]]


def refinements(question: Question, shown: Shown) -> list[Demo]:
    """Return the demo of `RefineQuestion`: the gold readings."""
    return [{"question": question.question, "refinements": _told(question)}]


def refined_answers(question: Question, shown: Shown) -> list[Demo]:
    """Return the demo of `AnswerRefined`: the reference answer from the gold readings."""
    return [
        {"question": question.question, "refinements": _told(question), "answer": answer}
        for answer in question.long_answers[:1]
    ]


def _told(question: Question) -> list[Demo]:
    return [{"question": one.question, "answer": one.short_answers[0]} for one in question.readings]
