"""The readings of a question that passages answer: all of several passages, that of one, and the likeliest."""

import re
from collections.abc import Mapping, Sequence

from polyqa.metrics.text import content_words, holds, normalize_words, sentence_at
from polyqa.signatures.lenient import is_null, parse_interpretations

from .demos import best_cut, scored_demos
from .evidence import WORTH_TELLING, Evidence, Models, distinct, gather, telling
from .prompt import Prompt, parse_passages
from .titles import settle

NULL = "null"
_MOST = 6
_LONGEST_ANSWER = 10  # words
# From which support on a passage is said to answer a reading.
_ANSWERS = 0.2
# Below this support nothing is told as the one answer.
_LEAST_SUPPORT = 0.05
# The matter is settled if the best answer has at least this share of the support of all.
_SETTLED = 0.45
_PHRASE = re.compile(
    r"\b(?:in|at|on|for|by|from|during|as|with)\s+(?:the\s+)?(?:[A-Z][\w’'-]*|\d{4})(?:\s+(?:of\s+(?:the\s+)?)?(?:[A-Z][\w’'-]*|\d{4}))*"
)


def extract_interpretations(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``interpretations``.

    Every passage is read for the question. Answers whose support is close to the best are kept, one
    reading for each distinct answer; what tells a reading's passage from the others makes its
    question: the title's qualifier, else a time or a place beside the answer. Demos set how
    long an answer is at most.
    """
    longest = _longest_answer(prompt)
    found = gather(prompt.question, prompt.passages(), models)
    # The best supported stays first: it is the likeliest meaning, whatever the order of the passages.
    told = telling(prompt.question, found)
    chosen = distinct(one for one in told if one.support >= WORTH_TELLING * told[0].support)[:_MOST] or found[:1]
    return {
        "interpretations": [
            {
                "question": question,
                "answer": " ".join(evidence.answer.split()[:longest]),
                "pid": str(evidence.passage.number),
            }
            for evidence, question in _phrase(prompt.question, chosen)
        ]
    }


def _longest_answer(prompt: Prompt) -> int:
    """Return how many words of an answer the demos show at most.

    How many readings they show is no guide: the nearest training questions are about other things.
    """
    shown = [
        reading
        for demo in prompt.demos
        if "interpretations" in demo.outputs
        for reading in parse_interpretations(demo.outputs["interpretations"])
    ]
    return max(3, *(len(reading.answer.split()) for reading in shown)) if shown else _LONGEST_ANSWER


def interpret_passage(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``interpretation`` and ``short_answer``: the passage's best span, or null below the threshold.

    Demos that abstain or do not move the threshold: of all that separate them with the fewest errors, the
    one nearest to the default is taken.
    """

    def best(inputs: Mapping[str, str]) -> Evidence | None:
        passages = parse_passages(inputs.get("passage", ""))
        return next(iter(telling(inputs["question"], gather(inputs["question"], passages, models, ranked=False))), None)

    def support(inputs: Mapping[str, str]) -> float:
        found = best(inputs)
        return found.support if found else 0.0

    def threshold() -> float:
        told = scored_demos(prompt, ("question", "passage"), "interpretation", support, is_null)
        return best_cut([(score, not abstains) for score, abstains in told], _ANSWERS)

    found = best(prompt.inputs)
    if found is None or found.support < threshold():
        return {"interpretation": NULL, "short_answer": NULL}
    reading = next(iter(_readings_of(prompt.question, found)), prompt.question)
    return {"interpretation": reading, "short_answer": found.answer}


def locate_answer(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``short_answer``, ``source`` and ``settled``.

    Answers that hold one another are one. The best supported is told, as its best supported passage words it. Its
    share of the support of all settles the matter, not how far off the next best is: that would settle fewer of the
    plain questions.
    """
    ranked = distinct(telling(prompt.question, gather(prompt.question, prompt.passages(), models)))
    if not ranked or ranked[0].support < _LEAST_SUPPORT:
        return {"short_answer": NULL, "source": NULL, "settled": "No"}
    best = ranked[0]
    settled = best.support >= _SETTLED * sum(answer.support for answer in ranked)
    return {
        "short_answer": best.answer,
        "source": str(best.passage.number),
        "settled": "Yes" if settled else "No",
    }


def _readings_of(question: str, evidence: Evidence) -> list[str]:
    """Return the question as the evidence's passage settles it, in several ways; none if nothing settles it."""
    settled = settle(question, evidence.passage.title)
    detailed = [_with_detail(settled or question, detail) for detail in _details(evidence, question)]
    return [settled, *detailed] if settled else detailed


def _phrase(question: str, chosen: Sequence[Evidence]) -> list[tuple[Evidence, str]]:
    if len(chosen) == 1:
        return [(chosen[0], question)]
    phrased: list[tuple[Evidence, str]] = []
    taken = {normalize_words(question)}
    for evidence in chosen:
        candidates = _readings_of(question, evidence)
        settled = settle(question, evidence.passage.title) or question
        candidates.append(_with_detail(question, f"according to “{evidence.passage.title or evidence.span.text}”"))
        candidates.append(_with_detail(settled, f"with the answer {evidence.span.text}"))
        new = next(text for text in candidates if normalize_words(text) not in taken)
        taken.add(normalize_words(new))
        phrased.append((evidence, new))
    return phrased


def _details(evidence: Evidence, question: str) -> list[str]:
    """Return phrases of the answer's sentence that say when, where or by whom, nearest first."""
    sentence = sentence_at(evidence.passage.text, evidence.span.start)
    at = evidence.span.start - sentence.start
    asked = set(content_words(question))
    found = []
    for match in _PHRASE.finditer(sentence.text):
        phrase = match[0]
        overlaps = match.start() < at + len(evidence.span.text) and match.end() > at
        if overlaps or holds(phrase, evidence.span.text) or set(content_words(phrase)) <= asked:
            continue
        found.append((abs(match.start() - at), phrase))
    return [phrase for _, phrase in sorted(found)]


def _with_detail(question: str, detail: str) -> str:
    return f"{question.rstrip(' ?')} {detail}?"
