"""The metrics as `evaluate` modules, for those who compute with ``module.compute(predictions=…, references=…)``.

Each wraps the plain function of the same name: what a corpus value is (mean, DR of the means) is decided here. They
need no network. Importing this module imports `evaluate` and `datasets`, which takes seconds; nothing else in
`metrics` does.

>>> from polyqa.metrics.modules import StrEM
>>> StrEM().compute(predictions=["In 1997, in the USA."], references=[[["1997"], ["1998"]]])
{'str_em': 0.5}
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, ClassVar

import evaluate
from datasets import Features, List, Value

from polyqa.base.values import Interpretation
from polyqa.models import Reader, SpanReader

from .alce import alce_text
from .answer_coverage import answer_coverage
from .answer_f1 import answer_f1
from .answer_match import Match, has_answer
from .disambig_f1 import score_disambig_f1
from .dr import corpus_dr
from .edit_f1 import edit_f1
from .exact_match import exact_match
from .f1_answer import f1_answer
from .gold import Question
from .gold import Reading as GoldReading
from .length import length
from .long_form import score_long_answers
from .mrecall import mrecall
from .recall import recall
from .rouge_l import rouge_l
from .str_em import str_em
from .token_f1 import token_f1

TEXT = Value("string")
TEXTS = List(TEXT)
ANSWERS = List(TEXTS)  # one list of aliases per answer
READINGS = List({"question": TEXT, "short_answers": TEXTS})
INTERPRETATIONS = List({"question": TEXT, "answer": TEXT})


class Module(evaluate.Metric):
    """What all modules share: a declaration of the inputs, and a description from the docstring."""

    inputs: ClassVar[Mapping[str, Any]]

    def _info(self) -> evaluate.MetricInfo:
        text = self.__class__.__doc__ or ""
        features = Features(dict(self.inputs))
        return evaluate.MetricInfo(description=text, citation="", inputs_description=text, features=features)

    def _mean(self, values: Iterable[float]) -> float:
        listed = list(values)
        if not listed:
            raise ValueError(f"{type(self).__name__} of no predictions is undefined")
        return fmean(listed)


class _Mean(Module):
    """The mean of a plain function over the questions, under the function's name."""

    function: ClassVar[Callable[..., float]]

    def _compute(self, **columns: Sequence[Any]) -> dict[str, float]:
        function = type(self).function
        return {function.__name__: self._mean(function(*row) for row in zip(*columns.values(), strict=True))}


class ExactMatch(_Mean):
    """Mean exact match of short answers; a reference is a list of aliases."""

    inputs: ClassVar = {"predictions": TEXT, "references": TEXTS}
    function = staticmethod(exact_match)


class TokenF1(_Mean):
    """Mean token F1 of short answers; a reference is a list of aliases."""

    inputs: ClassVar = {"predictions": TEXT, "references": TEXTS}
    function = staticmethod(token_f1)


class RougeL(_Mean):
    """Mean ROUGE-L of long answers by ASQA's rules; a reference is a list of reference answers."""

    inputs: ClassVar = {"predictions": TEXT, "references": TEXTS}
    function = staticmethod(rouge_l)


class StrEM(_Mean):
    """Mean STR-EM of long answers; a reference holds one list of aliases per reading."""

    inputs: ClassVar = {"predictions": TEXT, "references": ANSWERS}
    function = staticmethod(str_em)


class Length(_Mean):
    """Mean length of answers in white-space tokens; takes predictions only."""

    inputs: ClassVar = {"predictions": TEXT}
    function = staticmethod(length)


class DisambigF1(Module):
    """Mean Disambig-F1, with its exact-match variants; a reference is a list of readings.

    The reader's name is part of the result, as figures of different readers are not comparable.
    """

    inputs: ClassVar = {"predictions": TEXT, "references": READINGS}

    def __init__(self, reader: SpanReader | None = None, **settings: Any) -> None:
        self.reader = reader or Reader()
        super().__init__(**settings)

    def _compute(self, predictions: Sequence[str], references: Sequence[Any]) -> dict[str, float | str]:
        scores = score_disambig_f1(predictions, [_readings(records) for records in references], self.reader)
        return {
            "disambig_f1": self._mean(score.f1 for score in scores),
            "disambig_em": fmean(score.em for score in scores),
            "disambig_hit": fmean(score.hit for score in scores),
            "reader": self.reader.name,
        }


class DR(Module):
    """DR with its two factors, STR-EM and LEN; a reference has ``readings`` and ``long_answers``.

    With ``alce=True`` the texts are cut as ALCE does (see `alce.alce_text`); such figures are not
    comparable with ASQA's.
    """

    inputs: ClassVar = {"predictions": TEXT, "references": {"readings": READINGS, "long_answers": TEXTS}}

    def __init__(self, reader: SpanReader | None = None, *, alce: bool = False, **settings: Any) -> None:
        self.reader = reader or Reader()
        self.alce = alce
        super().__init__(**settings)

    def _compute(self, predictions: Sequence[str], references: Sequence[Any]) -> dict[str, float | str]:
        questions = [
            Question(str(number), "", _readings(record["readings"]), tuple(record["long_answers"]))
            for number, record in enumerate(references)
        ]
        texts = [alce_text(text) for text in predictions] if self.alce else predictions
        scores = score_long_answers(texts, questions, self.reader)
        if bare := [question.id for question in questions if not question.long_answers]:
            raise ValueError(f"DR needs a long answer for each question: references[{bare[0]}] has none")
        rouge_ls = [score.rouge_l for score in scores if score.rouge_l is not None]
        f1s = [score.disambig.f1 for score in scores]
        return {
            "dr": corpus_dr(f1s, rouge_ls),
            "disambig_f1": fmean(f1s),
            "rouge_l": fmean(rouge_ls),
            "str_em": fmean(score.str_em for score in scores),
            "length": fmean(score.length for score in scores),
            "reader": self.reader.name,
        }


class F1Answer(_Mean):
    """Mean AmbigQA F1 answer; a prediction is a list of short answers, a reference a list of annotations."""

    inputs: ClassVar = {"predictions": TEXTS, "references": List(ANSWERS)}
    function = staticmethod(f1_answer)


class EditF1(Module):
    """Mean EDIT-F1; also takes ``questions``, the ambiguous ones; a reference is a list of annotations.

    A prediction is a list of mappings with ``question`` and ``answer``, without ``pid``. A reading's question may
    stand in several ways, with ``|`` between them. Questions to which an annotator gave a single reading do not count;
    NaN if no others are left.
    """

    inputs: ClassVar = {"predictions": INTERPRETATIONS, "references": List(READINGS), "questions": TEXT}

    def _compute(
        self, predictions: Sequence[Any], references: Sequence[Any], questions: Sequence[str]
    ) -> dict[str, float]:
        predicted = [
            [Interpretation(question=record["question"], answer=record["answer"]) for record in records]
            for records in predictions
        ]
        gold = [[_readings(readings) for readings in annotations] for annotations in references]
        rows = [row for row in zip(questions, predicted, gold, strict=True) if all(len(one) > 1 for one in row[2])]
        return {"edit_f1": fmean(edit_f1(*row) for row in rows) if rows else float("nan")}


class AnswerF1(Module):
    """Answer-F1 of Tree of Clarifications over all generated readings; 0 if there is none."""

    inputs: ClassVar = {"predictions": TEXTS, "references": ANSWERS}

    def _compute(self, predictions: Sequence[Sequence[str]], references: Sequence[Any]) -> dict[str, float]:
        values = [value for row in zip(predictions, references, strict=True) for value in answer_f1(*row)]
        return {"answer_f1": fmean(values) if values else 0.0}


class _AtK(Module):
    inputs: ClassVar = {"predictions": TEXTS, "references": ANSWERS}
    function: ClassVar[Callable[..., float]]

    def __init__(self, k: int = 5, *, match: Match = has_answer, **settings: Any) -> None:
        self.k = k
        self.match = match
        super().__init__(**settings)

    def _compute(self, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
        function = type(self).function
        values = [
            function(answers, texts, self.k, match=self.match)
            for answers, texts in zip(references, predictions, strict=True)
        ]
        return {f"{function.__name__}@{self.k}": self._mean(values)}


class MRecall(_AtK):
    """Mean MRecall@k; a prediction is a ranked list of passages' texts."""

    function = staticmethod(mrecall)


class AnswerCoverage(_AtK):
    """Mean AC@k; a prediction is a ranked list of passages' texts."""

    function = staticmethod(answer_coverage)


class Recall(_AtK):
    """Mean recall@k over distinct answers; a prediction is a ranked list of passages' texts."""

    function = staticmethod(recall)


def _readings(records: Any) -> tuple[GoldReading, ...]:
    return tuple(GoldReading.from_alternatives(one["question"], tuple(one["short_answers"])) for one in records)
