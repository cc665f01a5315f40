"""What is made of a question before any passage is seen.

Its kind of ambiguity and pseudo-interpretations (DIVA), and search queries: relaxed (VERDICT), as keywords (CRAG).
"""

import difflib
import re
from dataclasses import dataclass

from polyqa.base.values import AmbiguityType
from polyqa.metrics.text import STOPWORDS, content_words, normalize_words, words
from polyqa.replies import parse_ambiguity_types, parse_questions

from .answer_kinds import years
from .demos import nearest_demos
from .evidence import Models
from .prompt import Prompt

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
    nearest = nearest_demos(prompt, models, "ambiguity_types")[:_NEIGHBOURS]
    for demo, similarity in nearest:
        labels = parse_ambiguity_types(demo.outputs["ambiguity_types"])
        for label in labels:
            scores[label] += 2 * max(0.0, similarity) ** 2 / len(labels)
    best = max(AmbiguityType, key=lambda kind: scores[kind])
    unclear = " ".join(dict.fromkeys(content_words(question))) or question
    reason = f'[{best}] In the words "{unclear}", {_WORDING[best]}.'
    return {"reason": reason, "ambiguity_types": [str(best)]}


def infer_pseudo_interpretations(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``pseudo_interpretations``.

    The rewritings that the demos show are applied to the question, those of the nearest demo first;
    what is missing to four is filled with the usual facets of the type that the reason names. A
    question said to have one plain meaning is repeated.
    """
    question, reason = prompt.question, prompt.inputs.get("reason", "")
    labels = (kind for kind in AmbiguityType if f"[{kind}]".lower() in reason.lower())
    kind = next(labels, AmbiguityType.SUBJECT)
    if kind is AmbiguityType.NONE:
        return {"pseudo_interpretations": [question]}
    made: dict[str, str] = {}
    for demo, _ in nearest_demos(prompt, models, "pseudo_interpretations"):
        shown = demo.inputs["question"]
        for rewritten in parse_questions(demo.outputs["pseudo_interpretations"]):
            for insertion in insertions(shown, rewritten):
                if is_general(insertion.added, shown) and len(made) < _MOST:
                    new = apply(question, insertion)
                    made.setdefault(normalize_words(new), new)
    facets = _RELEASE_FACETS if re.search(_RELEASE, question, re.I) else _FACETS[kind]
    for facet in facets:
        if len(made) < _ENOUGH:
            comma = "," if facet.startswith("the ") else ""
            new = f"{question.rstrip(' ?')}{comma} {facet}?"
            made.setdefault(normalize_words(new), new)
    return {"pseudo_interpretations": list(made.values())[: prompt.clauses.most]}


@dataclass(frozen=True)
class Insertion:
    """Words that a demo's rewriting adds, and the words between which it adds them."""

    added: str
    before: str
    after: str


def insertions(question: str, rewritten: str) -> list[Insertion]:
    """Return what ``rewritten`` adds to ``question``, run by run of words; changed words count as added."""
    old, new = question.rstrip(" ?").split(), rewritten.rstrip(" ?").split()
    lower_old, lower_new = [w.lower() for w in old], [w.lower() for w in new]
    found = []
    matcher = difflib.SequenceMatcher(None, lower_old, lower_new, autojunk=False)
    for tag, i, j, a, b in matcher.get_opcodes():
        if tag in ("insert", "replace"):
            added = " ".join(new[a:b])
            found.append(Insertion(added, lower_old[i - 1] if i else "", lower_old[j] if j < len(old) else ""))
    return found


def is_general(added: str, question: str) -> bool:
    """Return whether added words fit other questions: short, no names or figures, not just words of the demo."""
    parts = added.split()
    named = any(part[:1].isupper() or re.search(r"\d", part) for part in parts if part != "I")
    return 0 < len(parts) <= 4 and not named and bool(set(content_words(added)) - set(content_words(question)))


def apply(question: str, insertion: Insertion) -> str:
    """Add the insertion's words to another question, at the place that they had in the demo.

    The place is before the same content word, else behind the same word; words that stood at the
    demo's end, or have no neighbour in the question, go to the end.
    """
    body = question.rstrip(" ?").split()
    lower = [word.lower() for word in body]
    at = len(body)
    if insertion.after in lower and insertion.after not in STOPWORDS:
        at = lower.index(insertion.after)
    elif insertion.after and insertion.before in lower:
        at = lower.index(insertion.before) + 1
    return " ".join([*body[:at], insertion.added, *body[at:]]) + "?"


def relax_query(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``relaxed_query``: the question without brackets, years, and words such as "last" or "first"."""
    relaxed = prompt.question
    for pattern in _NARROWING:
        relaxed = re.sub(pattern, "", relaxed, flags=re.I)
    relaxed = " ".join(relaxed.split())
    return {"relaxed_query": relaxed if len(relaxed.split()) > 2 else prompt.question}


def rewrite_query(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``search_query``: the question's words that carry meaning, as they are written."""
    kept = [word for word in words(prompt.question) if word.lower() not in STOPWORDS]
    return {"search_query": " ".join(kept) or prompt.question}
