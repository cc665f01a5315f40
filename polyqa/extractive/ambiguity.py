"""What is made of a question before any passage is seen.

Its kind of ambiguity and pseudo-interpretations (DIVA), and search queries: relaxed (VERDICT), as keywords (CRAG).
"""

import re

from polyqa.base.values import AmbiguityType
from polyqa.metrics.text import STOPWORDS, content_words, words
from polyqa.replies import parse_ambiguity_types

from .answer_kinds import years
from .evidence import Models
from .prompt import Demo, Prompt

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
# What such questions usually split into. The words are also search words.
_RELEASE = r"\b(?:come|came|comes|coming) out\b|\breleas\w+\b|\bpremier\w+\b|\bair\w*\b"
_FACETS: dict[AmbiguityType, tuple[str, ...]] = {
    AmbiguityType.SUBJECT: ("the person", "the place", "the film", "the company"),
    AmbiguityType.OBJECT: ("the film", "the song", "the book", "the television series"),
    AmbiguityType.PREDICATE: ("for the first time", "officially", "originally", "in the end"),
    AmbiguityType.TIME: ("for the first time", "most recently", "in the first edition", "in the final"),
    AmbiguityType.LOCATION: ("in the United States", "in the United Kingdom", "in Europe", "in Asia"),
}
# What narrows a question to one meaning.
_NARROWING = (
    r"\s*\([^()]*\)",
    r",?\s*\b(?:in|of|since|before|after|during|from|by)\s+(?:the\s+year\s+)?(?:1[0-9]{3}|20[0-9]{2})\b",
    r"\b(?:last|latest|current|currently|most recent|most recently|newest|first|originally|officially)\b",
)
_RELEASE_FACETS = ("the film", "the novel", "the album", "the television series")


def type_ambiguity(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``reason`` and ``ambiguity_types``.

    Each type scores 1 for a cue word, at most 2, and, for each of the three nearest demos that bears it, the
    square of their cosine similarity × 2. A question that names a year and holds no other cue counts
    as unambiguous. Without any evidence the type is AmbSub, the commonest in DIVA's examples.
    """
    question = prompt.question
    scores = dict.fromkeys(AmbiguityType, 0.0)
    for kind, pattern in _CUES.items():
        scores[kind] += min(2, len(set(re.findall(rf"\b(?:{pattern})\b", question.lower()))))
    if years(question) or "(" in question:
        scores[AmbiguityType.TIME] = 0.0
        scores[AmbiguityType.NONE] += 0.5
    scores[AmbiguityType.SUBJECT] += 0.4
    for demo, similarity in _nearest_demos(prompt, models):
        labels = parse_ambiguity_types(demo.outputs["ambiguity_types"])
        for label in labels:
            scores[label] += 2 * max(0.0, similarity) ** 2 / len(labels)
    best = max(AmbiguityType, key=lambda kind: scores[kind])
    unclear = " ".join(dict.fromkeys(content_words(question))) or question
    reason = f'[{best}] In the words "{unclear}", {_WORDING[best]}.'
    return {"reason": reason, "ambiguity_types": [str(best)]}


def _nearest_demos(prompt: Prompt, models: Models) -> list[tuple[Demo, float]]:
    """Return the demos that show types and are nearest to the question, each with the cosine of the two."""
    demos = [demo for demo in prompt.demos if "ambiguity_types" in demo.outputs and demo.inputs.get("question")]
    near = models.encoder.similarity([prompt.question], [demo.inputs["question"] for demo in demos])[0]
    return sorted(zip(demos, map(float, near), strict=True), key=lambda pair: -pair[1])[:_NEIGHBOURS]


def infer_pseudo_interpretations(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``pseudo_interpretations``: the question with the usual facets of the type that the reason names.

    A question said to have one plain meaning is repeated.
    """
    question, reason = prompt.question, prompt.inputs.get("reason", "")
    labels = (kind for kind in AmbiguityType if f"[{kind}]".lower() in reason.lower())
    kind = next(labels, AmbiguityType.SUBJECT)
    if kind is AmbiguityType.NONE:
        return {"pseudo_interpretations": [question]}
    facets = _RELEASE_FACETS if re.search(_RELEASE, question, re.I) else _FACETS[kind]
    body = question.rstrip(" ?")
    questions = [f"{body}{',' if facet.startswith('the ') else ''} {facet}?" for facet in facets]
    return {"pseudo_interpretations": questions[: prompt.clauses.most]}


def relax_query(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``relaxed_query``: the question without brackets, years, and words such as "last" or "first"."""
    relaxed = prompt.question
    for pattern in _NARROWING:
        relaxed = re.sub(pattern, "", relaxed, flags=re.I)
    relaxed = " ".join(relaxed.split())
    return {"relaxed_query": relaxed if len(relaxed.split()) > 2 else prompt.question}


def rewrite_query(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``search_query``: the question's words that carry meaning, as they are written."""
    query_words = [word for word in words(prompt.question) if word.lower() not in STOPWORDS]
    return {"search_query": " ".join(query_words) or prompt.question}
