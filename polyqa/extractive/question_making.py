"""Questions made from a passage (SIXPAQ): what may be asked for, the question that the writer writes, its revision."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from polyqa.metrics.text import SECTION, content_words, holds, split_title
from polyqa.models import Task, Writer, Written

from .answer_kinds import names_and_figures
from .evidence import Models
from .grammar import candidate_spans
from .prompt import Prompt, PromptPassage
from .titles import name_of, topic_nouns

_MOST = 8
_MOST_AT_ONCE = 6
_MOST_TOLD = re.compile(r"\bAt most (\d+)\b")
_NO_QUESTION = "None"
# Mean log-probability of the writer's tokens: below it most questions are none that a person would ask.
_SURE = -0.55
_POINTS = re.compile(
    r"\b(?:it|its|this|these|those|he|him|his|she|her|they|them|their|here|above|the (?:passage|text|article))\b"
)
_PRONOUN = re.compile(r"\b(?:it|this)\b(?= (?:[a-z]+|\?)|\?)")
_OPENS = re.compile(
    r"(?:(?:in|on|at|for|to|from|by|of|with|during) )?(?:who|whom|whose|what|which|when|where|why|how|"
    r"is|are|was|were|do|does|did|has|have|had|can|could|will|would|name)\b",
    re.IGNORECASE,
)
_LONGEST = 30  # words
_TWICE = re.compile(r"\b(\w+(?: \w+)*),? \1\b", re.IGNORECASE)


def detect_answers(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``answers``: at most eight spans, or as many as the instructions say in figures.

    Those come first for which the writer is surest of its question.
    """
    spans = candidate_spans(prompt.passage)
    surest = list(_surest(prompt.passage, spans, models.writer))
    number = _MOST_TOLD.search(prompt.instructions)
    most = int(number[1]) if number else _MOST
    return {"answers": [*surest, *(span for span in spans if span not in surest)][:most]}


def _surest(passage: PromptPassage, spans: Sequence[str], writer: Writer) -> dict[str, Written]:
    written = written_questions(passage, spans, writer)
    return {span: written[span] for span in sorted(written, key=lambda span: -written[span].score)}


def ask_of_passage(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``questions`` with the six that the writer is surest of, each revised twice, and their spans."""
    passage = prompt.passage
    written = _surest(passage, candidate_spans(passage), models.writer)
    questions = []
    for span, one in islice(written.items(), _MOST_AT_ONCE):
        question = _revised(_revised(one.question, span, passage), span, passage)
        questions.append({"question": question, "answer": span})
    return {"questions": questions}


def generate_question(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``question`` with what the writer asks for the answer; ``None`` stands for no question."""
    passage = prompt.passage
    answer = prompt.inputs.get("answer", "").strip()
    written = written_questions(passage, [answer], models.writer) if answer else {}
    return {"question": written[answer].question if written else _NO_QUESTION}


def written_questions(passage: PromptPassage, spans: Sequence[str], writer: Writer) -> dict[str, Written]:
    """Return what the writer asks for spans of a passage, where it is sure of a well-formed question about a name."""
    places = {span: re.search(rf"(?<!\w){re.escape(span)}(?!\w)", passage.text) for span in spans}
    tasks = {span: Task(passage.text, *at.span(), passage.title) for span, at in places.items() if at}
    written = dict(zip(tasks, writer.write(list(tasks.values())), strict=True))
    return {
        span: one
        for span, one in written.items()
        if one.score >= _SURE and _well_formed(one.question, span, passage.title) and _named(one.question)
    }


def _well_formed(written: str, answer: str, title: str = "") -> bool:
    """Return whether a text is a question of usual length, without stutter, that does not tell its answer.

    What stands twice in the title is no stutter but a name.

    >>> _well_formed("Who built the bridge?", "1894"), _well_formed("The bridge built by?", "1894")
    (True, False)
    >>> [_well_formed("When did Duran Duran split?", "1985", title) for title in ("", "Duran Duran")]
    [False, True]
    """
    return (
        bool(_OPENS.match(written))
        and len(written.split()) <= _LONGEST
        and not holds(written, answer)
        and all(match[0] in title for match in _TWICE.finditer(written))
    )


def _named(question: str) -> bool:
    """Return whether a question has a name or a figure, and that before what points to something: "their", "him".

    "It" may stand first where revision puts the title in its place.
    """
    points = _POINTS.search(_PRONOUN.sub("", question))
    return bool(names_and_figures(question[: points.start()] if points else question))


def revise_question(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``revised_question``: one thing that is missing is added at a time, nothing if none is.

    First "it" or "the bridge" becomes the title's name; when the name stands there, its qualifier follows
    in brackets. A word that would tell the answer is not added.
    """
    return {"revised_question": _revised(prompt.question, prompt.inputs.get("answer", ""), prompt.passage)}


def _revised(question: str, answer: str, passage: PromptPassage) -> str:
    if SECTION in passage.title:  # "the office" may be the heading's, or the document's
        parts = passage.title.split(SECTION)[::-1]
        if any(set(content_words(part)) <= set(content_words(question)) for part in parts):
            return question
        revisions = (_revised(question, answer, replace(passage, title=part)) for part in parts)
        return next((revision for revision in revisions if revision != question), question)
    name, qualifier = split_title(passage.title)
    revised = question
    if name and not holds(question, name):
        nouns = "|".join(sorted(map(re.escape, topic_nouns(passage))))
        pattern = re.compile(rf"\b(?:the|this) (?:{nouns})\b(?! [A-Z])") if nouns else _PRONOUN
        for reference in (_PRONOUN, pattern):
            if reference.search(question):
                revised = reference.sub(lambda _: name_of(passage), question, count=1)
                break
    elif name and qualifier and not set(content_words(qualifier)) <= set(content_words(question)):
        place = re.search(re.escape(name), question)
        if place:
            revised = f"{question[: place.end()]} ({qualifier}){question[place.end() :]}"
    return question if answer and holds(revised, answer) else revised


def ask_of_namesakes(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill no question: this engine asks of one passage at a time; `polyqa.questions` joins what it asks."""
    return dict.fromkeys(("question", "first_answer", "second_answer"), _NO_QUESTION)
