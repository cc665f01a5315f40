from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from harness import question

from polyqa.base.values import Interpretation, Passage
from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.records import Record
from polyqa.evaluation.scoring import SUFFICIENT, Output, Scorer
from polyqa.metrics.embedded_judge import EmbeddedJudge
from polyqa.metrics.gold import Document, Question, Reading
from polyqa.metrics.judges import Claim
from polyqa.metrics.long_form import score_long_answers
from polyqa.models import Encoder, Reader

LONG = {"disambig_f1", "str_em", "length"}
SHORT = {"readings", "f1_answer"}
RETRIEVED = {"mrecall@5", "answer_coverage@5"}
GROUNDED = {"sufficient"} | {
    f"{name}_{part}" for name in ("g_precision", "g_recall", "gold_recall") for part in ("part", "whole")
}
PLAIN = question("sky", ("blue",))
BOTH = question("sky", ("blue", "grey"))
ANSWERS = (Interpretation(question="What colour is the sky by day?", answer="blue"),)
PASSAGES = (Passage(pid="p", title="Sky", text="By day the sky is blue."),)
TEXT = "By day it is blue."


class Yes:
    """A judge that says yes to everything."""

    name = "yes"

    def covered(self, question: str, found: Sequence[Claim], wanted: Sequence[Claim]) -> list[bool]:
        return [True] * len(wanted)

    def supported(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[bool]:
        return [True] * len(pairs)

    def distinct(self, question: str, readings: Sequence[Claim]) -> list[bool]:
        return [True] * len(readings)


@pytest.fixture(scope="module")
def scorer(reader: Reader) -> Scorer:
    return Scorer(reader, Yes())


@pytest.mark.parametrize(
    ("asked", "output", "names"),
    [
        (PLAIN, Output(TEXT), LONG | SHORT | {"exact_match"}),
        (PLAIN, Output(TEXT, ANSWERS), LONG | SHORT | {"exact_match", "answer_f1"}),
        (BOTH, Output(TEXT), LONG | SHORT | {"edit_f1"}),
        (BOTH, Output(TEXT, ANSWERS), LONG | SHORT | {"edit_f1", "answer_f1"}),
        (BOTH, Output(None, ANSWERS), SHORT | {"edit_f1", "answer_f1"}),
        (BOTH, Output(None), SHORT | {"edit_f1"}),
        (BOTH, Output(TEXT, (), PASSAGES), LONG | SHORT | {"edit_f1"} | RETRIEVED | GROUNDED),
        (question("sky", ("blue",), long_answers=(TEXT,)), Output(TEXT), LONG | SHORT | {"exact_match", "rouge_l"}),
        (question("sky", ("blue",), long_answers=(TEXT,)), Output(None), SHORT | {"exact_match"}),
        # An annotator with one reading rules EDIT-F1 out.
        (question("sky", ("a", "b"), other_annotations=(PLAIN.readings,)), Output(TEXT), LONG | SHORT),
        (question("sky", ("a", "b"), other_annotations=(BOTH.readings,)), Output(TEXT), LONG | SHORT | {"edit_f1"}),
    ],
)
def test_which_scores_a_question_allows(asked: Question, output: Output, names: set[str], scorer: Scorer) -> None:
    found = scorer.score(asked, output)
    assert found.keys() == names
    assert all(isinstance(value, float) for value in found.values())


def test_the_best_annotator_counts_for_f1_answer(scorer: Scorer) -> None:
    asked = question("sky", ("red", "green"), other_annotations=((Reading("?", ("blue",)),),))
    assert scorer.score(asked, Output(None, ANSWERS))["f1_answer"] == 1.0


@pytest.mark.parametrize(
    ("answer", "f1", "right"),
    [("blue; grey", 1.0, 1.0), ("grey;", 2 / 3, 1.0), ("blue; red", 0.5, 0.5), ("; ", 0.0, 0.0)],
)
def test_several_answers_of_a_reading_count_as_several(scorer: Scorer, answer: str, f1: float, right: float) -> None:
    found = scorer.score(BOTH, Output(None, (ANSWERS[0].model_copy(update={"answer": answer}),)))
    assert (found["readings"], found["f1_answer"], found["answer_f1"]) == pytest.approx((1.0, f1, right))


def test_a_reading_of_several_answers_weighs_as_one(scorer: Scorer) -> None:
    several = [ANSWERS[0].model_copy(update={"answer": answer}) for answer in ("blue; red; pink; white", "grey")]
    assert scorer.score(BOTH, Output(None, several))["answer_f1"] == pytest.approx((1 / 4 + 1) / 2)
    assert scorer.score(PLAIN, Output(None, several))["exact_match"] == 0.0, "of the whole answer"


def test_noise_is_scored_only_where_documents_came_with_the_question(scorer: Scorer) -> None:
    cited = [one.model_copy(update={"pid": "1"}) for one in ANSWERS]
    found = scorer.score(replace(BOTH, wrong_answers=("green",)), Output(TEXT, cited, PASSAGES))
    assert found["wrong_told"] == 0.0
    assert "noise_cited" not in found


def test_no_judge_is_needed(reader: Reader) -> None:
    assert Scorer(reader).score(BOTH, Output(TEXT, ANSWERS, PASSAGES)).keys() & GROUNDED == set()


def test_the_grounded_scores_are_parts_and_wholes(scorer: Scorer) -> None:
    found = scorer.score(BOTH, Output(TEXT, ANSWERS, PASSAGES))
    assert (found["g_precision_part"], found["g_precision_whole"]) == (1.0, 1.0)
    assert (found["g_recall_part"], found["g_recall_whole"]) == (2.0, 2.0)
    assert found["sufficient"] == 0.0
    many = Output(TEXT, ANSWERS * SUFFICIENT, PASSAGES)
    assert scorer.score(BOTH, many)["sufficient"] == 1.0
    nothing = scorer.score(BOTH, Output("", (), PASSAGES))
    assert (nothing["g_precision_whole"], nothing["gold_recall_part"], nothing["gold_recall_whole"]) == (0.0, 0.0, 2.0)


def test_grounded_recall_is_held_against_all_that_was_retrieved(reader: Reader) -> None:
    class ByPassage(Yes):
        def supported(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[bool]:
            return [claim.answers[0] in passage.text for claim, passage in pairs]

    grey = Passage(pid="g", title="Sky", text="In the evening it is grey.")
    few = Output(TEXT, ANSWERS, PASSAGES)
    narrow = Scorer(reader, ByPassage()).score(BOTH, few)
    wide = Scorer(reader, ByPassage()).score(BOTH, replace(few, universe=(*PASSAGES, grey)))
    assert (narrow["g_recall_part"], narrow["g_recall_whole"]) == (1.0, 1.0)
    assert (wide["g_recall_part"], wide["g_recall_whole"]) == (1.0, 2.0)


def test_retrieving_and_giving_no_passage_covers_nothing_and_is_not_left_out(scorer: Scorer) -> None:
    found = scorer.score(BOTH, Output(TEXT, (), (), PASSAGES))
    assert found["mrecall@5"] == found["answer_coverage@5"] == 0.0
    assert (found["g_recall_part"], found["g_recall_whole"]) == (0.0, 2.0)


def test_exact_match_takes_the_first_reading_and_else_the_answer(scorer: Scorer) -> None:
    other = Interpretation(question="And by night?", answer="black")
    assert scorer.score(PLAIN, Output("black", (*ANSWERS, other)))["exact_match"] == 1.0
    assert scorer.score(PLAIN, Output("blue", (other, *ANSWERS)))["exact_match"] == 0.0
    assert scorer.score(PLAIN, Output("The blue."))["exact_match"] == 1.0
    assert scorer.score(PLAIN, Output(None))["exact_match"] == 0.0


def test_alce_scores_the_first_line_without_citations(reader: Reader) -> None:
    output = Output("It is blue [1].\nOr grey [2], who knows.")
    whole, cut = (Scorer(reader, alce=alce).score(BOTH, output) for alce in (False, True))
    assert (whole["str_em"], cut["str_em"]) == (1.0, 0.5)
    assert (whole["length"], cut["length"]) == (9.0, 3.0)
    assert whole.keys() == cut.keys()
    short = Output("Blue [1].\nOr grey [2].")  # without readings the answer is the short one
    planted = replace(PLAIN, wrong_answers=("grey",))
    whole, cut = (Scorer(reader, alce=alce).score(planted, short) for alce in (False, True))
    assert (whole["exact_match"], cut["exact_match"]) == (0.0, 1.0)
    assert (whole["strict_exact_match"], cut["strict_exact_match"]) == (0.0, 1.0)


def test_many_are_scored_as_one_by_one(scorer: Scorer) -> None:
    asked = [PLAIN, BOTH, question("grass", ("green",), long_answers=("Green.",)), BOTH]
    outputs = [Output(TEXT), Output(None, ANSWERS), Output("Grass is green."), Output("", ANSWERS, PASSAGES)]
    together: Any = [*scorer.score_each(asked, outputs)]
    for one, other, output in zip(asked, together, outputs, strict=True):
        assert scorer.score(one, output) == pytest.approx(other)
    long = score_long_answers([TEXT, "Grass is green."], [PLAIN, asked[2]], scorer.reader)
    assert [one.disambig.f1 for one in long] == [together[0]["disambig_f1"], together[2]["disambig_f1"]]
    assert long[1].rouge_l == together[2]["rouge_l"]
    assert [*scorer.score_each([], [])] == []


def test_questions_and_outputs_come_in_pairs(scorer: Scorer) -> None:
    with pytest.raises(ValueError, match=r"shorter|longer"):
        next(scorer.score_each([PLAIN, BOTH], [Output(TEXT)]))


def test_every_column_is_made_of_scores_that_are_given(reader: Reader, encoder: Encoder) -> None:
    scorer = Scorer(reader, EmbeddedJudge(reader, encoder))
    output = Output(TEXT, ANSWERS, PASSAGES)
    given = set()
    planted = replace(
        BOTH, wrong_answers=("green",), documents=(Document("1", "misinfo", "green"), Document("2", "noise", ""))
    )
    for asked in (question("sky", ("blue",), long_answers=(TEXT,)), BOTH):
        given |= scorer.score(asked, output).keys()
    cited = [one.model_copy(update={"pid": "2"}) for one in ANSWERS]
    given |= scorer.score(planted, Output(TEXT, cited, PASSAGES)).keys()
    given |= {"failed", "calls", "input_tokens", "output_tokens", "seconds"} & {*Record.model_fields, "failed"}
    given.add("metric")  # of a user's own, by which a program was compiled
    assert {name for column in COLUMNS.values() for name in column.scores} <= given
