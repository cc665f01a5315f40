"""NQ-open (Lee et al., 2019): a question and the ways to write its answer."""

from polyqa.metrics.gold import Question, Reading

from .format import Aliases, Format, QuestionRecord, Text


class NQOpenRecord(QuestionRecord):
    """A plain question with the aliases of one answer."""

    question: Text
    answer: Aliases

    def to_question(self, id: str) -> Question:
        """Return the record as a question of one reading, which is the question itself."""
        return Question(id=id, question=self.question, readings=(Reading(self.question, tuple(self.answer)),))


NQ_OPEN = Format("nq-open", NQOpenRecord)
