"""What a passage is about: whether words of it stand for its title, and how the title is written in a question."""

import re

from polyqa.metrics.text import split_title

from .prompt import PromptPassage
from .text import STOPWORDS, content_words, normalize, sentences

_THING = re.compile(r"^(?:It|It's|Its)\b", re.M)
_IS_A = re.compile(
    r"\b(?:is|was) (?:an?|the) (?:[\w-]+ ){0,4}?([a-z]+)(?= (?:of|on|in|that|which|near|over|with|across)\b|[.,])"
)
_PARTS = r"(?:[a-z-]+ ){0,2}[a-z]+"
_WORK = re.compile(r"(construction|work|building|tunnelling)", re.I)


def topic_nouns(passage: PromptPassage) -> frozenset[str]:
    """Return the lower-case nouns that may stand for the title: "the bridge" for *Tower Bridge (London)*."""
    nouns = {word.lower() for word in re.findall(r"[A-Za-z]{3,}", passage.title)}
    first = sentences(passage.text)[0].text if passage.text.strip() else ""
    nouns |= {match[1] for match in _IS_A.finditer(first)}
    return frozenset(nouns)


def named(passage: PromptPassage) -> str:
    """Return the title's name, without its qualifier, as it stands inside a sentence."""
    name = split_title(passage.title)[0].strip()
    if name.startswith("The "):
        return f"the {name[4:]}"
    article = re.search(rf"\bthe {re.escape(name)}\b", passage.text, re.I)
    return f"the {name}" if article else name


def stands_for_title(words: str, passage: PromptPassage) -> bool:
    """Return whether a noun phrase means what the passage is about."""
    lower = words.lower().strip()
    if lower in ("it", "this", "he", "she", "they"):
        thing = any(_THING.match(sentence.text) for sentence in sentences(passage.text))
        return lower in ("it", "this") or (not thing and _opens_with_title(passage))
    name = split_title(passage.title)[0]
    if normalize(words) in (normalize(name), normalize(passage.title)):
        return True
    match = re.fullmatch(
        r"(?:the|this)(?: (?:first|second|third|fourth|present|new|whole))*((?: [\w’'-]+){1,5})", lower
    )
    if not match:
        return False
    *before, head = match[1].split()
    known = topic_nouns(passage)
    return head in known and all(word in known or not word.isalpha() for word in before)


def _opens_with_title(passage: PromptPassage) -> bool:
    words = content_words(split_title(passage.title)[0])
    opening = content_words(passage.text)[: len(words) + 2]
    return bool(words) and words[-1] in opening


def subject_for_question(words: str, passage: PromptPassage) -> str | None:
    """Return a subject as a question names it; ``None`` if it cannot be understood without the passage.

    "It" and "the bridge" become the title's name, "the main span" *the main span of* the name,
    "construction" *construction of* it; a surname becomes the full name that the passage gives.
    """
    if stands_for_title(words, passage):
        return named(passage)
    if match := _WORK.fullmatch(words):
        work = match[1].lower()
        return f"{work} {'on' if work == 'work' else 'of'} {named(passage)}"
    if re.fullmatch(rf"(?:The|Its) {_PARTS}", words):
        part = words.split(" ", 1)[1]
        return f"the {part} of {named(passage)}"
    if re.fullmatch(r"[A-Z][\w’'-]+", words):
        full = re.search(rf"\b(?:[A-Z][\w’'-]+ ){{1,2}}{re.escape(words)}\b", passage.text)
        return full[0] if full and full[0].split()[0].lower() not in ("the", "a", "when", "in") else None
    capitals = re.fullmatch(r"[A-Z][\w’'-]+(?: [A-Z][\w’'-]+){1,2}", words)
    return words if capitals and words.split()[0].lower() not in STOPWORDS else None
