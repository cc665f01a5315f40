"""How a question becomes another question: the patterns that demos show, applied elsewhere."""

import difflib
import re
from dataclasses import dataclass

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
            found.append(
                Insertion(added, lower_old[i - 1] if i else "", lower_old[j] if j < len(old) else "")
            )
    return found


def is_general(added: str, question: str) -> bool:
    """Return whether added words fit other questions: short, no names, not just words of the demo."""
    parts = added.split()
    named = any(part[:1].isupper() for part in parts if part not in ("I",))
    return (
        0 < len(parts) <= 4 and not named and bool(set(content_words(added)) - set(content_words(question)))
    )


def apply(question: str, insertion: Insertion) -> str:
    """Add the insertion's words to another question: at the same neighbours if it has them, else at its end."""
    body = question.rstrip(" ?").split()
    lower = [word.lower() for word in body]
    at = len(body)
    if insertion.after and insertion.after in lower and insertion.after not in STOPWORDS:
        at = lower.index(insertion.after)
    elif insertion.before and insertion.before in lower and insertion.before not in STOPWORDS:
        at = lower.index(insertion.before) + 1
    return " ".join([*body[:at], insertion.added, *body[at:]]) + "?"


def common_words(question: str, title: str) -> list[str]:
    """Return the content words that a question and a title share, in the title's order."""
    asked = {_stem(word) for word in content_words(question)}
    return [word for word in content_words(title) if _stem(word) in asked]


def _stem(word: str) -> str:
    return re.sub(r"(?:'s|s)$", "", word.lower())


def split_title(title: str) -> tuple[str, str]:
    """Split ``Titanic (1953 film)`` into its name and its qualifier; the qualifier may be empty."""
    match = re.fullmatch(r"(.*?)\s*\(([^()]*)\)\s*", title)
    return (match[1], match[2]) if match else (title, "")


def settle(question: str, title: str) -> str | None:
    """Rewrite a question so that it names what a title stands for.

    ``When did Titanic come out?`` with ``Titanic (1953 film)`` becomes ``When did the 1953 film
    Titanic come out?``. If the title has no qualifier, its whole name takes the place of the words
    that the question shares with it.

    Returns
    -------
    str or None
        ``None`` if the question and the title share no word, or the question already says it all.
    """
    name, qualifier = split_title(title)
    shared = common_words(question, name)
    if not shared:
        return None
    if qualifier and set(map(_stem, content_words(qualifier))) <= set(map(_stem, content_words(question))):
        qualifier = ""
    body = question.rstrip(" ?").split()
    stems = [_stem(re.sub(r"[^\w'-]", "", word)) for word in body]
    wanted = {_stem(word) for word in shared}
    first = next((i for i, stem in enumerate(stems) if stem in wanted), None)
    if first is None:
        return None
    last = first
    while last + 1 < len(body) and (
        stems[last + 1] in wanted
        or (stems[last + 1] in STOPWORDS and any(stem in wanted for stem in stems[last + 2 : last + 3]))
    ):
        last += 1
    start = first - 1 if first and body[first - 1].lower() in ("the", "a", "an") else first
    if qualifier:
        mention = (
            " ".join(body[first : last + 1]) if len(shared) > 1 or len(content_words(name)) == 1 else name
        )
        noun = qualifier if re.match(r"(?:the|a|an)\b", qualifier, re.I) else f"the {qualifier}"
        settled = [*body[:start], noun, mention, *body[last + 1 :]]
        if not re.search(r"[a-z]", qualifier):  # a bare name or year reads better behind the mention
            settled = [*body[:start], f"{mention} ({qualifier})", *body[last + 1 :]]
    else:
        if not set(content_words(name)) - set(content_words(question)):
            return None
        settled = [*body[:start], name, *body[last + 1 :]]
    return " ".join(settled) + "?"
