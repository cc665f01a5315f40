"""Questions that no longer fit their paragraph: the way SQuAD 2.0's writers made theirs, by rule.

SQuAD 2.0's own unanswerable questions are mostly answerable ones with an entity or a number swapped, an
antonym put in, or a negation added (Rajpurkar et al. 2018, table 3). Those four are done here by rule:
noisy, but a reader that sees none of them answers whatever shares words with the question.
"""

import random
import re

_NAME = re.compile(r"(?<![.?!] )(?<!^)\b[A-Z][a-z]+(?:[ -](?:of |the |de )?[A-Z][a-z]+)*\b")
_YEAR = re.compile(r"\b1[0-9]{3}s?\b|\b20[0-9]{2}s?\b")
_FIRST_WORDS = frozenset((
    "What", "Who", "When", "Where", "Which", "How", "Why", "In", "On", "At", "The", "For",
    "During", "By", "From", "Whose", "Whom", "To", "A", "An", "Of", "With",
))  # fmt: skip
_SHIFTS = (-10, -3, -1, 1, 2, 7, 10)
# One-way entries ("biggest smallest" beside "smallest largest") because a word has one antonym here.
_ANTONYM = {
    "above": "below", "after": "before", "allowed": "forbidden", "before": "after", "began": "ended", "begin": "end",
    "below": "above", "best": "worst", "better": "worse", "biggest": "smallest", "born": "buried",
    "built": "demolished", "created": "destroyed", "earliest": "latest", "east": "west", "eastern": "western",
    "female": "male", "first": "last", "founded": "dissolved", "gained": "lost", "higher": "lower",
    "highest": "lowest", "include": "exclude", "increase": "decrease", "increased": "decreased", "largest": "smallest",
    "last": "first", "latest": "earliest", "least": "most", "less": "more", "longest": "shortest", "lower": "higher",
    "lowest": "highest", "major": "minor", "majority": "minority", "male": "female", "maximum": "minimum",
    "men": "women", "minimum": "maximum", "more": "less", "most": "least", "new": "old", "north": "south",
    "northern": "southern", "old": "new", "oldest": "youngest", "positive": "negative", "private": "public",
    "public": "private", "rich": "poor", "smallest": "largest", "south": "north", "southern": "northern",
    "start": "end", "started": "ended", "support": "oppose", "supported": "opposed", "upper": "lower", "west": "east",
    "western": "eastern", "win": "lose", "women": "men", "won": "lost",
}  # fmt: skip
# "Who was ..." takes "not" right behind the auxiliary; "did X win" would need a parser.
_NEGATABLE = re.compile(
    r"(?:Who|What|Which [a-z]+|What [a-z]+) (?:was|were|is|are|can|could|has|have|had|will|would)\b(?! not)"
)


def alternatives(question: str, context: str, chance: random.Random) -> list[tuple[str, str]]:
    """Return changed questions that the context most likely does not answer, as ``(kind, question)``.

    Parameters
    ----------
    context
        The paragraph of the question: names and years that are put in come from it, so that they look
        familiar and fit nothing.
    chance
        Draws which names and years are put in.

    Returns
    -------
    list of (str, str)
        One for each place that can be changed; the kinds are ``antonym``, ``entity``, ``negation`` and ``year``.
    """
    found = []
    names = sorted(set(_NAME.findall(context)))
    for match in _NAME.finditer(question):
        old = match.group()
        fitting = [name for name in names if _may_replace(name, old, question)]
        if fitting and old.split()[0] not in _FIRST_WORDS:
            found.append(("entity", _put(question, match, chance.choice(fitting))))
    for match in _YEAR.finditer(question):
        found.append(("year", _put(question, match, _other_year(match.group(), question, context, chance))))
    for match in re.finditer(r"\b[a-z]+\b", question):
        if match.group() in _ANTONYM:
            found.append(("antonym", _put(question, match, _ANTONYM[match.group()])))
    if start := _NEGATABLE.match(question):
        added = chance.choice((" not", " never"))
        found.append(("negation", question[: start.end()] + added + question[start.end() :]))
    return found


def twist(question: str, context: str, chance: random.Random) -> str | None:
    """Return the question changed so that the context most likely does not answer it, or ``None``.

    The kind of the change is drawn first, then one of its places: otherwise names would be nearly all.
    The parameters are those of `alternatives`.

    Examples
    --------
    >>> twist("Who won the first race?", "…", random.Random(0)) in (
    ...     "Who won the last race?", "Who lost the first race?")
    True
    """
    found = alternatives(question, context, chance)
    if not found:
        return None
    kind = chance.choice(sorted({kind for kind, _ in found}))
    return chance.choice([changed for own, changed in found if own == kind])


def _may_replace(name: str, old: str, question: str) -> bool:
    """Return whether a name may stand for another: as many words, and no part of it or of the question."""
    return (
        name not in question
        and old not in name
        and name not in old
        and len(name.split()) == len(old.split())
        and name.split()[0] not in _FIRST_WORDS
    )


def _other_year(year: str, question: str, context: str, chance: random.Random) -> str:
    decade = year.endswith("s")
    others = sorted(
        {other for other in _YEAR.findall(context) if other not in question and other.endswith("s") == decade}
    )
    if others:
        return chance.choice(others)
    return f"{int(year.rstrip('s')) + chance.choice(_SHIFTS)}{'s' if decade else ''}"


def _put(question: str, match: re.Match[str], text: str) -> str:
    return question[: match.start()] + text + question[match.end() :]
