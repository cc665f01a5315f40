"""The records of data sets whose questions have one answer, with its aliases."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import AliasChoices, BeforeValidator, Field

from polyqa.base.rows import by_row
from polyqa.metrics.gold import Question, Reading

from .fields import Aliases, Answers, Part, QuestionRecord, distinct, joined


class OneAnswerRecord(QuestionRecord):
    """A question with the aliases of one answer; what follows says where they stand."""

    @abstractmethod
    def aliases(self) -> Iterable[str]:
        """Return the aliases, which may repeat; the first is the canonical one."""

    def to_question(self, id: str) -> Question | None:
        """Return the record as a question of one reading, which is the question itself."""
        aliases = distinct(alias for alias in self.aliases() if alias.strip())
        return Question(id, self.question, (Reading(self.question, aliases),)) if aliases else None


class NQOpenRecord(OneAnswerRecord):
    """NQ-open (Lee et al., 2019): the aliases as ``answer``."""

    answer: Aliases

    @classmethod
    def fits(cls, row: Mapping[str, Any]) -> bool:
        """Return whether the answer is a list."""
        return isinstance(row["answer"], list)

    def aliases(self) -> Iterable[str]:
        """Return the list."""
        return self.answer


class PlainRecord(OneAnswerRecord):
    """HotpotQA, and tables of one's own: ``answer`` is one text."""

    answer: Answers

    def aliases(self) -> Iterable[str]:
        """Return the text, or what a list in it holds."""
        return self.answer


class DPRRecord(OneAnswerRecord):
    """DPR's questions (Karpukhin et al., 2020), FiD's, FlashRAG's: ``answers`` are the aliases of one answer."""

    answers: Answers = Field(validation_alias=AliasChoices("answers", "golden_answers"))

    def aliases(self) -> Iterable[str]:
        """Return the list."""
        return self.answers


class PopQARecord(OneAnswerRecord):
    """PopQA (Mallen et al., 2023): ``possible_answers``, a list that is written as a text."""

    possible_answers: Answers

    def aliases(self) -> Iterable[str]:
        """Return the list."""
        return self.possible_answers


class _TriviaQAAnswer(Part):
    value: str = Field(validation_alias=AliasChoices("value", "Value"))
    aliases: list[str] = Field(default_factory=list, validation_alias=AliasChoices("aliases", "Aliases"))


class TriviaQARecord(OneAnswerRecord):
    """TriviaQA (Joshi et al., 2017), official or as on the hub: an ``answer`` with its value and aliases."""

    answer: _TriviaQAAnswer

    @classmethod
    def fits(cls, row: Mapping[str, Any]) -> bool:
        """Return whether the answer is an object."""
        return isinstance(row["answer"], Mapping)

    def aliases(self) -> Iterable[str]:
        """Return the value, then the aliases."""
        return self.answer.value, *self.answer.aliases


class _SquadAnswer(Part):
    text: str


def _squad_answers(value: Any) -> Any:
    """Return answers as objects; the hub's copy has an object of lists, with ``answer_start`` of another length."""
    if isinstance(value, Mapping) and isinstance(value.get("text"), list):
        return [{"text": text} for text in value["text"]]
    return value


class SquadRecord(OneAnswerRecord):
    """SQuAD (Rajpurkar et al., 2016, 2018), official or as on the hub: ``answers`` with a text each, or none."""

    answers: Annotated[list[_SquadAnswer], BeforeValidator(_squad_answers)]

    @classmethod
    def fits(cls, row: Mapping[str, Any]) -> bool:
        """Return whether the answers are objects, or there are none to a context."""
        answers = row["answers"]
        objects = isinstance(answers, list) and all(isinstance(one, Mapping) for one in answers)
        return isinstance(answers, Mapping) or (objects and (bool(answers) or "context" in row))

    def aliases(self) -> Iterable[str]:
        """Return what the annotators marked."""
        return (answer.text for answer in self.answers)


class _Output(Part):
    answer: str | None = None


class KiltRecord(OneAnswerRecord):
    """KILT (Petroni et al., 2021): the ``input`` with each accepted answer as an ``output``."""

    output: Annotated[list[_Output], BeforeValidator(by_row)]

    @classmethod
    def fits(cls, row: Mapping[str, Any]) -> bool:
        """Return whether there are objects for outputs; ALCE's results have a text."""
        return not isinstance(row["output"], str)

    def aliases(self) -> Iterable[str]:
        """Return the answers; an output without one names a source only."""
        return (output.answer or "" for output in self.output)


class _ShortAnswer(Part):
    start_token: int
    end_token: int
    text: str = ""


class _NQAnnotation(Part):
    short_answers: Annotated[list[_ShortAnswer], BeforeValidator(by_row)] = Field(default_factory=list)
    yes_no_answer: str | int = "NONE"


def _tokens(document: Any) -> Any:
    """Return the tokens of a document; on the hub the answers have texts, and its tokens are not needed."""
    if isinstance(document, str):
        return document.split(" ")
    if isinstance(document, list):
        return [one.get("token") if isinstance(one, Mapping) else one for one in document]
    return []


class NaturalQuestionsRecord(OneAnswerRecord):
    """Natural Questions (Kwiatkowski et al., 2019): simplified, full, or as on the hub.

    The short answers of all annotators are aliases. Those of the official files are tokens of ``document_text`` or
    ``document_tokens``.
    """

    annotations: Annotated[list[_NQAnnotation], BeforeValidator(by_row)]
    tokens: Annotated[list[str], BeforeValidator(_tokens)] = Field(
        validation_alias=AliasChoices("document_text", "document_tokens", "document")
    )

    def aliases(self) -> Iterable[str]:
        """Return the short answers, and yes or no."""
        for note in self.annotations:
            for answer in note.short_answers:
                yield answer.text or joined(self.tokens[answer.start_token : answer.end_token])
            if note.yes_no_answer in ("YES", "NO", 1, 0):
                yield "yes" if note.yes_no_answer in ("YES", 1) else "no"
