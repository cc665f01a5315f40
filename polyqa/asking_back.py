"""Asks back: one short question with the readings as choices, and what answers a choice, from what is there already."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from polyqa.base.text import ORDINALS
from polyqa.base.values import Interpretation, Passage
from polyqa.metrics.agreement import agree
from polyqa.metrics.text import (
    SECTION,
    content_words,
    holds,
    is_kind,
    normalize_short,
    sentences,
    several,
    split_title,
    without_marks,
    words,
)
from polyqa.programs.citation import unmarked
from polyqa.reports.marks import sentence_of

_NUMBER = re.compile(
    r"[^\w-]*(?:no\.?|number|option|the)?\s*(\d{1,2})(?:st|nd|rd|th)?\W*(?:one\W*)?(?:please\W*)?", re.IGNORECASE
)
_DENIES = re.compile(r"\b(?:not|no|neither|nor|except|but|without|other than)\b|n['’]t\b", re.IGNORECASE)
_OPENINGS = ("Which ", "What do you mean")
_LINE = re.compile(r"\d{1,2}\. (\S.*)")


@dataclass(frozen=True)
class Clarification:
    """A question back.

    Attributes
    ----------
    about
        How it begins: ``Which Titanic``.
    choices
        One for each reading that has an answer of its own, unlike each other.
    readings
        For each choice the place of its reading.
    """

    about: str
    choices: tuple[str, ...]
    readings: tuple[int, ...]

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return the question back that a numbered text is; ``None`` if it is none. Its readings are not known.

        What follows it in a paragraph of its own, such as how a word was read, is no choice.
        """
        about, gap, listed = text.replace("\r\n", "\n").partition("?\n\n")
        lines = [_LINE.fullmatch(line) for line in listed.partition("\n\n")[0].strip().split("\n")]
        if not gap or not about.startswith(_OPENINGS) or not all(lines) or len(lines) < 2:
            return None
        choices = tuple(line[1] for line in lines if line)
        return cls(about, choices, tuple(range(len(choices))))

    @property
    def question(self) -> str:
        """The question in a line: "Which Titanic: the 1997 film, the musical or RMS Titanic?"."""
        comma = "; " if any("," in choice for choice in self.choices) else ", "
        return f"{self.about}: {comma.join(self.choices[:-1])} or {self.choices[-1]}?"

    @property
    def numbered(self) -> str:
        """The question with its choices as a numbered list, as a chat shows it."""
        return "\n".join([f"{self.about}?", "", *(f"{at}. {choice}" for at, choice in enumerate(self.choices, 1))])

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON data: ``question``, ``choices``, and ``readings``, their places from 0."""
        return {"question": self.question, "choices": list(self.choices), "readings": list(self.readings)}


def clarification(
    question: str, readings: Sequence[Interpretation], passages: Sequence[Passage]
) -> Clarification | None:
    """Return the question back about some readings; ``None`` if they have fewer than two answers.

    A choice is what the title of a passage adds to the name that all share, else the whole reading. It costs no call.
    """
    answers: dict[str, int] = {}
    for place, reading in enumerate(readings):
        answers.setdefault(normalize_short(reading.answer), place)
    distinct = list(answers.values())
    if len(distinct) < 2:
        return None
    chosen = [readings[place] for place in distinct]
    titles = {passage.pid: passage.title for passage in passages}
    about = [titles.get(reading.pid or "", "") for reading in chosen]
    telling = any(holds(title, reading.answer, without_marks) for title, reading in zip(about, chosen, strict=True))
    name, labels = ("", []) if telling else _by_titles(question, about)
    labels = labels or [f"“{reading.question.rstrip('?')}”" for reading in chosen]
    if len({label.casefold() for label in labels}) < len(labels):
        return None
    return Clarification(f"Which {name}" if name else "What do you mean", tuple(labels), tuple(distinct))


def choice_of(reply: str, clarification: Clarification, readings: Sequence[Interpretation] = ()) -> int | None:
    """Return the place of the reading that a reply chooses: by its number, or by words of one choice alone.

    A reply is such as ``2``, ``the second one`` or ``the ship``; ``None`` if it names no choice, or several as well,
    or says what is not meant. All ``readings`` that the question back was made of help, if they are known.
    """
    exact = [choice.casefold() for choice in clarification.choices]
    if reply.strip().casefold() in exact:
        return clarification.readings[exact.index(reply.strip().casefold())]
    number = _NUMBER.fullmatch(reply.strip())
    if number and 1 <= int(number[1]) <= len(clarification.choices):  # any other may be a word of a choice: "Apollo 13"
        return clarification.readings[int(number[1]) - 1]
    if _DENIES.search(reply):
        return None
    reply_words = [word for word in map(str.lower, words(reply)) if word not in ("the", "one", "please")]
    if len(reply_words) == 1 and reply_words[0] in ORDINALS[: len(clarification.choices)]:
        return clarification.readings[ORDINALS.index(reply_words[0])]
    content = set(content_words(reply))
    longer = [
        f"{choice} {readings[at].question}"
        for choice, at in zip(clarification.choices, clarification.readings, strict=True)
        if readings
    ]
    asks = reply.rstrip().endswith("?")  # another question shares words with the choices
    for texts in filter(None, (clarification.choices, longer)):
        shared = [len(content & set(content_words(text))) for text in texts]
        if max(shared) * 2 >= len(content) * (2 if asks else 1) > 0 and shared.count(max(shared)) == 1:
            return clarification.readings[shared.index(max(shared))]
    return None


def answer_of(
    reading: Interpretation, other_readings: Sequence[Interpretation], passages: Sequence[Passage], answer: str
) -> str:
    """Return the text that answers one reading: the answer's sentences that tell it alone, else its passage's."""
    parts = (part for other in other_readings for part in several(other.answer))
    other_answers = [part for part in parts if not agree(part, [reading.answer])]
    own_answers = several(reading.answer)
    own_sentences = [
        sentence.text
        for sentence in sentences(answer)
        if any(holds(unmarked(sentence.text), part, without_marks) for part in own_answers)
        and not any(holds(unmarked(sentence.text), part, without_marks) for part in other_answers)
    ]
    if own_sentences:
        return " ".join(own_sentences)
    cited = next((passage for passage in passages if passage.pid == reading.pid), None)
    sentence = sentence_of(cited.text, reading.answer) if cited else ""
    return sentence or f"{reading.question} {reading.answer}"


def _by_titles(question: str, titles: Sequence[str]) -> tuple[str, list[str]]:
    """Return what titles have in common, and what differs; no labels unless each title is another thing."""
    if not all(titles) or len({title.casefold() for title in titles}) < len(titles):
        return "", []
    paths = [title.split(SECTION) for title in titles]
    while all(len(path) > 1 and path[0] == paths[0][0] for path in paths):  # the document of all
        paths = [path[1:] for path in paths]
    titles = [SECTION.join(path) for path in paths]
    parts = [split_title(title, commas=True) for title in titles]
    one_title = len({main_title for main_title, _ in parts}) == 1
    if one_title and all(SECTION in main_title and qualifier for main_title, qualifier in parts):
        return parts[0][0].partition(SECTION)[0], [qualifier for _, qualifier in parts]
    question_words = {word.lower() for word in words(question)}
    names = Counter(name for name, _ in parts if {word.lower() for word in words(name)} <= question_words)
    name = names.most_common(1)[0][0] if names else ""
    labels = [
        _label(name, main_title, qualifier, title) for (main_title, qualifier), title in zip(parts, titles, strict=True)
    ]
    return (name, labels) if len({label.casefold() for label in labels}) == len(labels) else (name, list(titles))


def _label(name: str, main_title: str, qualifier: str, title: str) -> str:
    """Return what a choice is called: "the 1997 film" or "Ontario" where its title says so, else the title."""
    if main_title != name or not qualifier:
        return title
    return f"the {qualifier}" if is_kind(qualifier) else qualifier
