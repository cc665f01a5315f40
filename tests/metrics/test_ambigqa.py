from typing import Any

import pytest
from data_files import golden

from polyqa.base.values import Interpretation
from polyqa.metrics.edit_f1 import edit_f1, question_tokens
from polyqa.metrics.f1_answer import f1_answer
from polyqa.metrics.gold import Reading

SETS = golden("ambigqa_get_f1")
FULL = golden("ambigqa_full")
ANSWERS_ONLY = golden("ambigqa_answers_only")
REFERENCES = {record["id"]: record for record in FULL["reference"]}


def annotations(record: dict[str, Any]) -> list[list[Reading]]:
    """Return a record's readings by annotator; a single answer is a reading of the question as it stands."""
    return [
        [Reading(record["question"], tuple(annotation["answer"]))]
        if annotation["type"] == "singleAnswer"
        else [Reading.from_alternatives(pair["question"], tuple(pair["answer"])) for pair in annotation["qaPairs"]]
        for annotation in record["annotations"]
    ]


def answers(record: dict[str, Any]) -> list[list[tuple[str, ...]]]:
    return [[reading.short_answers for reading in readings] for readings in annotations(record)]


def found(id: str) -> list[Interpretation]:
    return [Interpretation(question=one["question"], answer=one["answer"]) for one in FULL["prediction"][id]]


every_item = pytest.mark.parametrize("item", FULL["per_instance"], ids=lambda item: item["id"])


@pytest.mark.parametrize("case", SETS["cases"], ids=lambda case: f"{case['predictions']}")
def test_f1_answer_agrees_with_the_official_function(case: dict[str, Any]) -> None:
    assert f1_answer(case["predictions"], [case["answers"]]) == pytest.approx(case["f1"], abs=1e-9)


@pytest.mark.parametrize("item", ANSWERS_ONLY["per_instance"], ids=lambda item: item["id"])
def test_f1_answer_agrees_with_the_official_script(item: dict[str, Any]) -> None:
    predictions = ANSWERS_ONLY["prediction"][item["id"]]
    assert f1_answer(predictions, answers(REFERENCES[item["id"]])) == pytest.approx(item["F1 answer"], abs=1e-9)


@every_item
def test_both_scores_agree_with_the_official_script(item: dict[str, Any]) -> None:
    record, own = REFERENCES[item["id"]], found(item["id"])
    scores = (
        f1_answer([one.answer for one in own], answers(record)),
        edit_f1(record["question"], own, annotations(record)),
    )
    assert scores == pytest.approx((item["F1 answer"], item["F1 edit-f1"]), abs=1e-9)


@every_item
def test_the_corpus_value_takes_the_questions_that_the_official_script_takes(item: dict[str, Any]) -> None:
    assert all(len(readings) > 1 for readings in annotations(REFERENCES[item["id"]])) is item["is_multi"]


@pytest.mark.parametrize("id", FULL["tokenized_questions"])
def test_tokens_are_those_of_the_official_tokenizer(id: str) -> None:
    record, tokens = REFERENCES[id], FULL["tokenized_questions"][id]
    pairs = [(record["question"], tokens["prompt"])]
    pairs += [(one.question, own) for one, own in zip(found(id), tokens["gens"], strict=True)]
    for readings, shown in zip(annotations(record), tokens["refs"], strict=True):
        if shown is not None:  # a single answer has no question of its own
            pairs += [(one.question, own) for one, own in zip(readings, shown, strict=True)]
    for question, (joined,) in pairs:
        assert " ".join(question_tokens(question)) == joined


@pytest.mark.parametrize(
    ("question", "tokens"),
    [
        # Questions of our own with what PTBTokenizer of stanford-corenlp-3.4.1.jar made of them, normalised.
        ("Who led the league in 2015–16?", "who led league in 2015 16"),
        ("Who led the league – or the cup – in 1998?", "who led league or cup in 1998"),
        ("When did it happen—before or after the war?", "when did it happen before or after war"),
        ("Who sang “Hello” on the boat’s deck?", "who sang hello on boat s deck"),
        ("Who won the ‘Golden Boat’ prize?", "who won golden boat prize"),
        ("What did the £5 ticket of 1998 cost in €?", "what did 5 ticket of 1998 cost in"),
        ("How much is 1\u200b kettle?", "how much is 1 kettle"),
        ("Which boat is worth $1.5 million?", "which boat is worth 15 million"),
        ("Who won the Men's 4x100 m (relay) in the U.S.?", "who won men s 4x100 m lrb relay rrb in us"),
        (
            "What's the AC/DC song that can't be played at 9:30 p.m.?",
            "what s acdc song that ca nt be played at 930 pm",
        ),
        ("Who cannot swim in the centre?", "who can not swim in centre"),
    ],
)
def test_tokens_of_other_questions_are_those_of_the_official_tokenizer(question: str, tokens: str) -> None:
    assert " ".join(question_tokens(question)) == tokens


def test_of_the_ways_to_ask_a_gold_reading_the_best_counts() -> None:
    ways = "Who won in Nagano?| Who won in 1998? |Who was the winner of all events held in 1998?"
    gold = [Reading.from_alternatives(ways, ("She",)), Reading("Who won in 2002?", ("He",))]
    assert gold[0].questions == tuple(way.strip() for way in ways.split("|"))
    own = Interpretation(question="Who won in 1998?", answer="She")
    first, *others = (edit_f1("Who won?", [own], [[Reading(way, ("She",)), gold[1]]]) for way in gold[0].questions)
    assert first == pytest.approx(2 * 0.5 / 3)  # "in" is one of two edits on both sides
    assert edit_f1("Who won?", [own], [gold]) == max(others) == pytest.approx(2 * 1 / 3)
    # A way that changes nothing agrees with a question that changes nothing, whatever the others say.
    plain = [Reading("Who won in 1998?", ("She",), other_questions=("Who won the?",)), gold[1]]
    assert edit_f1("Who won?", [own.model_copy(update={"question": "Who won?"})], [plain]) == pytest.approx(2 * 1 / 3)


def test_a_gold_reading_is_paired_once() -> None:
    gold = [Reading("Who won in 1998?", ("She",)), Reading("Who won in 2002?", ("He",))]
    twice = [Interpretation(question="Who won in 1998?", answer="She")] * 2
    assert edit_f1("Who won?", twice, [gold]) == pytest.approx(2 * 1 / 4)
