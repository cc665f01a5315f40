"""Pseudo-interpretations from a question and the reason of its ambiguity, without any passage."""

import re

from polyqa.signatures import AmbiguityType
from polyqa.signatures.lenient import parse_questions

from .ambiguity import nearest_demos
from .models import Models
from .prompt import Prompt
from .rewriting import apply, insertions, is_general
from .text import normalize

_MOST = 6
_ENOUGH = 4
# What such questions usually split into, when no demo shows it. The words are also search words.
_RELEASE = r"\b(?:come|came|comes|coming) out\b|\breleas\w+\b|\bpremier\w+\b|\bair\w*\b"
_FACETS: dict[AmbiguityType, tuple[str, ...]] = {
    AmbiguityType.SUBJECT: ("the person", "the place", "the film", "the company"),
    AmbiguityType.OBJECT: ("the film", "the song", "the book", "the television series"),
    AmbiguityType.PREDICATE: ("for the first time", "officially", "originally", "in the end"),
    AmbiguityType.TIME: ("for the first time", "most recently", "in the first edition", "in the final"),
    AmbiguityType.LOCATION: ("in the United States", "in the United Kingdom", "in Europe", "in Asia"),
}
_RELEASE_FACETS = ("the film", "the novel", "the album", "the television series")


def infer_pseudo_interpretations(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``pseudo_interpretations``.

    The rewritings that the demos show are applied to the question, those of the nearest demo first;
    what is missing to four is filled with the usual facets of the type that the reason names. A
    question said to have one plain meaning is repeated.
    """
    question, reason = prompt.inputs["question"], prompt.inputs.get("reason", "")
    kind = _kind(reason)
    if kind is AmbiguityType.NONE:
        return {"pseudo_interpretations": [question]}
    made: dict[str, str] = {}
    for demo, _ in nearest_demos(prompt, models, "pseudo_interpretations"):
        shown = demo.inputs["question"]
        for rewritten in parse_questions(demo.outputs["pseudo_interpretations"]):
            for insertion in insertions(shown, rewritten):
                if is_general(insertion.added, shown) and len(made) < _MOST:
                    new = apply(question, insertion)
                    made.setdefault(normalize(new), new)
    facets = _RELEASE_FACETS if re.search(_RELEASE, question, re.I) else _FACETS[kind]
    for facet in facets:
        if len(made) < _ENOUGH:
            new = (
                f"{question.rstrip(' ?')}, {facet}?"
                if facet.startswith("the ")
                else f"{question.rstrip(' ?')} {facet}?"
            )
            made.setdefault(normalize(new), new)
    return {"pseudo_interpretations": list(made.values())}


def _kind(reason: str) -> AmbiguityType:
    labels = [kind for kind in AmbiguityType if f"[{kind}]".lower() in reason.lower()]
    if labels:
        return labels[0]
    for kind, pattern in (
        (AmbiguityType.NONE, r"\b(?:unambiguous|one (?:plain )?meaning|not ambiguous)\b"),
        (AmbiguityType.TIME, r"\b(?:time|year|season|edition|date|when)\b"),
        (AmbiguityType.LOCATION, r"\b(?:location|country|place|region|where|city)\b"),
        (AmbiguityType.PREDICATE, r"\b(?:predicate|verb|action|event)\b"),
        (AmbiguityType.OBJECT, r"\bobject\b"),
    ):
        if re.search(pattern, reason, re.I):
            return kind
    return AmbiguityType.SUBJECT
