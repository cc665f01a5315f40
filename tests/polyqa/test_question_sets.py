"""Questions are taken as names, as questions, and as a DSPy user's examples."""

from pathlib import Path

import dspy
import pytest

import polyqa
from polyqa.base.errors import PolyqaError
from polyqa.evaluation.loading import load_questions

OWN = [
    dspy.Example(question="When did Titanic come out?", answer="1997").with_inputs("question"),
    dspy.Example(question="Who founded Alexandria?", answers=["Alexander the Great", "Alexander"]),
    dspy.Example(question="What is Mercury?", answer="a planet", note="not looked at"),
]


def test_examples_become_questions_that_their_texts_name() -> None:
    asked = polyqa.Questions(OWN).asked
    assert [one.question for one in asked] == [one.question for one in OWN]
    assert asked[1].answers == [("Alexander the Great", "Alexander")]
    assert len({one.id for one in asked}) == 3
    assert [one.id for one in polyqa.Questions(OWN[::-1]).asked] == [one.id for one in asked[::-1]]
    golden = load_questions("homonyms/dev", limit=2)
    assert polyqa.Questions([golden[0], golden[1].to_example()]).asked == golden


def test_what_is_no_question_is_told_with_its_place() -> None:
    with pytest.raises(PolyqaError, match=r"question 2 is a dict; give dspy\.Examples or Questions"):
        polyqa.Questions([OWN[0], {"question": "When?"}]).asked  # noqa: B018


def test_records_and_data_frames_are_questions_too() -> None:
    import pandas as pd

    rows = [{"qid": 7, "question": "When?", "answer": "1997"}, {"qid": 8, "question": "Who?", "answer": "Ann"}]
    for source in (rows, pd.DataFrame(rows)):
        asked = polyqa.Questions(source).asked
        assert [(one.id, one.question, one.answers) for one in asked] == [
            ("7", "When?", [("1997",)]),
            ("8", "Who?", [("Ann",)]),
        ]


@pytest.mark.parametrize("ignored", [{"split": "test"}, {"format": "asqa"}])
def test_what_only_records_have_is_refused_for_examples(ignored: dict[str, str]) -> None:
    with pytest.raises(PolyqaError, match="no format and no split"):
        polyqa.Questions(OWN, **ignored).asked  # noqa: B018


def test_questions_of_any_kind_are_limited_and_may_be_a_test_set() -> None:
    import pandas as pd

    rows = pd.DataFrame([{"question": f"Who is {at}?", "answer": f"{at}"} for at in range(20)])
    examples = [dspy.Example(**row).with_inputs("question") for row in rows.to_dict("records")]
    for source in (rows, examples):
        few = polyqa.Questions(source, limit=3, seed=1).asked
        assert len(few) == 3
        assert len(polyqa.Sets(test=source).by_name()["test"].asked) == 20
    assert [one.question for one in polyqa.Questions(examples, limit=3).asked] == [
        one.question for one in polyqa.Questions(rows, limit=3).asked
    ]


@pytest.mark.parametrize(
    ("source", "described", "short"),
    [
        ("folder/mine.jsonl", "mine.jsonl", "mine"),
        ("homonyms/dev", "homonyms/dev", "homonyms/dev"),
        ("hub:someone/some_data@v1.1", "hub:someone/some_data@v1.1", "hub:someone/some_data@v1.1"),
    ],
)
def test_a_file_is_called_by_its_name_and_a_data_set_of_the_hub_by_all_of_it(
    source: str, described: str, short: str
) -> None:
    assert (polyqa.Questions(source).described, polyqa.Questions(source).short) == (described, short)


def test_examples_are_evaluated_and_compiled_with(tmp_path: Path) -> None:
    run = polyqa.evaluate("closed-book", OWN[:2], models=polyqa.Models(judge=None), folder=tmp_path / "run")
    assert len(run.records) == 2
    assert "f1_answer" in run.summarized()
    made = polyqa.compile(
        "closed-book",
        out=tmp_path / "made",
        recipe="labeled-few-shot",
        sets=polyqa.Sets(train=OWN, dev=[one.to_example() for one in load_questions("homonyms/dev", limit=2)]),
        measure="disambig_f1",
        models=polyqa.Models(judge=None),
    )
    assert made.card.train.n == 3
    with pytest.raises(PolyqaError, match="train and dev"):
        polyqa.compile(
            "closed-book", out=tmp_path / "other", recipe="labeled-few-shot", sets=polyqa.Sets(train=OWN, dev=OWN[:1])
        )


def test_a_generator_of_questions_is_read_once(tmp_path: Path) -> None:
    rows = [{"question": "When?", "answer": "1997"}, {"question": "Who?", "answer": "Ann"}]
    for source in ((row for row in rows), (example for example in OWN)):
        questions = polyqa.Questions(source)
        assert len(questions.asked) == len(polyqa.Questions(questions.source).asked) >= 2


def test_no_questions_and_no_threads_are_errors(tmp_path: Path) -> None:
    for given, told in [
        ({"questions": []}, "There are no questions"),
        ({"questions": OWN, "threads": 0}, "at least 1, not 0"),
    ]:
        with pytest.raises(PolyqaError, match=told):
            polyqa.evaluate("rac", folder=tmp_path / "run", models=polyqa.Models(judge=None), **given)


def test_a_name_that_is_empty_is_not_this_folder() -> None:
    with pytest.raises(PolyqaError, match="its name is empty"):
        polyqa.Questions("").asked  # noqa: B018


def test_a_misspelt_name_is_not_looked_for_on_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyqa.evaluation.loading.load.read_hub", lambda *given: pytest.fail("asked the hub"))
    for name in ("homonym/dev", "nonexist", "someone/set"):
        with pytest.raises(PolyqaError, match=r"no questions are called so.*as hub:NAME"):
            polyqa.Questions(name).asked  # noqa: B018
