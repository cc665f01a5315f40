"""Whether two short answers say the same, in other words: for judges and feedback, not for scores."""

import re
from calendar import month_name
from collections.abc import Sequence
from decimal import Decimal

from polyqa.base.text import COUNTS, ORDINALS

from .text import STOPWORDS, normalize_short, several, stems
from .token_f1 import token_f1

_AGREE = 0.5
_WITH_FIGURES, _WITHOUT = 1 / 2, 3 / 4  # of an answer's words: how many a sentence has that says it
_MONTHS = frozenset(month.lower() for month in month_name if month)
_SHORT_MONTHS = {month[:3]: month for month in _MONTHS} | {"sept": "september"}
_ISO_DATE = re.compile(r"\b(\d{4})-(0[1-9]|1[0-2])-(\d\d)\b")
_DASHED_DATE = re.compile(r"\b(\d{1,2})-([A-Za-z]{3,9})-(\d{4})\b")
_MAGNITUDE = re.compile(r"\b(\d+(?:·\d+)?) (hundred|thousand|million|billion|trillion)\b")
_POWERS = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_FIGURES = {word: str(n) for words in (COUNTS[1:], ORDINALS) for n, word in enumerate(words, 1)}


def agree(answer: str, others: Sequence[str]) -> bool:
    """Return whether an answer says the same as one of some others.

    They share half of their tokens (token F1 ≥ 0.5), and the numbers of one are among those of the
    other, and so do months: ``4 November 2001`` is not ``16 November 2001``, but may be ``November 2001``. How a
    name is joined is no matter: ``Taylor_Swift`` in an address is ``Taylor Swift``. Of several answers in one,
    separated by semicolons (`text.several`), all of one side must be among those of the other. Numbers up to twelve
    may be words: ``eighth`` is ``season 8``, and ``first season`` is not ``second season``.

    >>> agree("4 November 2001", ["16 November 2001"]), agree("November 2001", ["16 November 2001"])
    (False, True)
    >>> agree("4 May 1902", ["4 June 1902"]), agree("1.5 km", ["15 km"]), agree("1,500 men", ["1500 men"])
    (False, False, True)
    >>> agree("3 million", ["3,000,000 people"]), agree("3 million", ["3 billion"])
    (True, False)
    >>> agree("gold; silver", ["silver"]), agree("gold; silver", ["silver; bronze"])
    (True, False)
    >>> agree("the eighth", ["season 8"]), agree("the first season", ["the second season"])
    (True, False)
    >>> agree("Taylor_Swift", ["Taylor Swift"]), agree("png_free", ["png_free_data"])
    (True, False)
    """
    parts = several(answer)
    return answer in others or any(_among(parts, theirs) or _among(theirs, parts) for theirs in map(several, others))


def repeats(answer: str, others: Sequence[str]) -> bool:
    """Return whether an answer brings nothing new beside one of some others: for what is told, not for judging it.

    It agrees with it, and only one of the two has words of its own, but for function words. *Duke of York* and *Duke
    of Kent* agree well enough for a judge who knows which of them is right; in one answer they are two.

    >>> repeats("Duke of York", ["Duke of Kent"]), agree("Duke of York", ["Duke of Kent"])
    (False, True)
    >>> repeats("Queen Anne", ["Anne"]), repeats("Taylor_Swift", ["Taylor Swift"])
    (True, True)
    """
    return any(agree(answer, [other]) and _one_holds_the_other(answer, other) for other in others)


def says(text: str, answer: str) -> bool:
    """Return whether a sentence says an answer, be it in another order or with a word less: its figures, most words.

    With figures half of the words are enough, else three quarters: *Duke of York* is not said by *Duke of Kent*.

    >>> says("On November 8, 1602 it opened.", "8 November 1602"), says("The Duke of Kent did.", "Duke of York")
    (True, False)
    """
    text_stems = stems(" ".join(_content(text)))
    return any(_said(stems(" ".join(_content(part))), text_stems) for part in several(answer))


def _said(answer_stems: set[str], text_stems: set[str]) -> bool:
    figures = {word for word in answer_stems if word[0].isdigit()}
    least = len(answer_stems) * (_WITH_FIGURES if figures else _WITHOUT)
    return bool(answer_stems) and figures <= text_stems and len(answer_stems & text_stems) >= least


def _content(text: str) -> list[str]:
    return [word for word in _in_figures(text).split() if word not in STOPWORDS]


def _one_holds_the_other(one: str, other: str) -> bool:
    left, right = _content(one), _content(other)
    return {*left} <= {*right} or {*right} <= {*left} or "".join(left) == "".join(right)


def _among(parts: Sequence[str], all_: Sequence[str]) -> bool:
    return bool(parts) and all(any(_same(one, other) for other in all_) for one in parts)


def _same(one: str, other: str) -> bool:
    one, other = _in_figures(one), _in_figures(other)
    left, right = _numbers(one), _numbers(other)
    joined = one.replace(" ", "") == other.replace(" ", "")
    return (joined or token_f1(one, [other]) >= _AGREE) and (left <= right or right <= left)


def _in_figures(text: str) -> str:
    """Return a text in lower case, with its numbers in figures: "the 8th", "the eighth" and "eight" as "8".

    *1.5 million* is *1500000*. Months beside a figure have their names: *2023-10-02* and *2 Oct 2023* are
    *2 October 2023*.
    """
    dated = _ISO_DATE.sub(lambda match: f"{int(match[3])} {month_name[int(match[2])]} {match[1]}", text)
    dated = _DASHED_DATE.sub(lambda match: f"{int(match[1])} {match[2]} {match[3]}", dated)
    tokens = [re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "", token) for token in normalize_short(dated).split()]
    month_names = _SHORT_MONTHS if any(token[0].isdigit() for token in tokens) else {}
    figures = " ".join(_FIGURES.get(token, month_names.get(token, token)) for token in tokens)
    while figures != (written := _MAGNITUDE.sub(_written_out, figures)):  # "2 hundred thousand"
        figures = written
    return figures


def _written_out(match: re.Match[str]) -> str:
    number = Decimal(match[1].replace("·", ".")).scaleb(_POWERS[match[2]])
    return f"{number.normalize():f}".replace(".", "·")


def _numbers(text: str) -> set[str]:
    return {token for token in text.split() if token in _MONTHS or any(letter.isdigit() for letter in token)}
