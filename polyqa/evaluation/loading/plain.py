"""The records of data sets whose questions have one answer, with its aliases."""

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

from pydantic import AliasChoices, BeforeValidator, Field

from polyqa.base.rows import by_row
from polyqa.metrics.gold import Question, Reading

from .fields import Answers, AnswersIfAny, Part, QuestionRecord, distinct, joined


class OneAnswerRecord(QuestionRecord):
    """A question with the aliases of one answer; what follows says where they stand."""

    answers: list[str] = Field(default_factory=list)

    def aliases(self) -> Iterable[str]:
        """Return the aliases, which may repeat; the first is the canonical one."""
        return self.answers

    def to_question(self, id: str) -> Question | None:
        """Return the record as a question of one reading, which is the question itself."""
        aliases = distinct(alias for alias in self.aliases() if alias.strip())
        return Question(id, self.question, (Reading(self.question, aliases),)) if aliases else None


class PlainRecord(OneAnswerRecord):
    """HotpotQA, MuSiQue, and tables of one's own: ``answer`` is one text, or a list in it; empty, there is none."""

    answers: AnswersIfAny = Field(validation_alias="answer")
    answer_aliases: AnswersIfAny = Field(default_factory=list)
    may_be_null = frozenset({"answer"})

    def aliases(self) -> Iterable[str]:
        """Return the answer, and MuSiQue's aliases of it."""
        return (*self.answers, *self.answer_aliases)


class NQOpenRecord(PlainRecord):
    """NQ-open (Lee et al., 2019): the aliases as ``answer``."""

    @classmethod
    def fits(cls, row: Mapping[str, Any]) -> bool:
        """Return whether the answer is a list."""
        return isinstance(row["answer"], list)


class DPRRecord(OneAnswerRecord):
    """DPR's questions (Karpukhin et al., 2020), FiD's, FlashRAG's: ``answers`` are the aliases of one answer."""

    answers: AnswersIfAny = Field(validation_alias=AliasChoices("answers", "golden_answers"))
    may_be_null = frozenset({"answers", "golden_answers"})


class PopQARecord(OneAnswerRecord):
    """PopQA (Mallen et al., 2023): ``possible_answers``, a list that is written as a text."""

    answers: Answers = Field(validation_alias="possible_answers")


def _value_and_aliases(answer: Any) -> Any:
    if not isinstance(answer, Mapping):
        return answer
    row = {str(name).lower(): value for name, value in answer.items()}
    aliases = row.get("aliases", [])
    return [row.get("value"), *(aliases if isinstance(aliases, list) else [aliases])]


class TriviaQARecord(OneAnswerRecord):
    """TriviaQA (Joshi et al., 2017), official or as on the hub: an ``answer`` with its value and aliases."""

    answers: Annotated[list[str], BeforeValidator(_value_and_aliases)] = Field(validation_alias="answer")

    @classmethod
    def fits(cls, row: Mapping[str, Any]) -> bool:
        """Return whether the answer is an object."""
        return isinstance(row["answer"], Mapping)


def _in_each(name: str) -> Callable[[Any], Any]:
    """Return what takes a text out of each of some objects, which a table may hold by column."""

    def texts(value: Any) -> Any:
        if isinstance(value, Mapping) and isinstance(value.get(name), list):
            return [text or "" for text in value[name]]  # the hub's SQuAD has columns of other lengths beside it
        rows = value if isinstance(value, list) else [value]
        return [one.get(name) or "" if isinstance(one, Mapping) else one for one in rows]

    return texts


class SquadRecord(OneAnswerRecord):
    """SQuAD (Rajpurkar et al., 2016, 2018), official or as on the hub: ``answers`` with a text each, or none."""

    answers: Annotated[list[str], BeforeValidator(_in_each("text"))]

    @classmethod
    def fits(cls, row: Mapping[str, Any]) -> bool:
        """Return whether the answers are objects, or there are none to a context."""
        answers = row["answers"]
        objects = isinstance(answers, list) and all(isinstance(one, Mapping) for one in answers)
        return isinstance(answers, Mapping) or (objects and (bool(answers) or "context" in row))


class KiltRecord(OneAnswerRecord):
    """KILT (Petroni et al., 2021): the ``input`` with each accepted answer as an ``output``."""

    answers: Annotated[list[str], BeforeValidator(_in_each("answer"))] = Field(validation_alias="output")

    @classmethod
    def fits(cls, row: Mapping[str, Any]) -> bool:
        """Return whether there are objects for outputs; ALCE's results have a text."""
        return not isinstance(row["output"], str)


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
