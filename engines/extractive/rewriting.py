"""How a question becomes another question: the patterns that demos show, applied elsewhere."""

import difflib
import re
from dataclasses import dataclass

from polyqa.metrics.text import split_title

from .text import STOPWORDS, content_words


@dataclass(frozen=True)
class Insertion:
    """Words that a demo's rewriting adds, and the words between which it adds them."""

    added: str
    before: str
    after: str


def insertions(question: str, rewritten: str) -> list[Insertion]:
    """Return what ``rewritten`` adds to ``question``, run by run of words; changed words count as added."""
    old, new = question.rstrip(" ?").split(), rewritten.rstrip(" ?").split()
    lower_old, lower_new = [w.lower() for w in old], [w.lower() for w in new]
    found = []
    matcher = difflib.SequenceMatcher(None, lower_old, lower_new, autojunk=False)
    for tag, i, j, a, b in matcher.get_opcodes():
        if tag in ("insert", "replace"):
            added = " ".join(new[a:b])
            found.append(Insertion(added, lower_old[i - 1] if i else "", lower_old[j] if j < len(old) else ""))
    return found


def is_general(added: str, question: str) -> bool:
    """Return whether added words fit other questions: short, no names or figures, not just words of the demo."""
    parts = added.split()
    named = any(part[:1].isupper() or re.search(r"\d", part) for part in parts if part != "I")
    return 0 < len(parts) <= 4 and not named and bool(set(content_words(added)) - set(content_words(question)))


def apply(question: str, insertion: Insertion) -> str:
    """Add the insertion's words to another question, at the place that they had in the demo.

    The place is before the same content word, else behind the same word; words that stood at the
    demo's end, or have no neighbour in the question, go to the end.
    """
    body = question.rstrip(" ?").split()
    lower = [word.lower() for word in body]
    at = len(body)
    if insertion.after in lower and insertion.after not in STOPWORDS:
        at = lower.index(insertion.after)
    elif insertion.after and insertion.before in lower:
        at = lower.index(insertion.before) + 1
    return " ".join([*body[:at], insertion.added, *body[at:]]) + "?"


def common_words(question: str, title: str) -> list[str]:
    """Return the content words that a question and a title share, in the title's order."""
    asked = {_stem(word) for word in content_words(question)}
    return [word for word in content_words(title) if _stem(word) in asked]


def _stem(word: str) -> str:
    return re.sub(r"(?:'s|s)$", "", word.lower())


def settle(question: str, title: str) -> str | None:
    """Rewrite a question so that it names what a title stands for.

    ``When did Titanic come out?`` with ``Titanic (1953 film)`` becomes ``When did the 1953 film
    Titanic come out?``; where that would not read well the qualifier follows the name in brackets. If
    the title has no qualifier, its whole name takes the place of the words that the question shares
    with it.

    Returns
    -------
    str or None
        ``None`` if the question and the title share no word, or the question already says it all.
    """
    name, qualifier = split_title(title)
    if not common_words(question, name):
        return None
    known = set(map(_stem, content_words(question)))
    body = question.rstrip(" ?").split()
    mention = _mention(body, name)
    if mention is None:
        return None
    first, last = mention
    if qualifier and not set(map(_stem, content_words(qualifier))) <= known:
        return " ".join(_qualified(body, first, last, qualifier)) + "?"
    if not set(map(_stem, content_words(name))) - known:
        return None
    possessive = re.search(r"['’]s?$", body[last])
    return " ".join([*body[:first], name + (possessive[0] if possessive else ""), *body[last + 1 :]]) + "?"


def _bare(word: str) -> str:
    return re.sub(r"[^\w'’-]", "", word)


def _mention(body: list[str], name: str) -> tuple[int, int] | None:
    """Return the first and last position of the longest run of the question's words that the name has."""
    wanted = {_stem(_bare(word)) for word in name.replace(",", " ").split()}
    stems = [_stem(_bare(word)) for word in body]
    best, start = (0, -1, -1), None
    for position in range(len(stems) + 1):
        inside = position < len(stems) and stems[position] in wanted
        if inside and start is None:
            start = position
        elif not inside and start is not None:
            run = stems[start:position]
            weight = sum(stem not in STOPWORDS for stem in run)
            best = max(best, (weight, -start, position - 1))
            start = None
    weight, negative, last = best
    if not weight:
        return None
    first = -negative
    while body[first].lower() in ("of", "in", "on", "at", "the") and first < last:
        first += 1  # the run may begin with a word that belongs to the question
    return first, last


def _qualified(body: list[str], first: int, last: int, qualifier: str) -> list[str]:
    mention = " ".join(body[first : last + 1])
    before = [word.lower() for word in body[:first]]
    head = qualifier.split()[-1].lower()
    if before[-1:] == [head]:  # "the film Titanic" with "1953 film": the film is named already
        start = first - 2 if before[-2:-1] in (["the"], ["a"]) else first - 1
        return [*body[:start], f"the {qualifier}", mention, *body[last + 1 :]]
    plain = before[-1:] and before[-1] in STOPWORDS and before[-1] not in ("the", "a", "an")
    if plain and qualifier.split()[-1][:1].islower() and not re.search(r"['’]s?$", body[last]):
        noun = qualifier if re.match(r"(?:the|a|an)\b", qualifier, re.I) else f"the {qualifier}"
        return [*body[:first], noun, mention, *body[last + 1 :]]
    return [*body[:first], f"{mention} ({qualifier})", *body[last + 1 :]]
