"""SituatedQA (Zhang and Choi, 2021): a question whose answer depends on the place or the date."""

from dataclasses import replace

from polyqa.metrics.gold import Question, Reading

from .format import Aliases, Format, Id, QuestionRecord, Text, distinct


class SituatedQARecord(QuestionRecord):
    """One place or date for a question: ``edited_question`` names it, ``answer`` holds there."""

    id: Id  # records of one question are told by it, so a running number will not do
    question: Text
    edited_question: Text
    answer: Aliases

    def to_question(self, id: str) -> Question:
        """Return the record as a question of one reading; answers that repeat are dropped."""
        return Question(id=id, question=self.question, readings=(Reading(self.edited_question, distinct(self.answer)),))


def _same(text: str) -> str:
    return " ".join(text.casefold().split())


def join(one: Question, other: Question) -> Question:
    """Return a question with the readings of both.

    Readings whose questions differ in nothing but case and white space become one with the answers of both:
    the annotators of a place or a year that was drawn twice did not always agree.
    """
    readings = {_same(reading.question): reading for reading in one.readings}
    for reading in other.readings:
        key = _same(reading.question)
        first = readings.setdefault(key, reading)
        readings[key] = replace(first, short_answers=distinct((*first.short_answers, *reading.short_answers)))
    return replace(one, readings=tuple(readings.values()))


SITUATEDQA = Format("situatedqa", SituatedQARecord, join)
