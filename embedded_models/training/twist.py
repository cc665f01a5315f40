"""Questions that no longer fit their paragraph: the way SQuAD 2.0's writers made theirs, by rule.

SQuAD 2.0's own unanswerable questions are mostly answerable ones with an entity or a number swapped, an
antonym put in, or a negation added (Rajpurkar et al. 2018, table 3). Those four are done here by rule:
noisy, but a reader that sees none of them answers whatever shares words with the question.
"""

import random
import re

_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w’'-]+(?:\s+(?:of\s+|the\s+)?[A-Z][\w’'-]+)*")
_NUMBER = re.compile(r"\b\d[\d,.]*\b")
_OPPOSITES = (
    "first last|largest smallest|biggest smallest|highest lowest|most least|more fewer|oldest youngest|best worst|"
    "before after|north south|northern southern|east west|eastern western|increase decrease|increased decreased|"
    "early late|earliest latest|old new|major minor|above below|begin end|began ended|start stop|started stopped|"
    "opened closed|won lost|win lose|male female|men women|king queen|father mother|son daughter|husband wife|"
    "always never|all none|high low|large small|strong weak|common rare|public private|allow forbid|allowed forbade|"
    "inside outside|top bottom|left right|up down|longest shortest|fastest slowest|positive negative|"
    "supported opposed|accepted rejected|included excluded|rise fall|rose fell|born died|arrived left|"
    "internal external|modern ancient|rich poor|hot cold|enter leave|entered left|join leave|joined left|"
    "majority minority|maximum minimum|advantage disadvantage|legal illegal|possible impossible|known unknown"
)
_OPPOSITE = {
    one: other
    for pair in (entry.split() for entry in _OPPOSITES.split("|"))
    for one, other in (tuple(pair), tuple(reversed(pair)))
}
_OPPOSITE_WORD = re.compile(rf"\b({'|'.join(sorted(_OPPOSITE, key=len, reverse=True))})\b", re.IGNORECASE)
_AUXILIARY = re.compile(r"\b(is|are|was|were|did|does|do|has|have|had|can|could|will|would|should)\b", re.IGNORECASE)


def twist(question: str, context: str, chance: random.Random, avoid: tuple[str, ...] = ()) -> str | None:
    """Return the question changed so that the context most likely does not answer it, or ``None``.

    Parameters
    ----------
    context
        Names and numbers that are put in come from it: they look familiar and fit nothing.
    chance
        Draws what to change.
    avoid
        Texts not to put in (the answers: a question that names its answer is no good negative).

    Examples
    --------
    >>> twist("Who won the first race?", "…", random.Random(0)) in (
    ...     "Who won the last race?", "Who lost the first race?")
    True
    """
    ways = [_other_name, _other_number, _opposite, _negated]
    chance.shuffle(ways)
    # A negation fits every question: it comes last, or all would be negations.
    ways.sort(key=lambda way: way is _negated and chance.random() < 0.8)
    for way in ways:
        changed = way(question, context, chance, avoid)
        if changed is not None and changed != question:
            return changed
    return None


def _swap(
    pattern: re.Pattern[str], question: str, context: str, chance: random.Random, avoid: tuple[str, ...]
) -> str | None:
    inside = list(pattern.finditer(question))
    lowered = question.lower()
    barred = " ".join(avoid).lower()
    others = sorted(
        {name for name in pattern.findall(context) if name.lower() not in lowered and name.lower() not in barred}
    )
    if not inside or not others:
        return None
    old = chance.choice(inside)
    return question[: old.start()] + chance.choice(others) + question[old.end() :]


def _other_name(question: str, context: str, chance: random.Random, avoid: tuple[str, ...]) -> str | None:
    return _swap(_NAME, question, context, chance, avoid)


def _other_number(question: str, context: str, chance: random.Random, avoid: tuple[str, ...]) -> str | None:
    return _swap(_NUMBER, question, context, chance, avoid)


def _opposite(question: str, context: str, chance: random.Random, avoid: tuple[str, ...]) -> str | None:
    found = list(_OPPOSITE_WORD.finditer(question))
    if not found:
        return None
    one = chance.choice(found)
    return question[: one.start()] + _OPPOSITE[one.group().lower()] + question[one.end() :]


def _negated(question: str, context: str, chance: random.Random, avoid: tuple[str, ...]) -> str | None:
    if re.search(r"\b(not|never)\b|n't", question, re.IGNORECASE):
        return re.sub(r"\b(not|never)\s+|n't\b", "", question, count=1, flags=re.IGNORECASE)
    match = _AUXILIARY.search(question)
    if match is None:
        return None
    # "did X win" → "did X not win" would need a parser; "didn't X win" needs none.
    word = match.group()
    short = {"can": "can't", "will": "won't"}.get(word.lower(), f"{word}n't")
    return question[: match.start()] + short + question[match.end() :]
