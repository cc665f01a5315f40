"""How a reading is asked: the user's question with what tells its passage from the others."""

import re
from collections import Counter
from collections.abc import Sequence

from polyqa.metrics.text import (
    SECTION,
    STOPWORDS,
    content_words,
    holds,
    normalize_words,
    sentence_at,
    with_title,
)

from .answer_kinds import answer_kind, years
from .evidence import Evidence
from .titles import names, settle, told_apart

_PHRASE = re.compile(
    r"\b(?:in|at|on|for|by|from|during|as|with)\s+(?:the\s+)?(?:[A-Z][\w’'-]*|\d{4})(?:\s+(?:of\s+(?:the\s+)?)?(?:[A-Z][\w’'-]*|\d{4}))*"
)

_NAME = re.compile(r"(?<=\S )[A-Z][\w’'-]*(?: [A-Z][\w’'-]*)*")


def phrase(question: str, chosen: Sequence[Evidence]) -> list[tuple[Evidence, str]]:
    """Return evidence with the question that it answers.

    A lone reading keeps the question as it was asked. Of several each names its difference: what the title of its
    passage says is put in the place of the name in the question, or behind the question; where another reading says
    that already, a time or a place beside the answer follows. One whose title the question names in full keeps the
    question. In place of a title that a passage lacks is a name that its sentence alone has.
    """
    if len(chosen) < 2:
        return [(one, question) for one in chosen]
    phrased: list[tuple[Evidence, str]] = []
    taken: set[str] = set()
    titles = [one.passage.title or _name_apart(question, one, chosen) for one in chosen]
    for one, title, settled in zip(chosen, titles, _named(question, titles), strict=True):
        behind = with_title(question, title)
        options = [settled or behind, behind, *(_with_detail(question, detail) for detail in _details(one, question))]
        new = next((text for text in options if normalize_words(text) not in taken), options[0])
        taken.add(normalize_words(new))
        phrased.append((one, new))
    return phrased


def _name_apart(question: str, evidence: Evidence, chosen: Sequence[Evidence]) -> str:
    """Return the first name in the sentence of an answer that is no part of it, and in no other's; nothing if none.

    One of the others must have half of the sentence's words, as of two offices or mills: else names tell nothing.
    """
    sentence, *others = (_sentence(one) for one in (evidence, *chosen))
    others = [other for other in others if other != sentence]
    own_words = {*content_words(sentence)}.difference(content_words(evidence.answer))
    if all(2 * len(own_words.intersection(content_words(other))) < len(own_words) for other in others):
        return ""
    elsewhere = " ".join([question, evidence.answer, *others])
    return next((name for name in _NAME.findall(sentence) if not holds(elsewhere, name)), "")


def _sentence(evidence: Evidence) -> str:
    return sentence_at(evidence.passage.text, evidence.span.start).text


def _named(question: str, titles: Sequence[str]) -> list[str | None]:
    """Return the question as each title settles it; ``None`` where it names nothing that the user wrote as a name.

    Sections of one name are told apart by where they stand, also those of documents of one title.
    """
    sections = Counter(told_apart(title)[0] for title in set(titles) if SECTION in title)
    questions: list[str | None] = []
    for title in titles:
        section, place = told_apart(title)
        settled = settle(question, title) if names(question, title) else None
        questions.append(settled or (with_title(question, place) if sections[section] > 1 else None))
    return questions


def readings_of(question: str, evidence: Evidence) -> list[str]:
    """Return the question as rules settle it by the evidence's passage, in several ways; none if nothing does."""
    settled = settle(question, evidence.passage.title)
    detailed = [_with_detail(settled or question, detail) for detail in _details(evidence, question)]
    return [text for text in (settled, *detailed) if text]


def _details(evidence: Evidence, question: str) -> list[str]:
    """Return phrases of the answer's sentence that say when, where or by whom, nearest first.

    Where a time is asked for, none that tells one: "When did it open in 1996?"
    """
    sentence = sentence_at(evidence.passage.text, evidence.span.start)
    at = evidence.span.start - sentence.start
    question_words = set(content_words(question))
    phrases = []
    for match in _PHRASE.finditer(sentence.text):
        text = match[0]
        tells_time = answer_kind(question) == "time" and bool(years(text))
        overlaps = tells_time or (match.start() < at + len(evidence.span.text) and match.end() > at)
        if (
            overlaps
            or text.endswith(("'", "’", "'s", "’s"))
            or _is_cut(sentence.text[match.end() :])
            or holds(text, evidence.answer)
            or set(content_words(text)) <= question_words
        ):
            continue
        phrases.append((abs(match.start() - at), text))
    return [text for _, text in sorted(phrases)]


def _is_cut(after: str) -> bool:
    """Return whether a phrase goes on: "in the French" of "in the French colony", "at Béal" of "at Béal na Bláth"."""
    following = re.match(r"[ -]([a-z]+)", after)
    return following is not None and following[1] not in STOPWORDS


def _with_detail(question: str, detail: str) -> str:
    return f"{question.rstrip(' ?')} {detail}?"
