"""What the writer learns from: tasks with the question that a person wrote for them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from polyqa.base.values import Passage
from polyqa.metrics.gold import Question
from polyqa.models.writing import Task

from .reader_data import best_place
from .squad import Example, subject


@dataclass(frozen=True, slots=True)
class Lesson:
    """A task and the question that is to be written.

    Attributes
    ----------
    group
        What it belongs to: an article, an ambiguous question. Groups are held out whole.
    """

    task: Task
    question: str
    group: str


def alone(examples: Iterable[Example]) -> list[Lesson]:
    """Return one lesson for each answerable question: written of the passage alone."""
    return [
        Lesson(
            Task(example.context, start, start + len(text), example.title.replace("_", " ")),
            example.question,
            subject(example),
        )
        for example in examples
        for start, text in example.answers[:1]
    ]


def titled_by_question(examples: Iterable[Example]) -> list[Lesson]:
    """Return lessons from files whose titles are the ambiguous questions: the reading, in that question's words."""
    return [
        Lesson(Task(example.context, start, start + len(text), "", example.title), example.question, example.title)
        for example in examples
        for start, text in example.answers[:1]
        if example.title
    ]


def readings_of(questions: Iterable[Question], passages: Mapping[str, Passage]) -> list[Lesson]:
    """Return one lesson for each reading: written in the ambiguous question's words.

    Parameters
    ----------
    passages
        By id. A reading that names one of them is written from it, any other from a long answer to the question,
        if its answer stands there.
    """
    found = []
    for asked in questions:
        for reading in asked.readings:
            passage = passages.get(reading.pid or "")
            contexts = [(passage.text, passage.title)] if passage else [(text, "") for text in asked.long_answers]
            for text, title in contexts[:1]:
                place = best_place(reading.question, reading.short_answers, text)
                if place is not None and reading.question != asked.question:
                    task = Task(text, place[0], place[0] + len(place[1]), title, asked.question)
                    found.append(Lesson(task, reading.question, asked.question))
    return found


def vocabulary_of(counted: Sequence[Sequence[int]], size: int, always: Iterable[int] = ()) -> list[int]:
    """Return the ids of the word pieces that questions use most, sorted.

    Parameters
    ----------
    counted
        The questions' word pieces.
    size
        How many at most.
    always
        Ids that are in it whatever their count.
    """
    kept = set(always)
    for token, _ in Counter(token for question in counted for token in question).most_common(size):
        if len(kept) < size:
            kept.add(token)
    return sorted(kept)
