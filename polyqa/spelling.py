"""What a question is read as: with its question mark and capitals, without slips that the corpus shows to be slips."""

import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

import dspy

from polyqa.colbert_index import ColBERTIndex
from polyqa.extractive.grammar import MONTH
from polyqa.metrics.text import content_words, ends, names_and_numbers, split_title
from polyqa.models import Reader
from polyqa.replies.lists import asks_at_once

from .language_models import shared_reader
from .loading import index_of

_WORD = re.compile(r"(?<!\w)[^\W\d_]+(?!\w)")
_DATE = re.compile(
    rf"(?<![\w-])(?:\d{{4}}-\d\d-\d\d|\d{{1,2}} {MONTH} \d{{4}}|{MONTH} \d{{1,2}}, \d{{4}})(?![\w-])", re.IGNORECASE
)
# Letters of the longer one of two words. Over three corpora 19 of 580 questions of the others had a right word of five
# letters or more changed, most often a short name; so, and with the same first letter, 7 are left. Of 82 slips in words
# of six letters or more 76 are mended.
_SHORTEST = 6
_FIRST = 20  # passages in which names are looked for
_LOOKED_AT = 200  # passages in which the right word is looked for


@dataclass(frozen=True)
class AsRead:
    """A question as it is read.

    Attributes
    ----------
    question
        With a question mark if it begins as questions do, with the capitals of names if it has none or nothing else,
        with its misspelt words mended, and with dates as the corpus writes them.
    respelled
        Each misspelt word and each date that the corpus writes otherwise, and what it was read as.
    """

    question: str
    respelled: Mapping[str, str] = field(default_factory=dict)


def as_read(question: str, program: dspy.Module) -> AsRead:
    """Return a question as it is read over the corpus of a program.

    A word is taken for misspelt if it has five letters at least, is no word of the reader's vocabulary (about 30,000
    common words; a slip falls into pieces), stands nowhere in the corpus, in no form, and one letter left out, added
    or changed, or two neighbours exchanged (an edit distance of 1; Damerau, 1964), make it a word with the same first
    letter, and six letters in one of the two, of the passages found for the question: the one of most passages.

    A month gets its capital in a date. A date (*2026-04-06*, *6 April 2026*, *April 6, 2026*) that no passage found for
    it has is read in that of the other two forms that most passages have.

    Parameters
    ----------
    question
        As it was typed.
    program
        Over whose index it is asked; over none nothing is mended.
    """
    if not ends(question) and asks_at_once(question):
        question += "?"
    index, reader = index_of(program), shared_reader()
    if index is None or not isinstance(reader, Reader):
        return AsRead(question)
    if question.isupper():
        question = question.lower()
    without_capitals = question == question.lower()  # as it was typed: a date that is read otherwise brings one
    question, dates = _with_dates(_DATE.sub(lambda date: date[0].title(), question), index)
    unknown = [word for word in dict.fromkeys(_WORD.findall(question)) if _is_unknown(word, index, reader)]
    passages = index.search(question, _LOOKED_AT) if unknown else []
    # In how many passages each word stands.
    words = Counter(word for passage in passages for word in {*_WORD.findall(passage.indexed_text.lower())})
    nearest = {word: min(_near(word, words), key=lambda other: (-words[other], other), default="") for word in unknown}
    respelled = {word: near.capitalize() if word[0].isupper() else near for word, near in nearest.items() if near}
    mended = _WORD.sub(lambda match: respelled.get(match[0], match[0]), question)
    return AsRead(_with_capitals(mended, index) if without_capitals else mended, dates | respelled)


def _with_dates(question: str, index: ColBERTIndex) -> tuple[str, dict[str, str]]:
    """Return a question with its dates as the corpus writes them, and those that it writes otherwise."""
    read = {}
    for typed in dict.fromkeys(_DATE.findall(question)):
        by_form = {form: _alone(typed).sub(form, question) for form in (typed, *_forms(typed))}
        standing = {
            form: sum(bool(_alone(form).search(one.indexed_text)) for one in index.search(by_form[form], _FIRST))
            for form in by_form
        }
        best = max(standing, key=standing.__getitem__)
        if standing[best] and not standing[typed]:
            question, read[typed] = by_form[best], best
    return question, read


def _alone(date: str) -> re.Pattern[str]:
    """Return what finds a date, and not "6 April 2026" in "16 April 2026"."""
    return re.compile(rf"(?<![\w-]){re.escape(date)}(?![\w-])")


def _forms(typed: str) -> tuple[str, ...]:
    """Return a date in three forms; in none if there is no such day.

    >>> _forms("April 6, 2026"), _forms("2026-02-30")
    (('2026-04-06', '6 April 2026', 'April 6, 2026'), ())
    """
    for form in ("%Y-%m-%d", "%d %B %Y", "%B %d, %Y"):
        with suppress(ValueError):
            day = datetime.strptime(typed, form)
            month = f"{day:%B}"
            return day.date().isoformat(), f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}"
    return ()


def _with_capitals(question: str, index: ColBERTIndex) -> str:
    """Return a question in small letters with the capitals that the passages found for it have.

    Those are the capitals of titles, and of words that have one wherever they stand in these passages.
    """
    passages = index.search(question, _FIRST)
    small = {word for passage in passages for word in _WORD.findall(passage.text) if word.islower()}
    written = (name for passage in passages for name in names_and_numbers(passage.indexed_text))
    candidates = (re.sub(r"['’]s?$", "", name) for name in written)
    names = Counter(name for name in candidates if name.isalpha())
    capitals = {name.lower(): name for name, _ in reversed(names.most_common()) if name.lower() not in small}
    question = _WORD.sub(lambda word: capitals.get(word[0], word[0]), question)
    titles = {split_title(passage.title, commas=True)[0] for passage in passages}
    for title in sorted((one for one in titles if len(one) > 2 and content_words(one)), key=len):
        in_question = rf"(?<!\w){re.escape(title)}(?!\w)"
        question = re.sub(in_question, title.replace("\\", r"\\"), question, flags=re.IGNORECASE)
    return question[0].upper() + question[1:]


def _is_unknown(word: str, index: ColBERTIndex, reader: Reader) -> bool:
    return len(word) >= _SHORTEST - 1 and reader.count_tokens(word) > 1 and not index.bm25.search(word, 1)


def _near(word: str, words: Counter[str]) -> list[str]:
    word = word.lower()
    long = (other for other in words if max(len(other), len(word)) >= _SHORTEST)
    return [other for other in long if other[0] == word[0] and _one_edit_apart(word, other)]


# Ten lines of our own: nltk, which has edit distances, loads for two seconds.
def _one_edit_apart(word: str, other: str) -> bool:
    """Return whether one letter more, less or changed, or two neighbours exchanged, make one word the other."""
    short, long = sorted((word, other), key=len)
    same = next((at for at, (one, two) in enumerate(zip(short, long, strict=False)) if one != two), len(short))
    shorter, longer = short[same:], long[same:]
    if len(short) < len(long):
        return shorter == longer[1:]
    exchanged = shorter[1:2] + shorter[:1] + shorter[2:]
    return bool(shorter) and len(short) == len(long) and (shorter[1:] == longer[1:] or exchanged == longer)
