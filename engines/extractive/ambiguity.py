"""Ambiguity typing: the labels of the nearest demos, and cue words where there is none."""

import re

from polyqa.signatures import AmbiguityType
from polyqa.signatures.lenient import parse_ambiguity_types

from .models import Models
from .prompt import Demo, Prompt
from .text import content_words, years

# Words that hint at what splits a question; up to two different ones of a type count.
_CUES: dict[AmbiguityType, str] = {
    AmbiguityType.TIME: r"last|latest|current(?:ly)?|newest|new|next|recent(?:ly)?|now|won|wins?|winners?|champions?|"
    r"host(?:s|ed)?|held|season|elect(?:ed|ion)|records?|highest|most|world cup|olympics?|final|population",
    AmbiguityType.LOCATION: r"legal|laws?|vot(?:e|ing)|suffrage|independence|president|prime minister|king|queen|"
    r"national|capital|where|river|currency|holiday|drinking age|parliament|supreme court|republic",
    AmbiguityType.PREDICATE: r"c[oa]mes? out|start(?:s|ed)?|beg[ia]n|end(?:s|ed)?|open(?:ed)?|finish(?:ed)?|made|"
    r"written|wrote|play(?:s|ed)?|found(?:ed|ing)|built|created|published|become|how long",
    AmbiguityType.OBJECT: r"sings?|sang|song|theme|character|voice|album|book|novel|film|movie|award|prize",
    AmbiguityType.SUBJECT: r"discovered|named|invented|born|died?|directed|married|wife|father",
}
_WORDING: dict[AmbiguityType, str] = {
    AmbiguityType.SUBJECT: "it is unclear who or what is meant, as several bear that name",
    AmbiguityType.OBJECT: "it is unclear which thing of that name is asked for",
    AmbiguityType.PREDICATE: "what happens can mean several things",
    AmbiguityType.TIME: "the answer depends on the year or edition that is meant",
    AmbiguityType.LOCATION: "the answer depends on the country or place that is meant",
    AmbiguityType.NONE: "there is one plain meaning",
}
_NEIGHBOURS = 3


def type_ambiguity(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``reason`` and ``ambiguity_types``.

    Each type scores 1 for a cue word, at most 2, and, for each of the three nearest demos that bears it, the
    square of their cosine similarity × 2. A question that names a year and holds no other cue counts
    as unambiguous. Without any evidence the type is AmbSub, the commonest in DIVA's examples.
    """
    question = prompt.inputs["question"]
    scores = dict.fromkeys(AmbiguityType, 0.0)
    for kind, pattern in _CUES.items():
        scores[kind] += min(2, len(set(re.findall(rf"\b(?:{pattern})\b", question.lower()))))
    if years(question) or "(" in question:
        scores[AmbiguityType.TIME] = 0.0
        scores[AmbiguityType.NONE] += 0.5
    scores[AmbiguityType.SUBJECT] += 0.4
    nearest = nearest_demos(prompt, models, "ambiguity_types")[:_NEIGHBOURS]
    for demo, similarity in nearest:
        labels = parse_ambiguity_types(demo.outputs["ambiguity_types"])
        for label in labels:
            scores[label] += 2 * max(0.0, similarity) ** 2 / len(labels)
    best = max(AmbiguityType, key=lambda kind: scores[kind])
    unclear = " ".join(dict.fromkeys(content_words(question))) or question
    reason = f'[{best}] In the words "{unclear}", {_WORDING[best]}.'
    return {"reason": reason, "ambiguity_types": [str(best)]}


def nearest_demos(prompt: Prompt, models: Models, output: str) -> list[tuple[Demo, float]]:
    """Return the demos that show ``output``, with the cosine of their question to ours, nearest first."""
    demos = [demo for demo in prompt.demos if output in demo.outputs and demo.inputs.get("question")]
    similarities = models.encoder.similarity([prompt.inputs["question"]], [demo.inputs["question"] for demo in demos])
    if not demos:
        return []
    order = sorted(range(len(demos)), key=lambda index: -float(similarities[0, index]))
    return [(demos[index], float(similarities[0, index])) for index in order]
