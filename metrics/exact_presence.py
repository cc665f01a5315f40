"""Whether a text holds an answer, as ASQA's STR-EM decides it."""

from collections.abc import Iterable

from .text import check_lists, normalize_answer


def exact_presence(answers: Iterable[str], text: str) -> bool:
    """Return whether any answer is a substring of the text, both normalised.

    Edge cases, as in ASQA's official scorer: there is no word boundary, so ``6`` stands in ``1966``;
    an answer that normalises to nothing is always present.
    """
    check_lists(answers)
    normalized = normalize_answer(text)
    return any(normalize_answer(answer) in normalized for answer in answers)
