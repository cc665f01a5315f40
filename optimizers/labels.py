"""Demos from labels: what every predictor should have said to a training question.

Data sets give questions, readings, short and long answers, but not the passages that a prompt shows. They
are retrieved here as the program does it, so that a labelled demo looks like the prompt it stands in.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dspy

from metrics.agreement import agree
from metrics.exact_presence import exact_presence
from metrics.gold import Question, Reading
from programs.jpr import JPR
from programs.sixpaq import SIXPAQ, candidate_readings, render_candidates
from programs.strips import split_sentences
from signatures import AmbiguityType, Grade, Interpretation, Passage, render_passages
from signatures.lenient import parse_ambiguity_types

Demo = dict[str, Any]
_SHOWN = 5  # passages of a demo, for programs that have no K of their own
_REASONS = {
    AmbiguityType.NONE: "The question has one plain meaning.",
    AmbiguityType.SUBJECT: "It is unclear who or what is meant.",
    AmbiguityType.OBJECT: "It is unclear which thing is asked for.",
    AmbiguityType.PREDICATE: "What happens can mean several things.",
    AmbiguityType.TIME: "The answer depends on the time that is meant.",
    AmbiguityType.LOCATION: "The answer depends on the place that is meant.",
}


def label_demos(program: dspy.Module, questions: Sequence[Question]) -> dict[str, list[Demo]]:
    """Return the demos that gold labels give to each predictor of a program.

    A predictor is known by the fields of its signature:

    - ``interpretations`` from passages: the gold readings whose answers stand in the passages, each with
      the number of its passage;
    - ``answer`` from passages and interpretations: the reference long answer, beside the passages that the
      readings cite;
    - ``pseudo_interpretations``: the gold readings' questions;
    - ``ambiguity_types`` with ``reason``: where the data set names the type;
    - ``answerable``: each gold reading, Yes if its answer stands in the passages;
    - ``interpretation`` with ``short_answer`` from one passage: for each reading the passage that answers it,
      and as many of the best passages that answer none, with null;
    - ``short_answer`` with ``source`` and ``settled``: the first gold reading that the passages answer, settled
      if they answer no other;
    - ``grade``: the best passage that holds an answer, Correct, and the best that holds none, Incorrect;
    - ``segment`` with ``relevant`` and ``readings``: the same two passages, the segment being the sentences of the
      reference answer that give the passage's answers;
    - ``selected``: of JPR's shortlist the first passage of each gold reading, then the best-ranked;
    - ``kept``: of SIXPAQ's candidates the first with an answer of each gold reading;
    - ``answer`` from refinements: the reference long answer, from the gold readings.

    A closed-book ``answer``, and closed-book ``refinements``, are left out: labels of a corpus would teach a
    language model to make facts up. So is a critique of a segment: labels tell no usefulness.

    Parameters
    ----------
    program
        Retrieves the passages; its language model is not called.
    questions
        Training questions.

    Returns
    -------
    dict
        Predictor name to demos, in the order of the questions; each demo has fields of the predictor's
        signature only. A predictor that labels cannot fill has none.
    """
    demos: dict[str, list[Demo]] = {name: [] for name, _ in program.named_predictors()}
    for question in questions:
        universe = program.retrieve(question.question) if hasattr(program, "retrieve") else []
        for name, predictor in program.named_predictors():
            if isinstance(program, JPR) and "selected" in predictor.signature.output_fields:
                demos[name] += _selecting(question, program.shortlisted(question.question), program.passages)
                continue
            if isinstance(program, SIXPAQ) and "kept" in predictor.signature.output_fields:
                demos[name] += _keeping(question, candidate_readings(program.similar_questions(question.question)))
                continue
            single = "passages" not in predictor.signature.input_fields
            passages = universe if single else universe[: getattr(program, "passages", _SHOWN)]
            for demo in _demos(predictor.signature, question, passages):
                demos[name].append(demo)
    return demos


def _demos(signature: type[dspy.Signature], question: Question, passages: Sequence[Passage]) -> list[Demo]:
    outputs, inputs = set(signature.output_fields), set(signature.input_fields)
    makers: tuple[tuple[bool, Callable[..., list[Demo]]], ...] = (
        ("interpretations" in outputs and "passages" in inputs, _extraction),
        ("answer" in outputs and {"passages", "interpretations"} <= inputs, _writing),
        ("pseudo_interpretations" in outputs, _clarifying),
        ("ambiguity_types" in outputs, _typing),
        ("answerable" in outputs, _verifying),
        ("grade" in outputs and "passage" in inputs, _grading),
        ({"relevant", "readings", "segment"} <= outputs and "passage" in inputs, _drafting),
        ("answer" in outputs and "refinements" in inputs, _refined),
        ({"interpretation", "short_answer"} <= outputs and "passage" in inputs, _interpreting),
        ({"short_answer", "source", "settled"} <= outputs and "passages" in inputs, _locating),
    )
    make = next((own for fits, own in makers if fits), None)
    if make is None:
        return []
    fields = inputs | outputs
    return [{name: value for name, value in demo.items() if name in fields} for demo in make(question, passages)]


def _held(question: Question, passages: Sequence[Passage]) -> list[tuple[Reading, int, str]]:
    """Return the readings that passages answer, with the passage's number and the alias that stands there."""
    texts = [passage.render() for passage in passages]
    found = []
    for reading in question.readings:
        places = [number for number, text in enumerate(texts, 1) if exact_presence(reading.short_answers, text)]
        if not places:
            continue
        own = next((number for number in places if passages[number - 1].pid == reading.pid), places[0])
        alias = next(one for one in reading.short_answers if exact_presence([one], texts[own - 1]))
        found.append((reading, own, alias))
    return found


def _interpretations(held: Sequence[tuple[Reading, int, str]]) -> list[Mapping[str, str]]:
    return [{"question": reading.question, "answer": alias, "pid": str(number)} for reading, number, alias in held]


def _extraction(question: Question, passages: Sequence[Passage]) -> list[Demo]:
    held = _held(question, passages)
    if not held:
        return []
    return [
        {
            "passages": render_passages(passages),
            "question": question.question,
            "interpretations": _interpretations(held),
        }
    ]


def _writing(question: Question, passages: Sequence[Passage]) -> list[Demo]:
    held = _held(question, passages)
    if not held or not question.long_answers:
        return []
    # What no reading cites teaches nothing about writing, and five demos of it would be half of the prompt.
    cited = sorted({number for _, number, _ in held})
    anew = [(reading, cited.index(number) + 1, alias) for reading, number, alias in held]
    return [
        {
            "passages": render_passages(passages[number - 1] for number in cited),
            "question": question.question,
            "interpretations": _interpretations(anew),
            "answer": question.long_answers[0],
        }
    ]


def _clarifying(question: Question, passages: Sequence[Passage]) -> list[Demo]:
    kind = parse_ambiguity_types(question.ambiguity)[0] if question.ambiguity else None
    plain = len(question.readings) == 1
    return [
        {
            "question": question.question,
            "reason": _reason(question, kind or (AmbiguityType.NONE if plain else AmbiguityType.SUBJECT)),
            "pseudo_interpretations": [reading.question for reading in question.readings],
        }
    ]


def _typing(question: Question, passages: Sequence[Passage]) -> list[Demo]:
    if question.ambiguity is None:
        return []
    kind = parse_ambiguity_types(question.ambiguity)[0]
    return [{"question": question.question, "reason": _reason(question, kind), "ambiguity_types": [str(kind)]}]


def _reason(question: Question, kind: AmbiguityType) -> str:
    return f"[{kind}] {question.reason or _REASONS[kind]}"


def _verifying(question: Question, passages: Sequence[Passage]) -> list[Demo]:
    shown = render_passages(passages)
    text = "\n".join(shown)
    return [
        {
            "passages": shown,
            "question": reading.question,
            "answerable": "Yes" if exact_presence(reading.short_answers, text) else "No",
        }
        for reading in question.readings
    ]


def _interpreting(question: Question, passages: Sequence[Passage]) -> list[Demo]:
    held = _held(question, passages)
    given = {number: (reading.question, alias) for reading, number, alias in reversed(held)}
    empty = [
        number
        for number, passage in enumerate(passages, 1)
        if not any(exact_presence(reading.short_answers, passage.render()) for reading in question.readings)
    ]
    return [
        {
            "question": question.question,
            "passage": passages[number - 1].render(),
            "interpretation": interpretation,
            "short_answer": answer,
        }
        for number in sorted([*given, *empty[: len(given)]])
        for interpretation, answer in [given.get(number, ("null", "null"))]
    ]


def _first_empty(question: Question, passages: Sequence[Passage]) -> Passage | None:
    """Return the best passage that holds no gold answer."""
    answers = [answer for reading in question.readings for answer in reading.short_answers]
    return next((passage for passage in passages if not exact_presence(answers, passage.render())), None)


def _grading(question: Question, passages: Sequence[Passage]) -> list[Demo]:
    # One of each: the nearest demos would otherwise all be passages of one training question.
    held = _held(question, passages)
    chosen = [
        (passages[min(number for _, number, _ in held) - 1] if held else None, Grade.CORRECT),
        (_first_empty(question, passages), Grade.INCORRECT),
    ]
    return [
        {"question": question.question, "passage": passage.render(), "grade": str(grade)}
        for passage, grade in chosen
        if passage is not None
    ]


def _drafting(question: Question, passages: Sequence[Passage]) -> list[Demo]:
    held = _held(question, passages)
    demos: list[Demo] = []
    for number in sorted({number for _, number, _ in held}):
        own = [(reading, alias) for reading, at, alias in held if at == number]
        said = [
            sentence
            for sentence in split_sentences(" ".join(question.long_answers[:1]))
            if any(exact_presence(reading.short_answers, sentence) for reading, _ in own)
        ]
        if said:
            readings = [{"question": reading.question, "answer": alias} for reading, alias in own]
            demos.append(_draft(question, passages[number - 1], "Yes", readings, " ".join(said)))
            break
    empty = _first_empty(question, passages)
    return demos if empty is None else [*demos, _draft(question, empty, "No", [], "None")]


def _draft(
    question: Question, passage: Passage, relevant: str, readings: Sequence[Mapping[str, str]], segment: str
) -> Demo:
    return {
        "question": question.question,
        "passage": passage.render(),
        "relevant": relevant,
        "readings": list(readings),
        "segment": segment,
    }


def _selecting(question: Question, shortlist: Sequence[Passage], count: int) -> list[Demo]:
    numbers = dict.fromkeys(number for _, number, _ in _held(question, shortlist))
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


def _keeping(question: Question, candidates: Sequence[Interpretation]) -> list[Demo]:
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


def _refined(question: Question, passages: Sequence[Passage]) -> list[Demo]:
    if not question.long_answers:
        return []
    return [
        {
            "question": question.question,
            "refinements": [{"question": one.question, "answer": one.short_answers[0]} for one in question.readings],
            "answer": question.long_answers[0],
        }
    ]


def _locating(question: Question, passages: Sequence[Passage]) -> list[Demo]:
    held = _held(question, passages)
    if not held:
        return []
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
