import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from polyqa.base.values import Interpretation
from polyqa.metrics import answer_coverage, exact_presence, modules, mrecall
from polyqa.metrics.alce import alce_text
from polyqa.metrics.answer_f1 import answer_f1
from polyqa.metrics.disambig_f1 import score_disambig_f1
from polyqa.metrics.dr import corpus_dr
from polyqa.metrics.edit_f1 import edit_f1
from polyqa.metrics.exact_match import exact_match
from polyqa.metrics.f1_answer import f1_answer
from polyqa.metrics.gold import Question, Reading
from polyqa.metrics.long_form import score_long_answers
from polyqa.metrics.recall import recall
from polyqa.metrics.rouge_l import rouge_l
from polyqa.metrics.str_em import str_em
from polyqa.metrics.token_f1 import token_f1
from polyqa.models import Reader

Columns = dict[str, list[Any]]

SHORT: Columns = {"predictions": ["Salt Lake", "nagano", "Oslo"], "references": [["Salt Lake City"], ["Nagano"], ["6"]]}
LONG = ["Nagano hosted in 1998, Salt Lake City in 2002 [1].\nThat is all.", "In Turin [2].", ""]
QUESTIONS = [
    Question(
        "0",
        "",
        (
            Reading("Who hosted in 1998?", ("Nagano", "Nagano, Japan")),
            Reading("Who hosted in 2002?", ("Salt Lake City",)),
        ),
        ("Nagano hosted the games of 1998, Salt Lake City those of 2002.", "First Nagano. Then Salt Lake City."),
    ),
    Question("1", "", (Reading("Who hosted in 2006?", ("Turin", "Torino")),), ("Turin hosted the games of 2006.",)),
    Question("2", "", (Reading("Who hosted in 1952?", ("Oslo",)),), ("Oslo did.",)),
]
TEXTS = [["Nagano", "Oslo and Turin", "Nagano"], [], ["On the Oslofjord"]]  # ASQA's match alone finds Oslo
ANSWERS = [[list(aliases) for aliases in question.answers] for question in QUESTIONS]
FOUND = [
    [Interpretation(question="Who hosted in 1998?", answer="Nagano")],
    [Interpretation(question="Who hosted last?", answer="Torino"), Interpretation(question="Who?", answer="Turin")],
    [],
]
ANNOTATIONS = [
    [
        (Reading("Who hosted first?", ("Nagano",), other_questions=("Who hosted in 1998?",)), QUESTIONS[0].readings[1]),
        (Reading("Who hosted first?", ("Nagano",)), Reading("Who hosted last?", ("Turin",))),
    ],
    [QUESTIONS[1].readings],
    [QUESTIONS[2].readings],
]
ASKED = ["Who hosted?"] * 3
SETS = [[[list(one.short_answers) for one in own] for own in record] for record in ANNOTATIONS]
ANSWERED = [[one.answer for one in own] for own in FOUND]


def shown(readings: Any) -> list[dict[str, Any]]:
    return [{"question": "|".join(one.questions), "short_answers": list(one.short_answers)} for one in readings]


LONG_FORM: Columns = {"predictions": LONG, "references": [list(question.long_answers) for question in QUESTIONS]}
READINGS: Columns = {"predictions": LONG, "references": [shown(question.readings) for question in QUESTIONS]}
WHOLE: Columns = {
    "predictions": LONG,
    "references": [
        {"readings": own, "long_answers": texts}
        for own, texts in zip(READINGS["references"], LONG_FORM["references"], strict=True)
    ],
}
RETRIEVED: Columns = {"predictions": TEXTS, "references": ANSWERS}
REWRITTEN: Columns = {
    "predictions": [[one.model_dump() for one in own] for own in FOUND],
    "references": [[shown(own) for own in record] for record in ANNOTATIONS],
    "questions": ASKED,
}


def mean(function: Callable[..., float], *columns: Any, **settings: Any) -> float:
    return fmean(function(*row, **settings) for row in zip(*columns, strict=True))


def long_form(reader: Reader, texts: list[str]) -> dict[str, Any]:
    scores = score_long_answers(texts, QUESTIONS, reader)
    return {
        "dr": corpus_dr([one.disambig.f1 for one in scores], [one.rouge_l or 0.0 for one in scores]),
        "disambig_f1": fmean(one.disambig.f1 for one in scores),
        "rouge_l": fmean(one.rouge_l or 0.0 for one in scores),
        "str_em": fmean(one.str_em for one in scores),
        "length": fmean(one.length for one in scores),
        "reader": reader.name,
    }


def disambig(reader: Reader) -> dict[str, Any]:
    scores = score_disambig_f1(LONG, [question.readings for question in QUESTIONS], reader)
    return {
        "disambig_f1": fmean(one.f1 for one in scores),
        "disambig_em": fmean(one.em for one in scores),
        "disambig_hit": fmean(one.hit for one in scores),
        "reader": reader.name,
    }


@dataclass(frozen=True)
class Case:
    """A module, what it is given, what the plain functions make of that, and its settings (the reader is put in)."""

    module: type[modules.Module]
    columns: Columns
    plain: Callable[[Reader], dict[str, Any]]
    settings: dict[str, Any] = field(default_factory=dict)


def retrieval(module: type[modules.Module], function: Callable[..., float], k: int, **settings: Any) -> Case:
    def plain(_: Reader) -> dict[str, float]:
        return {f"{function.__name__}@{k}": mean(function, ANSWERS, TEXTS, k=k, **settings)}

    return Case(module, RETRIEVED, plain, settings if k == 5 else {"k": k, **settings})  # 5 is the default


CASES = {
    "exact match": Case(modules.ExactMatch, SHORT, lambda _: {"exact_match": mean(exact_match, *SHORT.values())}),
    "token F1": Case(modules.TokenF1, SHORT, lambda _: {"token_f1": mean(token_f1, *SHORT.values())}),
    "ROUGE-L": Case(modules.RougeL, LONG_FORM, lambda _: {"rouge_l": mean(rouge_l, *LONG_FORM.values())}),
    "STR-EM": Case(
        modules.StrEM, {"predictions": LONG, "references": ANSWERS}, lambda _: {"str_em": mean(str_em, LONG, ANSWERS)}
    ),
    "length": Case(modules.Length, {"predictions": LONG}, lambda _: {"length": (13 + 3 + 0) / 3}),
    "Disambig-F1": Case(modules.DisambigF1, READINGS, disambig, {"reader": None}),
    "DR": Case(modules.DR, WHOLE, lambda reader: long_form(reader, LONG), {"reader": None}),
    "DR by ALCE": Case(
        modules.DR,
        WHOLE,
        lambda reader: long_form(reader, [alce_text(text) for text in LONG]),
        {"reader": None, "alce": True},
    ),
    "F1 answer": Case(
        modules.F1Answer,
        {"predictions": ANSWERED, "references": SETS},
        lambda _: {"f1_answer": mean(f1_answer, ANSWERED, SETS)},
    ),
    "EDIT-F1": Case(
        modules.EditF1,
        REWRITTEN,  # an annotator of the others gave a single reading
        lambda _: {"edit_f1": mean(edit_f1, ASKED[:1], FOUND[:1], ANNOTATIONS[:1])},
    ),
    "Answer-F1": Case(
        modules.AnswerF1,
        {"predictions": ANSWERED, "references": ANSWERS},
        lambda _: {
            "answer_f1": fmean(value for row in zip(ANSWERED, ANSWERS, strict=True) for value in answer_f1(*row))
        },
    ),
    "MRecall": retrieval(modules.MRecall, mrecall, 5),
    "AC at 1": retrieval(modules.AnswerCoverage, answer_coverage, 1),
    "AC by ASQA's match": retrieval(modules.AnswerCoverage, answer_coverage, 2, match=exact_presence),
    "recall": retrieval(modules.Recall, recall, 2),
}


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a metric went to the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def test_every_module_has_a_case() -> None:
    defined = {
        value
        for name, value in vars(modules).items()
        if isinstance(value, type) and issubclass(value, modules.Module) and not name.startswith("_")
    }
    assert {case.module for case in CASES.values()} == defined - {modules.Module}


@pytest.mark.parametrize("name", CASES)
def test_a_module_computes_what_the_plain_function_does_and_describes_itself(
    name: str, reader: Reader, tmp_path: Path
) -> None:
    case = CASES[name]
    given = case.settings | ({"reader": reader} if "reader" in case.settings else {})
    module = case.module(cache_dir=str(tmp_path), **given)
    assert module.compute(**case.columns) == pytest.approx(case.plain(reader), abs=1e-12)
    assert module.description == type(module).__doc__
    assert set(module.features) == set(case.columns)


def test_the_embedded_reader_is_the_default(tmp_path: Path) -> None:
    for cls in (modules.DR, modules.DisambigF1):
        assert cls(cache_dir=str(tmp_path)).reader.name == Reader().name


def test_what_cannot_be_computed_is_said(reader: Reader) -> None:
    for module in (modules.StrEM(), modules.MRecall(), modules.DisambigF1(reader)):
        with pytest.raises(ValueError, match=f"{type(module).__name__} of no predictions is undefined"):
            module.compute(predictions=[], references=[])
    references = [
        {"readings": [{"question": "When?", "short_answers": ["1997"]}], "long_answers": long}
        for long in (["In 1997."], [])
    ]
    with pytest.raises(ValueError, match=r"a long answer for each question: references\[1\] has none"):
        modules.DR(reader).compute(predictions=["In 1997.", "In 1997."], references=references)
