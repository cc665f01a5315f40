"""What a writer reads, as tokens, and how its word pieces become text again.

The encoder knows no case. What a question shares with its source is written as it stands there; so names keep their
capitals and marks.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

LONGEST_SOURCE = 96
"""Tokens of a source: question, title, and the passage around the answer."""
LONGEST_WRITTEN = 40
"""Word pieces of a written question, its end included."""
_LONGEST_QUESTION = 40
_BEGIN, _END = "[unused1]", "[unused2]"
_LOWER = frozenset((
    "a", "an", "and", "as", "at", "but", "by", "for", "from", "he", "her", "his", "if", "in", "into", "is",
    "it", "its", "of", "on", "or", "she", "that", "the", "their", "there", "these", "they", "this", "those",
    "to", "was", "were", "when", "where", "which", "who", "with", "after", "before", "during", "since", "while",
    "although", "what", "how", "why", "are",
))  # fmt: skip
_TIGHT = re.compile(r"\s+([,.;:!?)’'”]|n['’]t\b)|([(“])\s+|(?<=['’])\s+(?=s\b)")
_QUOTED = re.compile(r'" ([^"]*) "')
_ONE_YEAR = re.compile(r"\b((?:from|between) )?([12]\d{3})(?: (?:to|until|and) | ?[–—-] ?)\2\b")


@dataclass(frozen=True, slots=True)
class Task:
    """A question to write.

    Attributes
    ----------
    context
        The passage.
    start, end
        Where the answer stands in it, in characters.
    title
        The passage's title, or ``""``.
    question
        The user's question, whose meaning this answer settles; ``""`` for a question made of the passage alone.
    """

    context: str
    start: int
    end: int
    title: str = ""
    question: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A task as the network sees it.

    Attributes
    ----------
    ids, types
        Tokens, and 0 for those of the user's question, 1 for those of the passage.
    surface
        For every token the text that it stands for; ``""`` for special tokens.
    glued
        Whether a token stands right behind the one before it.
    opens
        Whether a token opens a sentence of the passage: its capital says nothing.
    """

    ids: tuple[int, ...]
    types: tuple[int, ...]
    surface: tuple[str, ...]
    glued: tuple[bool, ...]
    opens: tuple[bool, ...]


def read_tasks(tasks: Sequence[Task], tokenizer: Any) -> list[Source]:
    """Turn tasks into tokens: ``[CLS] question [SEP] title : … [unused1] answer [unused2] … [SEP]``.

    Parameters
    ----------
    tokenizer
        A tokenizer of the package `tokenizers`, without truncation and padding.
    """
    questions, titles, contexts = (
        [
            _Tokens(encoding.ids, encoding.offsets)
            for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)
        ]
        for texts in ([getattr(task, name) for task in tasks] for name in ("question", "title", "context"))
    )
    return [_source(*parts, tokenizer) for parts in zip(tasks, questions, titles, contexts, strict=True)]


class _Tokens(NamedTuple):
    """Ids and character offsets of the tokens of a text; an encoding makes its lists whenever it is asked."""

    ids: list[int]
    offsets: list[tuple[int, int]]


def _source(task: Task, question: _Tokens, title: _Tokens, context: _Tokens, tokenizer: Any) -> Source:
    tokens: list[tuple[int, int, str, bool, bool]] = []  # as the fields of `Source`

    def mark(token: str, kind: int) -> None:
        tokens.append((tokenizer.token_to_id(token), kind, "", False, False))

    def add(encoding: _Tokens, text: str, begin: int, end: int, kind: int) -> None:
        for place in range(begin, end):
            first, last = encoding.offsets[place]
            glued = place > begin and encoding.offsets[place - 1][1] == first
            opens = text is task.context and (not place or text[encoding.offsets[place - 1][0]] in ".!?")
            tokens.append((encoding.ids[place], kind, text[first:last], glued, opens))

    mark("[CLS]", 0)
    add(question, task.question, 0, min(len(question.ids), _LONGEST_QUESTION), 0)
    mark("[SEP]", 0)
    add(title, task.title, 0, min(len(title.ids), 16), 1)
    mark("[SEP]", 1)
    touched = [n for n, (first, last) in enumerate(context.offsets) if first < task.end and last > task.start]
    begin, end = (touched[0], touched[-1] + 1) if touched else (0, 0)
    end = min(end, begin + 32)
    room = LONGEST_SOURCE - len(tokens) - 3 - (end - begin)
    before = min(begin, max(room - min(len(context.ids) - end, room // 2), room // 2))
    after = min(len(context.ids) - end, room - before)
    add(context, task.context, begin - before, begin, 1)
    mark(_BEGIN, 1)
    add(context, task.context, begin, end, 1)
    mark(_END, 1)
    add(context, task.context, end, end + after, 1)
    mark("[SEP]", 1)
    return Source(*zip(*tokens, strict=True))


def ends(tokenizer: Any) -> tuple[int, int]:
    """Return the ids of the tokens before and after a written question."""
    return tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")


def as_text(tokens: Sequence[int], source: Source, tokenizer: Any) -> str:
    """Return written tokens as a question.

    The longest runs of tokens that stand in the source are written as they stand there, the others in lower case.
    """
    places: dict[int, list[int]] = {}
    for place, token in enumerate(source.ids):
        if source.surface[place]:
            places.setdefault(token, []).append(place)
    text = ""
    at = 0
    while at < len(tokens):
        first, length = _longest_run(tokens, at, source, places)
        piece = tokenizer.id_to_token(tokens[at]) or ""
        if length:
            surface = _shown(source, first, length)
            tight = piece.startswith("##") and bool(text)
        else:
            length, tight, surface = 1, piece.startswith("##"), piece.removeprefix("##")
        text += surface if tight or not text else f" {surface}"
        at += length
    text = _TIGHT.sub(lambda match: match[1] or match[2] or "", " ".join(text.split())).strip()
    text = _QUOTED.sub(r'"\1"', text)
    # The writer learned from periods, and writes one where there is a single year.
    text = _ONE_YEAR.sub(lambda match: f"{'in ' if match[1] else ''}{match[2]}", text)
    text = text.rstrip(" ?.") + "?" if text else ""
    return text[:1].upper() + text[1:]


def _longest_run(tokens: Sequence[int], at: int, source: Source, places: dict[int, list[int]]) -> tuple[int, int]:
    best = (0, 0)
    for place in places.get(tokens[at], ()):
        length = 0
        while (
            at + length < len(tokens)
            and place + length < len(source.ids)
            and source.surface[place + length]
            and source.ids[place + length] == tokens[at + length]
        ):
            length += 1
        # Of equal runs the one with capitals: a name in the title, not a word of the text.
        if (length, _capitals(source, place, length)) > (best[1], _capitals(source, *best)):
            best = (place, length)
    return best


def _capitals(source: Source, place: int, length: int) -> int:
    run = range(place, place + length)
    return sum(source.surface[at][:1].isupper() and not source.opens[at] for at in run)


def _shown(source: Source, first: int, length: int) -> str:
    parts = []
    for place in range(first, first + length):
        word = source.surface[place]
        # A word alone whose capital is a sentence's is most often no name.
        whole_word = place + 1 == len(source.glued) or not source.glued[place + 1]
        if place == first and whole_word and (word.lower() in _LOWER or (length == 1 and source.opens[place])):
            word = word.lower()
        parts.append(word if source.glued[place] or place == first else f" {word}")
    return "".join(parts)
