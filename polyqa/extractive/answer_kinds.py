"""What kind of answer a question asks for, and whether a span can be one."""

import re
from collections.abc import Sequence
from typing import Literal

from polyqa.metrics.text import content_words, words

AnswerKind = Literal["time", "number", "person", "place", "other"]

YEAR = re.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})\b")
# The first question word decides: "who was king when the war began" asks for a person.
_ASKED = re.compile(
    r"\b(?:(?P<number>how (?:many|much|long|old|tall|far|big|high|deep|often|large)|what (?:number|percent\w*))"
    r"|(?P<time>when|what (?:year|date|day|time|month|century)|which year)"
    r"|(?P<person>who(?:m|se)?)"
    r"|(?P<place>where|(?:what|which) (?:country|city|state|place|town|river|continent)))\b"
)
_WHO_IS = re.compile(r"who(?:['’]s| is| was| are| were) ([^\W\d_].*)", re.I)
_PARTICLES = frozenset({"al", "and", "da", "de", "del", "der", "di", "la", "le", "of", "the", "van", "von"})
_YES_OR_NO = re.compile(
    r"(?!.*\b(?:who|whom|whose|what|when|where|which|why|how)\b)"
    r"(?!\w+ you (?:please )?(?:explain|give|know|list|name|say|tell)\b)"
    r"(?:(?:is|are|was|were|do|does|did|has|have|had|could|should|would)(?:n['’]t)?|can(?:['’]t)?|won['’]t|"
    r"will(?= (?-i:[a-z])))\s",
    re.I | re.S,
)
_TIME_WORD = re.compile(
    r"\b(?:(?:minute|hour|day|night|week|weekend|month|season|year|decade)s?|century|centuries|today|now|present|"
    r"spring|summer|autumn|fall|winter|noon|midnight|morning|afternoon|evening|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|"
    r"january|february|march|april|may|june|july|august|september|october|november|december|"
    r"daily|weekly|monthly|yearly|annually|every|once|twice|after|before|during|until|while|when)\b",
    re.I,
)
_NUMBER_WORD = re.compile(
    r"\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|"
    r"seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|"
    r"billion|dozens?|hundreds|thousands|millions|billions|once|twice|half|none|free|"
    r"daily|weekly|monthly|yearly|annually|every)\b",
    re.I,
)


def years(text: str) -> list[str]:
    """Return the four-digit years of a text."""
    return YEAR.findall(text)


def answer_kind(question: str) -> AnswerKind:
    """Return what kind of answer a question asks for, by its question words.

    "Who is" and nothing but a name asks what the person is known for, which is no name.

    >>> answer_kind("Who is the king?"), answer_kind("Who was Francis Bacon?")
    ('person', 'other')
    """
    if (is_known := _WHO_IS.match(question)) and _is_name(words(is_known[1])):
        return "other"
    match = _ASKED.search(question.lower())
    return match.lastgroup if match else "other"  # type: ignore[return-value]


def _is_name(parts: Sequence[str]) -> bool:
    return bool(parts) and parts[0][0].isupper() and all(word[0].isupper() or word in _PARTICLES for word in parts)


def asks_yes_or_no(question: str) -> bool:
    """Return whether a question wants a yes or a no; a polite one, "Can you tell me who …", does not, nor a name.

    >>> asks_yes_or_no("Did Titanic sink in 1912?"), asks_yes_or_no("Do you know when Titanic sank?")
    (True, False)
    """
    return bool(_YES_OR_NO.match(question))


def fits_kind(answer: str, kind: AnswerKind) -> bool:
    """Return whether a span can be an answer of a kind (lenient: only clear misfits fail)."""
    if kind in ("time", "number"):
        word = _TIME_WORD if kind == "time" else _NUMBER_WORD
        return bool(re.search(r"\d", answer) or word.search(answer))
    return kind in ("other", "place") or any(word[:1].isupper() for word in words(answer))


def names_and_figures(question: str) -> frozenset[str]:
    """Return the content words of a question that are written with a capital, first word apart, or hold a digit.

    >>> sorted(names_and_figures("When was Linus Pauling given the 1962 Nobel Prize?"))
    ['1962', 'linus', 'nobel', 'pauling', 'prize']
    """
    marked = [word for word in words(question)[1:] if word[:1].isupper() or any(map(str.isdigit, word))]
    return frozenset(content_words(" ".join(marked)))
