import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from harness import FAILURE, fields, questions, record, scripted
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Interpretation, Passage
from polyqa.base.work import AT_ONCE
from polyqa.evaluation.outputs import read_outputs, score_outputs
from polyqa.evaluation.records import Record
from polyqa.evaluation.runs import line_of, summarize
from polyqa.evaluation.scoring import Output, Scorer
from polyqa.metrics.embedded_judge import EmbeddedJudge
from polyqa.metrics.llm_judge import LLMJudge
from polyqa.models import Encoder, Reader

BLUE = (Interpretation(question="Which?", answer="blue"),)
T = Passage(pid="1", text="t")
UNNAMED = (Interpretation(question="", answer="blue"), Interpretation(question="", answer="green"))


@pytest.fixture(scope="module")
def scorer(reader: Reader, encoder: Encoder) -> Scorer:
    return Scorer(reader, EmbeddedJudge(reader, encoder))


def read(folder: Path, content: str | bytes | Any) -> dict[str, Output]:
    path = folder / "outputs.json"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_outputs(path)


@pytest.mark.parametrize(
    ("content", "outputs"),
    [
        ('{"id": "a", "answer": "x"}\n\n{"id": 2, "answer": "y"}\n', {"a": Output("x"), "2": Output("y")}),
        ('[{"sample_id": "a", "long_answer": "x"}, {"id": 0, "answer": ""}]', {"a": Output("x"), "0": Output("")}),
        ('[{"example_id": "a", "prediction": "x"}]', {"a": Output("x")}),
        ('[{"question_id": "a", "generated_answer": "x"}]', {"a": Output("x")}),
        ('[{"id": "a", "output": "x", "answer": null}]', {"a": Output("x")}),
        ('[{"id": "a", "answer": ["blue", "green"]}]', {"a": Output(None, UNNAMED)}),
        (
            '[{"id": "a", "output": [{"answer": "blue", "provenance": []}, {"answer": "green"}]}]',
            {"a": Output(None, UNNAMED)},
        ),
        ('[{"ID": "a", "Answer": "x"}]', {"a": Output("x")}),
        ('{"a": "x", "b": ""}', {"a": Output("x"), "b": Output("")}),
        ('{"a": 1997, "b": 5.0, "c": 1.5}', {"a": Output("1997"), "b": Output("5"), "c": Output("1.5")}),
        ('{"a": true, "b": [7]}', {"a": Output("yes"), "b": Output(None, (Interpretation(question="", answer="7"),))}),
        ('{"a": ["blue", "green"], "b": []}', {"a": Output(None, UNNAMED), "b": Output(None)}),
        ('{"a": [{"question": "Which?", "answer": "blue"}]}', {"a": Output(None, BLUE)}),
        ('{"a": [["Which?", "blue"]]}', {"a": Output(None, BLUE)}),
        ('{"a": {"answer": "x", "interpretations": []}}', {"a": Output("x")}),
        ('[{"id": "a", "interpretations": []}]', {"a": Output(None)}),
        ('[{"id": "a", "interpretations": [["Which?", "blue"]]}]', {"a": Output(None, BLUE)}),
        (
            '[{"id": "a", "answer": "x", "passages": ["t", {"id": 7, "title": "T", "text": "u"}, {"text": "v"}]}]',
            {"a": Output("x", passages=(T, Passage(pid="7", title="T", text="u"), Passage(pid="3", text="v")))},
        ),
        (
            '[{"id": "a", "answer": "x", "passages": ["t"], "universe": ["t", "u"]}]',
            {"a": Output("x", passages=(T,), universe=(T, Passage(pid="2", text="u")))},
        ),
        ("\ufeff" + '{"a": "grün\u2028"}', {"a": Output("grün\u2028")}),
        ('{"a": "grün"}'.encode("utf-16"), {"a": Output("grün")}),
        ('{"a": "grün"}'.encode("utf-32"), {"a": Output("grün")}),
        ('[{"id": "a", "answer": "grün"}]\n'.encode("utf-16-le"), {"a": Output("grün")}),
        # ids as pandas and MongoDB write them
        ('[{"id": 1.0, "answer": "x"}]', {"1": Output("x")}),
        ('[{"_id": {"$oid": "5f"}, "answer": "x"}]', {"5f": Output("x")}),
        ('[{"_id": {"$numberLong": "5"}, "answer": "x"}]', {"5": Output("x")}),
        # what a system answered, beside the gold answer
        ('{"args": {}, "data": [{"sample_id": -7, "answer": "gold", "output": "x", "docs": []}]}', {"-7": Output("x")}),
        ('[{"id": "a", "long_answer": "gold", "prediction": "x"}]', {"a": Output("x")}),
        ('[{"id": "a", "generated_answer": "x", "answer": "gold"}]', {"a": Output("x")}),
        ('[{"id": "a", "output": null, "answer": "gold"}, {"id": "b", "output": "x"}]', {"b": Output("x")}),
    ],
)
def test_every_documented_format_is_read(content: str | bytes, outputs: dict[str, Output], tmp_path: Path) -> None:
    assert read(tmp_path, content) == outputs


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "the file is empty"),
        ("[]", "holds no output"),
        ("{}", "holds no output"),
        ('{"a": null}', "holds no output"),
        ("5", "expected a list or an object of records, got int: 5"),
        ('["x"]', 'record 1: expected an object, got str: "x"'),
        ('{"id": "a", "answer": "x"}', "got one record"),
        ('{"a": [{"question": "Which?"}]}', "output 'a': not an interpretation"),
        ('[{"answer": "x"}]', r"record 1: no id \(one of id, _id, sample_id"),
        ('[{"id": "a"}]', r"record 1: no answer \(one of prediction, output.*and no interpretations"),
        ('[{"id": "a", "answer": {"text": "x"}}]', "not a list of interpretations: {'text': 'x'}"),
        ('[{"id": "a", "answer": null}]', "holds no output"),
        ('{"id": "a", "answer": "x"}\n{"id": "b"', r"line 2, column \d+: not JSON .*: {\"id\": \"b\""),
        ('[{"id": "a", "answer": "x"}, {"id": "a", "answer": "y"}]', "record 2: a second output for question 'a'"),
        ('{"id": 1, "answer": "x"}\n{"id": "1", "answer": "x"}', "line 2: a second output for question '1'"),
        ('[{"id": "a", "answer": "x", "passages": "text"}]', "passages must be a list"),
        ('[{"id": "a", "answer": "x", "passages": {"text": "t"}}]', "passages must be a list"),
        ('[{"id": "a", "answer": "x", "universe": "text"}]', "universe must be a list"),
        ('[{"id": "a", "answer": "x", "passages": [{"title": "t"}]}]', "passage 1 has no text"),
        ('[{"id": "a", "answer": "x", "passages": ["t", 5]}]', "passage 2 has no text"),
        ('[{"id": "a", "answer": "x", "interpretations": "several of them"}]', "no interpretation found"),
        (b'{"a": "\xff"}', "line 1: this is not UTF-8 text"),
        ("[" * 100_000, "nested too deeply"),
        ('{"id": "a", "answer": "x"}\n' + "[" * 100_000, "line 2: this cannot be taken as JSON"),
    ],
)
def test_what_cannot_be_read_is_shown(content: str | bytes, told: str, tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match=told) as caught:
        read(tmp_path, content)
    assert len(str(caught.value)) < 700


def test_a_table_is_read(tmp_path: Path) -> None:
    path = tmp_path / "outputs.csv"
    path.write_text('qid,answer\n7,"blue, or green"\n8,\n', encoding="utf-8")
    assert read_outputs(path) == {"7": Output("blue, or green"), "8": Output("")}


def test_cells_of_a_table_hold_lists_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "outputs.tsv"
    rows = [
        ["id", "answer", "passages", "interpretations"],
        ["1", '["blue", "green"]', '["t"]', ""],
        ["2", "x", "", "[{'question': 'Which?', 'answer': 'blue'}]"],  # as pandas writes them
    ]
    path.write_text("\n".join("\t".join(row) for row in rows), encoding="utf-8")
    assert read_outputs(path) == {"1": Output(None, UNNAMED, passages=(T,)), "2": Output("x", BLUE)}


@pytest.mark.parametrize(("name", "told"), [("missing.json", "cannot be read"), (".", "this is a folder")])
def test_a_file_that_is_none_is_named(name: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match=told):
        read_outputs(tmp_path / name)


KEYS = st.sampled_from(
    ["id", "sample_id", "answer", "output", "interpretations", "passages", "question", "text", "pid", "title", "error"]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | KEYS
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=2), inner, max_size=4)
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=JSON)
@example(value={"a": {"error": {}, "gold_readings": 1, "scores": {}}})
@example(value=[{"id": {"x": []}, "answer": "\ud800", "passages": [{"text": "t", "pid": None}]}])
def test_any_json_is_read_or_refused(value: Any, tmp_path: Path) -> None:
    try:
        outputs = read(tmp_path, json.dumps(value))
    except PolyqaError:
        return
    assert outputs
    for own, output in outputs.items():
        assert isinstance(own, str)
        assert output.answer is None or isinstance(output.answer, str)
        assert all(isinstance(one, Interpretation) for one in output.interpretations)
        assert all(isinstance(one, Passage) for one in output.passages)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=60) | st.text('[]{}":,0e"\\nullidanswer \n', max_size=40).map(str.encode))
def test_any_bytes_are_read_or_refused(content: bytes, tmp_path: Path) -> None:
    with contextlib.suppress(PolyqaError):
        assert read(tmp_path, content)


def test_unknown_ids_are_refused(scorer: Scorer) -> None:
    with pytest.raises(PolyqaError, match=r"1 of 2 outputs .* such as 'x1'; the questions have ids such as 'q0'"):
        score_outputs({"q1": Output(""), "x1": Output("")}, questions(2), scorer)


def test_answers_to_other_questions_of_the_same_ids_are_refused(scorer: Scorer, tmp_path: Path) -> None:
    """As where lines were numbered, and the questions come in another order."""
    asked = questions(2)
    lines = [{"id": f"q{at}", "question": asked[1 - at].question, "answer": "blue"} for at in range(2)]
    told = r"'q0' answers 'What colour is q1\?', but that question is 'What colour is q0"
    with pytest.raises(PolyqaError, match=told):
        score_outputs(read(tmp_path, lines), asked, scorer)
    lines = [{"id": one.id, "question": f" {one.question.lower()}", "answer": "blue"} for one in asked]
    assert len(score_outputs(read(tmp_path, lines), asked, scorer)) == 2


def test_a_missing_answer_counts_as_a_failed_one(scorer: Scorer) -> None:
    text = "In sense 0 the colour of q0 and of q2 is blue, in sense 1 their colour is green."
    given = Output("It may be blue or green.", BLUE, (Passage(pid="p", text=text),))
    records = score_outputs({"q0": given, "q2": given}, questions(3), scorer)
    assert [(one.id, one.error and one.error.kind) for one in records] == [
        ("q0", None),
        ("q1", "Missing"),
        ("q2", None),
    ]
    assert records[1].answer == ""
    metrics = summarize(records)
    for name in ("disambig_f1", "rouge_l", "dr", "str_em", "mrecall@5", "g_f1", "g_recall", "sufficient", "edit_f1"):
        assert metrics[name].n == 3, name
    assert metrics["str_em"].value == pytest.approx(200 / 3)
    assert metrics["failed"].value == pytest.approx(100 / 3)


def test_a_question_without_a_long_answer_among_long_answers_has_an_empty_one(scorer: Scorer) -> None:
    records = score_outputs({"q0": Output("blue, green"), "q1": Output(None, BLUE)}, questions(2), scorer)
    assert (records[1].answer, records[1].error) == ("", None)
    assert summarize(records)["str_em"].value == 50.0


def test_a_system_of_short_answers_has_no_long_form_scores_even_if_some_are_missing(scorer: Scorer) -> None:
    records = score_outputs({"q0": Output(None, UNNAMED)}, questions(2), scorer)
    assert [one.answer for one in records] == [None, None]
    metrics = summarize(records)
    assert not {"disambig_f1", "str_em", "rouge_l", "dr", "length"} & metrics.keys()
    assert (metrics["f1_answer"].value, metrics["f1_answer"].n) == (50.0, 2)


def rich(at: int) -> Output:
    passages = tuple(Passage(pid=f"[{n}]", title="T", text=f"q{at} is blue {n}.", score=n / 3) for n in range(2))
    readings = (Interpretation(question=" spaced ", answer="blue", pid="[1]"), Interpretation(question="", answer=""))
    return Output(f"q{at} may be blue, or teal.", readings, passages)


@pytest.mark.parametrize("kind", ["rich", "short", "long"])
def test_our_own_predictions_get_the_same_scores_again(kind: str, scorer: Scorer, tmp_path: Path) -> None:
    make = {"rich": rich, "short": lambda at: Output(None, UNNAMED), "long": lambda at: Output("blue\n\ngreen")}[kind]
    asked = questions(5)
    first = score_outputs({f"q{at}": make(at) for at in range(4)}, asked, scorer)
    path = tmp_path / "predictions.jsonl"
    path.write_text("".join(map(line_of, first)), encoding="utf-8")
    second = score_outputs(read_outputs(path), asked, scorer)
    assert [one.scores for one in second] == [pytest.approx(one.scores) for one in first]
    assert [one.interpretations for one in second] == [one.interpretations for one in first]
    assert [one.answer for one in second] == [one.answer for one in first]
    assert [one.error is None for one in second] == [True] * 4 + [False]
    assert repr(summarize(second)) == repr(summarize(first))  # equal, and NaN where NaN is


@pytest.mark.parametrize(
    ("given", "absent"),
    [
        (Output("It is blue."), {"f1_answer", "answer_f1", "edit_f1", "readings"}),
        (Output(None, UNNAMED), {"edit_f1"}),
        (Output("It is blue.", BLUE), set()),
    ],
)
def test_what_no_output_has_is_not_scored(given: Output, absent: set[str], scorer: Scorer) -> None:
    values = summarize(score_outputs({"q0": given}, questions(2), scorer))
    assert {"f1_answer", "answer_f1", "edit_f1", "readings"} - values.keys() == absent
    assert not {"calls", "input_tokens", "seconds"} & values.keys(), "what it took is not known"


def test_a_line_of_answers_that_failed_is_no_answer(tmp_path: Path) -> None:
    failed = {"id": "a", "question": "Who?", "error": {"kind": "ValueError", "message": "no"}}
    given = {"id": "b", "answer": "x", "error": {"kind": "none"}}
    lines = "\n".join(map(json.dumps, (failed, given)))
    assert read(tmp_path, lines) == {"b": Output("x")}


def test_a_failed_record_of_ours_stays_failed(tmp_path: Path) -> None:
    records: list[Record] = [record("a", answer="x"), record("b", error=FAILURE)]
    assert read(tmp_path, "".join(map(line_of, records))).keys() == {"a"}
    foreign = '[{"id": "a", "answer": "x", "error": "slow"}]'
    assert read(tmp_path, foreign) == {"a": Output("x")}


def judged(at: int) -> Output:
    return Output(f"q{at} may be blue, or green.", passages=(Passage(pid="p", text=f"q{at} is blue."),))


def test_a_judge_that_fails_on_one_question_leaves_the_others_their_scores(reader: Reader) -> None:
    with scripted(lambda prompt: "???" if "q1" in prompt else fields(supported="Yes")) as (lm, _):
        scorer = Scorer(reader, LLMJudge(lm, threads=1))
        records = score_outputs({f"q{at}": judged(at) for at in range(3)}, questions(4), scorer)
    assert [one.error and one.error.kind for one in records] == [None, "JudgeError", None, "Missing"]
    bad = records[1]
    assert bad.error is not None
    assert bad.error.message.startswith("The judge openai/scripted failed on question 'q1': ")
    assert bad.error.reply == "???"
    assert (bad.answer, bad.passages) == ("", ()), "it counts as an empty answer"
    assert [one.scores["str_em"] for one in records] == [1.0, 0.0, 1.0, 0.0]
    assert [one.scores.get("g_recall_whole") for one in records] == [2.0, None, 2.0, None]
    assert summarize(records)["failed"].value == 50.0


@pytest.mark.parametrize("good", [False, True])
def test_a_judge_that_fails_from_the_first_on_is_not_asked_about_all(good: bool, reader: Reader) -> None:
    asked = questions(AT_ONCE + 4)
    given = {one.id: judged(at) for at, one in enumerate(asked)} | {"q0": Output("Nobody was shown a passage.")}
    reply = fields(supported="Yes")
    with scripted(lambda prompt: reply if good and "q2 " in prompt else "???") as (lm, server):
        scorer = Scorer(reader, LLMJudge(lm, threads=1))
        if good:
            assert sum(one.error is not None for one in score_outputs(given, asked, scorer)) == AT_ONCE + 2
            return
        with pytest.raises(PolyqaError, match=r"failed on the first 8 .* on question 'q8': .*--judge none"):
            score_outputs(given, asked, scorer)
        assert not any("q9" in str(request["messages"][-1]) for request in server.requests)
