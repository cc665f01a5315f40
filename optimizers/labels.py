"""Demos from labels: what every predictor should have said to a training question.

Data sets give questions, readings, short and long answers, but not the passages that a prompt shows. They
are retrieved here as the program does it, so that a labelled demo looks like the prompt it stands in.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dspy

from metrics.exact_presence import exact_presence
from metrics.gold import Question, Reading
from programs.grounded import GroundedProgram
from signatures import AmbiguityType, Passage, render_passages
from signatures.lenient import parse_ambiguity_types

Demo = dict[str, Any]
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
    - ``answer`` from passages and interpretations: the reference long answer;
    - ``pseudo_interpretations``: the gold readings' questions;
    - ``ambiguity_types`` with ``reason``: where the data set names the type;
    - ``answerable``: each gold reading, Yes if its answer stands in the passages.

    A closed-book ``answer`` is left out: labels of a corpus would teach a language model to make facts up.

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
        passages = program.retrieve(question.question) if isinstance(program, GroundedProgram) else []
        for name, predictor in program.named_predictors():
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
    return [
        {
            "passages": render_passages(passages),
            "question": question.question,
            "interpretations": _interpretations(held),
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
