"""The readings of a question that passages answer: all of several passages, that of one, and the likeliest."""

from collections.abc import Mapping, Sequence

from polyqa.signatures.lenient import is_null
from polyqa.signatures.lenient import parse_interpretations as parse_interpretations

from .demos import best_cut, scored_demos
from .evidence import Evidence, Models, distinct, gather, telling
from .prompt import Prompt, parse_passages
from .wordings import phrase, readings_of

NULL = "null"
_MOST = 6
_LONGEST_ANSWER = 10  # words
# From which support on a passage is said to answer a reading.
_ANSWERS = 0.2
# Below this support nothing is told.
_LEAST_SUPPORT = 0.05
# Beside the best answer one is shown from this share of its support and this support on, and from this one on if its
# passage gave an answer before.
_SHARE = 0.5
_LEAST_BESIDE = 0.1
_LEAST_AGAIN = 0.2
# The matter is settled if the best answer has at least this share of the support of all.
_SETTLED = 0.45


def extract_interpretations(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``interpretations``.

    Every passage is read for the question. Answers that are well supported are kept, one reading for each distinct
    answer; what tells a reading's passage from the others makes its question: the title's qualifier, else a time or a
    place beside the answer. What nothing tells from a better supported reading is left out. Demos set how long an
    answer is at most.
    """
    longest = _longest_answer(prompt)
    chosen = supported(prompt.question, gather(prompt.question, prompt.passages(), models))
    return {
        "interpretations": [
            {
                "question": question,
                "answer": " ".join(evidence.answer.split()[:longest]),
                "pid": str(evidence.passage.number),
            }
            for evidence, question in phrase(prompt.question, chosen, models)
        ]
    }


def supported(question: str, found: Sequence[Evidence]) -> list[Evidence]:
    """Return the evidence that is shown, best supported first, one for each distinct answer.

    The best is shown whatever its support is, unless there is next to none: it is the likeliest meaning. Any other
    needs support of its own, and more of it where its passage has given an answer before: most passages answer a
    question once.
    """
    told = distinct(telling(question, found))
    if not told or told[0].support < _LEAST_SUPPORT:
        return []
    chosen = told[:1]
    for one in told[1:]:
        again = any(one.passage.number == other.passage.number for other in chosen)
        if one.support >= max(_LEAST_AGAIN if again else _LEAST_BESIDE, _SHARE * told[0].support):
            chosen.append(one)
    return chosen[:_MOST]


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
    reading = next(iter(readings_of(prompt.question, found)), prompt.question)
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
