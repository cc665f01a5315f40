"""Passages that are copies of each other but for a few words, and what they have in place of an answer."""

import re
from difflib import SequenceMatcher
from functools import lru_cache

from polyqa.base.values import Passage
from polyqa.metrics.text import content_words, normalize_words, sentences, words

_SHARED = 0.7  # of the shorter passage's word triples, that stand in the other
_WORD = re.compile(r"\w+(?:['’.,-]\w+)*")


def are_copies(one: Passage, other: Passage) -> bool:
    """Return whether the shorter passage stands in the other, nearly: containment of word triples (Broder, 1997)."""
    few, many = sorted((_triples(one.text), _triples(other.text)), key=len)
    return len(few & many) >= _SHARED * len(few)


def edited(home: Passage, answer: str, copy: Passage) -> str:
    """Return what a copy of a passage has in place of an answer; nothing if it is no copy, or has the same.

    Texts of one pattern about two things, such as contracts with two firms, differ in other names as well, and are no
    copies.

    >>> text = "The mill of the brothers Lund was opened in {} and ground wheat for all of Kiel until it burned down."
    >>> one, other = (Passage(pid=year, text=text.format(year)) for year in ("1902", "1885"))
    >>> edited(one, "1902", other)
    '1885'
    """
    (here, _), (there, places), (asked, _) = map(_words, (home.text, copy.text, answer))
    if not asked or not are_copies(home, copy):
        return ""
    blocks = SequenceMatcher(None, here, there, autojunk=False).get_opcodes()
    for start in range(len(here) - len(asked) + 1):
        end = start + len(asked)
        if here[start:end] != asked:
            continue
        touched = [block for block in blocks if block[1] < end and block[2] > start]
        (_, first, _, first_there, _), (_, _, last, _, last_there) = touched[0], touched[-1]
        begin, stop = first_there + max(0, start - first), last_there - max(0, last - end)
        kinds = {kind for kind, *_ in touched}
        if "replace" in kinds and "delete" not in kinds and begin < stop:
            answers = {*asked, *there[begin:stop]}
            named, named_there = (_capitalized(passage) - answers for passage in (home, copy))
            changes = ((here[i:j], there[k:m]) for kind, i, j, k, m in blocks if kind == "replace")
            of_another = any(named & {*one} and named_there & {*other} for one, other in changes)
            return "" if of_another else copy.text[places[begin][0] : places[stop - 1][1]]
    return ""


@lru_cache(maxsize=2_000)
def names_of(passage: Passage) -> frozenset[str]:
    """Return the words written with a capital, but for the first of a sentence, or with a digit."""
    inner_words = [*words(passage.title), *(word for one in sentences(passage.text) for word in words(one.text)[1:])]
    names = (word for word in inner_words if word[0].isupper() or any(map(str.isdigit, word)))
    return frozenset(content_words(" ".join(names)))


def _capitalized(passage: Passage) -> set[str]:
    return {name for name in names_of(passage) if not name[0].isdigit()}


def _words(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the words of a text in small letters, and where they stand."""
    found = [*_WORD.finditer(text)]
    return [word[0].casefold() for word in found], [word.span() for word in found]


@lru_cache(maxsize=2_000)
def _triples(text: str) -> frozenset[tuple[str, ...]]:
    tokens = normalize_words(text).split()
    return frozenset(tuple(tokens[at : at + 3]) for at in range(max(1, len(tokens) - 2)))
