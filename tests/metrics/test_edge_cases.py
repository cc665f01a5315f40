"""What every metric does where its formula divides by zero, and what it refuses."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from table_reader import TableReader

from polyqa.base.values import Interpretation
from polyqa.metrics import answer_coverage, exact_presence, grounded, has_answer, mrecall
from polyqa.metrics.answer_f1 import answer_f1
from polyqa.metrics.disambig_f1 import disambig_f1, score_disambig_f1
from polyqa.metrics.dr import corpus_dr
from polyqa.metrics.edit_f1 import edit_f1, edits, question_edit_f1, question_tokens
from polyqa.metrics.exact_match import exact_match
from polyqa.metrics.f1_answer import f1_answer
from polyqa.metrics.gold import Question, Reading
from polyqa.metrics.grounded import Judgement, Ratio
from polyqa.metrics.long_form import score_long_answers
from polyqa.metrics.optimizing import AnswerMetric
from polyqa.metrics.recall import recall
from polyqa.metrics.rouge_l import rouge_l
from polyqa.metrics.str_em import str_em
from polyqa.metrics.strict_exact_match import strict_exact_match
from polyqa.metrics.token_f1 import token_f1

SHE = Reading("Who won in 1998?", ("She",))
FOUND = Interpretation(question="Who won in 1998?", answer="She")

# --- short answers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prediction", "aliases", "f1", "em"),
    [
        ("", [""], 1.0, 1.0),
        ("", ["the"], 1.0, 1.0),  # an article normalises to nothing
        ("the", ["a", "x"], 1.0, 1.0),
        (".", [""], 1.0, 1.0),
        ("", ["x"], 0.0, 0.0),
        ("x", [""], 0.0, 0.0),
        ("x", ["y"], 0.0, 0.0),
        ("torino", ["Turin", "Torino"], 1.0, 1.0),  # the best alias counts
        ("x y", ["z", "x y z w", "y z"], 2 / 3, 0.0),
        ("", [], 0.0, 0.0),
        ("x", [], 0.0, 0.0),
    ],
)
def test_short_answers(prediction: str, aliases: list[str], f1: float, em: float) -> None:
    assert token_f1(prediction, aliases) == pytest.approx(f1)
    assert exact_match(prediction, aliases) == em


def test_presence_of_nothing() -> None:
    assert exact_presence([], "text") is False
    assert exact_presence([""], "") is True
    assert exact_presence(["the"], "text") is True
    assert exact_presence(["x"], "") is False


# --- long answers --------------------------------------------------------------------------------


@pytest.mark.parametrize("reference", ["", "...", "  \n"])
def test_a_reference_without_words(reference: str) -> None:
    assert rouge_l("A long answer.", [reference]) == 0.0
    assert rouge_l("", [reference]) == 0.0  # ROUGE's own rule: nothing matches nothing
    assert rouge_l("A long answer.", [reference, "A long answer."]) == pytest.approx(1.0)


def test_disambig_f1_without_answers() -> None:
    score = disambig_f1(["", ""], [["She"], [""]])
    assert (score.f1, score.em, score.hit) == (0.5, 0.5, 0.0)
    assert disambig_f1([""], [[]]).hit == 0.0


def test_disambig_f1_without_questions() -> None:
    assert score_disambig_f1([], [], TableReader({})) == []
    assert score_long_answers([], [], TableReader({})) == []


def test_an_empty_long_answer_is_scored() -> None:
    (score,) = score_long_answers([""], [Question("1", "Who won?", (SHE,), ("She won.",))], TableReader({}))
    assert (score.disambig.f1, score.rouge_l, score.str_em, score.length, score.dr) == (0.0, 0.0, 0.0, 0, 0.0)


# --- sets of answers, rewritten questions --------------------------------------------------------


@pytest.mark.parametrize(
    ("predictions", "annotation"), [([], [["x"]]), (["x"], []), ([], []), (["x"], [["y"]]), (["x"], [[]]), ([""], [[]])]
)
def test_f1_answer_without_a_match(predictions: list[str], annotation: list[list[str]]) -> None:
    assert f1_answer(predictions, [annotation]) == 0.0


def test_answer_f1_without_predictions() -> None:
    assert answer_f1([], [["x"]]) == []
    assert answer_f1(["x"], [[]]) == [0.0]


def test_edit_f1_without_pairs() -> None:
    assert edit_f1("Who won?", [], [[SHE]]) == 0.0
    assert edit_f1("Who won?", [FOUND], [[]]) == 0.0
    assert edit_f1("Who won?", [], [[], [SHE]]) == 0.0
    assert edit_f1("Who won?", [FOUND.model_copy(update={"answer": "He"})], [[SHE, SHE]]) == 0.0


def test_questions_without_edits() -> None:
    same, other = question_tokens("Who won?"), question_tokens("Who won in 1998?")
    assert question_edit_f1(same, same, same) == 1.0
    assert question_edit_f1(same, other, same) == 0.0
    assert question_edit_f1(same, same, other) == 0.0
    assert question_edit_f1((), (), ()) == 1.0
    assert edits((), ()) == {}
    assert question_tokens("") == question_tokens("?") == question_tokens("the") == ()


# --- retrieval -----------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", [answer_coverage, mrecall, recall])
@pytest.mark.parametrize(
    ("aliases", "texts", "value"),
    [
        (["x"], [], 0.0),
        (["x"], [""], 0.0),
        ([], ["x"], 0.0),  # an answer without aliases is never recalled
        ([""], ["x"], 1.0),  # one without tokens needs a passage
        ([""], [], 0.0),
    ],
)
def test_what_retrieval_makes_of_nothing(
    metric: Callable[..., float], aliases: list[str], texts: list[str], value: float
) -> None:
    assert metric([aliases], texts, 5) == value


# --- grounded metrics ----------------------------------------------------------------------------


def test_averages_of_nothing() -> None:
    assert grounded.macro([]) == grounded.micro([]) == 0.0
    assert grounded.macro([Ratio(0, 0)]) == grounded.micro([Ratio(0, 0)]) == 0.0
    assert grounded.macro([Ratio(0, 0), Ratio(1, 2)]) == grounded.micro([Ratio(0, 0), Ratio(1, 2)]) == 0.5
    assert grounded.grounded_f1(0.0, 0.0) == 0.0
    assert grounded.grounded_f1(1.0, 0.0) == grounded.grounded_f1(0.0, 1.0) == 0.0
    assert grounded.sufficient([], 5) == 0.0


# --- what is refused -----------------------------------------------------------------------------

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "AC without answers": (lambda: answer_coverage([], ["x"], 5), "without answers is undefined"),
    "MRecall without answers": (lambda: mrecall([], ["x"], 5), "without answers is undefined"),
    "recall without answers": (lambda: recall([], ["x"], 5), "without answers is undefined"),
    "AC at 0": (lambda: answer_coverage([["x"]], ["x"], 0), "k must be at least 1, got 0"),
    "MRecall at -1": (lambda: mrecall([["x"]], ["x"], -1), "k must be at least 1, got -1"),
    "recall at 0": (lambda: recall([["x"]], ["x"], 0), "k must be at least 1, got 0"),
    "strict EM without answers": (lambda: strict_exact_match(["x"], [], []), "without right answers is undefined"),
    "STR-EM without answers": (lambda: str_em("x", []), "without answers is undefined"),
    "ROUGE-L without references": (lambda: rouge_l("x", []), "without a reference answer is undefined"),
    "Disambig-F1 without readings": (lambda: disambig_f1([], []), "without readings is undefined"),
    "Disambig-F1 with an answer too few": (lambda: disambig_f1(["x"], [["x"], ["y"]]), "shorter|longer"),
    "DR of no question": (lambda: corpus_dr([], []), "at least one"),
    "DR of other lengths": (lambda: corpus_dr([1.0], []), "got 1, 0"),
    "F1 answer without annotations": (lambda: f1_answer(["x"], []), "without an annotation is undefined"),
    "EDIT-F1 without annotations": (lambda: edit_f1("?", [FOUND], []), "without an annotation is undefined"),
    "Answer-F1 without gold answers": (lambda: answer_f1(["x"], []), "without answers is undefined"),
    "Answer-F1 of nothing without gold answers": (lambda: answer_f1([], []), "without answers is undefined"),
    "a judgement of m and m + 1": (
        lambda: Judgement((True,), (), (), (), (), distinct=1),
        "1 grounded but 0 matched decisions",
    ),
    "a judgement of n and n + 1": (
        lambda: Judgement((), (), (True,), (True,), (), distinct=0),
        "one decision per gold reading",
    ),
    "a threshold above 1": (lambda: AnswerMetric(None, threshold=1.5), r"threshold must lie in \[0, 1\], got 1.5"),  # type: ignore[arg-type]
    "a threshold below 0": (lambda: AnswerMetric(None, threshold=-0.1), "threshold"),  # type: ignore[arg-type]
    "an unknown measure": (lambda: AnswerMetric(None, measure="rouge"), "got 'rouge'"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        call()


def test_long_answers_and_questions_of_other_lengths_are_refused() -> None:
    question = Question("1", "Who won?", (SHE,))
    with pytest.raises(ValueError, match=r"shorter|longer"):
        score_long_answers(["x", "y"], [question], TableReader({}))
    with pytest.raises(ValueError, match=r"shorter|longer"):
        score_disambig_f1(["x"], [[SHE], [SHE]], TableReader({}))


def test_a_module_on_a_question_without_predictions(tmp_path: Path) -> None:
    from polyqa.metrics.modules import AnswerF1

    assert AnswerF1(cache_dir=str(tmp_path)).compute(predictions=[[]], references=[[["x"]]]) == {"answer_f1": 0.0}


@pytest.mark.parametrize(
    ("metric", "given"),
    [
        (str_em, ("In 1997", ["1997", "1998"])),
        (rouge_l, ("a b c", "a b c")),
        (exact_match, ("usa", "usa")),
        (token_f1, ("usa", "usa")),
        (exact_presence, ("usa", "us and a")),
        (has_answer, ("usa", "u s a")),
        (f1_answer, (["x1"], [["x1"]])),
        (f1_answer, ("x1", [[["x1"]]])),
        (answer_f1, (["x1"], ["x1"])),
        (disambig_f1, (["x1"], ["x1"])),
        (strict_exact_match, ("In 1902", [["1902"]], [])),
        (strict_exact_match, (["In 1902"], [["1902"]], "1885")),
        (recall, (["1997"], ["In 1997"], 5)),
        (mrecall, ([["1997"]], "In 1997", 5)),
    ],
)
def test_a_text_in_the_place_of_a_list_is_no_list_of_letters(metric: Any, given: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="a list is needed in place of the text"):
        metric(*given)
