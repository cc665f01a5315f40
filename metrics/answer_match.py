"""Whether a passage holds an answer, as DPR decides it.

Source: DPR's `has_answer` with its SimpleTokenizer. Text and answer are Unicode-normalised (NFD),
lower-cased and cut into runs of letters, digits and marks, or single other visible characters; the
answer's tokens must stand in the text one after the other. Articles and punctuation count.
"""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import regex

from .text import check_lists

Match = Callable[[Iterable[str], str], bool]
_TOKEN = regex.compile(r"[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]")


@lru_cache(maxsize=100_000)
def _tokens(text: str) -> tuple[str, ...]:
    return tuple(token.lower() for token in _TOKEN.findall(unicodedata.normalize("NFD", text)))


def has_answer(answers: Iterable[str], text: str) -> bool:
    """Return whether a text holds any of the answers.

    Edge cases: no answer is never held; an answer without tokens (such as ``""``) is held by every
    text, as in the source.
    """
    check_lists(answers)
    tokens = _tokens(text)
    return any(_stands_in(_tokens(answer), tokens) for answer in answers)


def _stands_in(answer_tokens: Sequence[str], tokens: Sequence[str]) -> bool:
    size = len(answer_tokens)
    return any(tokens[at : at + size] == answer_tokens for at in range(len(tokens) - size + 1))


def covered_answers(answers: Sequence[Sequence[str]], texts: Sequence[str], *, match: Match = has_answer) -> int:
    """Return how many of a question's answers stand in at least one of the texts.

    Parameters
    ----------
    answers
        One list of aliases per answer.
    texts
        The passages' texts.
    match
        Decides whether a text holds one of some aliases: DPR's `has_answer`, or ASQA's
        `exact_presence.exact_presence`. Figures of different rules are not comparable.
    """
    check_lists(answers, 2)
    check_lists(texts)
    return sum(any(match(aliases, text) for text in texts) for aliases in answers)
