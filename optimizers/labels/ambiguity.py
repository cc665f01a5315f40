"""Demos of the calls that see no passage: the type of the ambiguity, and what a question may mean."""

from collections.abc import Sequence

from polyqa.metrics.gold import Question
from polyqa.signatures import AmbiguityType, Passage
from polyqa.signatures.lenient import parse_ambiguity_types

from .held import Demo

_REASONS = {
    AmbiguityType.NONE: "The question has one plain meaning.",
    AmbiguityType.SUBJECT: "It is unclear who or what is meant.",
    AmbiguityType.OBJECT: "It is unclear which thing is asked for.",
    AmbiguityType.PREDICATE: "What happens can mean several things.",
    AmbiguityType.TIME: "The answer depends on the time that is meant.",
    AmbiguityType.LOCATION: "The answer depends on the place that is meant.",
}


def clarifying(question: Question, passages: Sequence[Passage]) -> list[Demo]:
    """Return the demo of `InferPseudoInterpretations`: the gold readings' questions."""
    kind = parse_ambiguity_types(question.ambiguity)[0] if question.ambiguity else None
    plain = len(question.readings) == 1
    return [
        {
            "question": question.question,
            "reason": _reason(question, kind or (AmbiguityType.NONE if plain else AmbiguityType.SUBJECT)),
            "pseudo_interpretations": [reading.question for reading in question.readings],
        }
    ]


def typing(question: Question, passages: Sequence[Passage]) -> list[Demo]:
    """Return the demo of `TypeAmbiguity`, where the data set names the type."""
    if question.ambiguity is None:
        return []
    kind = parse_ambiguity_types(question.ambiguity)[0]
    return [{"question": question.question, "reason": _reason(question, kind), "ambiguity_types": [str(kind)]}]


def _reason(question: Question, kind: AmbiguityType) -> str:
    return f"[{kind}] {question.reason or _REASONS[kind]}"
