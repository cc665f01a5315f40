"""What a user of DSPy expects: its settings hold, what its optimizers save loads, its streams tell the steps."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.streaming import StatusMessage
from openai_server import Server, serve

import polyqa
from polyqa.base.errors import PolyqaError
from polyqa.evaluation.loading import load_questions
from polyqa.extractive import ExtractiveEngine
from polyqa.metrics.gold import Question
from polyqa.programs import set_knn_demos

QUESTION = "When did Titanic come out?"


@pytest.fixture(scope="module")
def few() -> list[Question]:
    return load_questions("homonyms/train", limit=6)


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(ExtractiveEngine()) as running:
        yield running


def mine(server: Server) -> dspy.LM:
    return dspy.LM("openai/mine", api_base=server.base, api_key="none", cache=False)


def test_the_configured_language_model_answers(server: Server, tmp_path: Path) -> None:
    with dspy.context(lm=mine(server)):
        assert polyqa.ask(QUESTION, program="rac").lm == "openai/mine"
        assert asyncio.run(polyqa.aask(QUESTION, program="rac")).lm == "openai/mine"
        asked = len(server.requests)
        assert asked >= 2
        run = polyqa.evaluate(
            "rac", load_questions("homonyms/dev", limit=1), models=polyqa.Models(judge=None), folder=tmp_path / "run"
        )
        assert run.settings.lm == "openai/mine"
        assert len(server.requests) > asked
        assert polyqa.Models().answering().model == "openai/mine"
        # What is named counts more.
        assert polyqa.ask(QUESTION, program="rac", lm="polyqa/extractive").lm == "polyqa/extractive"
    assert polyqa.ask(QUESTION, program="rac").lm == "polyqa/extractive"


def test_the_configured_adapter_writes_the_prompts(server: Server) -> None:
    with dspy.context(lm=mine(server), adapter=dspy.ChatAdapter()):
        polyqa.ask(QUESTION, program="rac")
    assert all("[[ ## question ## ]]" in str(request["messages"]) for request in server.requests)
    server.requests.clear()
    with dspy.context(lm=mine(server)):
        polyqa.ask(QUESTION, program="rac")
    assert not any("[[ ## question ## ]]" in str(request["messages"]) for request in server.requests)


def labelled(question: Question) -> dspy.Example:
    """An example as a user of DSPy writes it: all fields that he has."""
    example = question.to_example()
    readings = [{"question": one.question, "answer": one.short_answers[0]} for one in question.readings]
    return dspy.Example(**example, interpretations=readings, answer=question.long_answers[0], mine=7).with_inputs(
        "question"
    )


def test_what_dspy_s_labeled_few_shot_saves_is_loaded_with_a_warning(few: list[Question], tmp_path: Path) -> None:
    trainset = [labelled(question) for question in few]
    compiled = dspy.LabeledFewShot(k=3).compile(polyqa.load("rac"), trainset=trainset)
    for name, predictor in compiled.named_predictors():
        assert len(predictor.demos) == 3, name
    path = tmp_path / "mine.json"
    saved = {name: own.dump_state() for name, own in compiled.named_predictors()}
    path.write_text(json.dumps(saved, default=str))
    with pytest.warns(UserWarning, match="hold 'gold', 'mine', which its signature lacks; they are left out"):
        loaded = polyqa.load("rac", demos=path)
    (predictor,) = loaded.predictors()
    assert len(predictor.demos) == 3
    fields = set(predictor.signature.fields)
    assert all(set(demo) <= fields and demo.get("question") for demo in predictor.demos)
    assert polyqa.ask(QUESTION, program=loaded).answer


def test_what_dspy_s_bootstrap_saves_is_loaded(few: list[Question], tmp_path: Path) -> None:
    def told(gold: dspy.Example, prediction: dspy.Prediction, trace: Any = None) -> bool:
        return bool(prediction.answer)

    optimizer = dspy.BootstrapFewShot(metric=told, max_bootstrapped_demos=2, max_labeled_demos=2)
    with dspy.context(lm=polyqa.embedded_lm()):
        compiled = optimizer.compile(polyqa.load("rac"), trainset=[question.to_example() for question in few])
        compiled.save(tmp_path / "mine.json")
        before = compiled(question=QUESTION)
    loaded = polyqa.load("rac", demos=tmp_path / "mine.json")
    assert [len(one.demos) for one in loaded.predictors()] == [len(one.demos) for one in compiled.predictors()]
    assert polyqa.ask(QUESTION, program=loaded).answer == before.answer


@pytest.mark.parametrize("kind", [lambda one: one, lambda one: one.to_example(), lambda one: "Who?"])
def test_demos_that_cannot_be_shown_are_refused(few: list[Question], kind: Any) -> None:
    program = polyqa.load("rac")
    (name,) = (name for name, _ in program.named_predictors())
    with pytest.raises(PolyqaError, match="can show none of its 6 demos"):
        set_knn_demos(program, {name: [kind(question) for question in few]}, k=3)
    assert program.predictors()[0].demos == []
    set_knn_demos(program, {name: [labelled(question) for question in few]}, k=3)
    assert len(program.predictors()[0].demos) == 6


@pytest.mark.parametrize("name", ["rac", "toc"])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_stream_tells_the_steps(name: str, asynchronous: bool, capsys: pytest.CaptureFixture[str]) -> None:
    class Told(dspy.streaming.StatusMessageProvider):
        def module_start_status_message(self, instance: Any, inputs: dict[str, Any]) -> str:
            return f"begins {type(instance).__name__}"

    program = polyqa.load(name)

    async def streamed() -> list[Any]:
        with dspy.context(lm=polyqa.embedded_lm()):
            stream = dspy.streamify(program, status_message_provider=Told(), is_async_program=asynchronous)
            return [one async for one in stream(question=QUESTION)]

    every = asyncio.run(streamed())
    told = [one.message for one in every if isinstance(one, StatusMessage)]
    assert told[0] == f"begins {type(program).__name__}"
    assert {"begins Retrieve", "begins Rerank", "begins KNNPredict"} <= set(told)
    assert isinstance(every[-1], dspy.Prediction)
    assert every[-1].answer
    assert "Error when calling callback" not in capsys.readouterr().err


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_stream_tells_the_answer_of_the_embedded_engine_word_by_word(asynchronous: bool) -> None:
    program = polyqa.load("rac")
    listener = dspy.streaming.StreamListener("answer", predict=program.clarify, predict_name="clarify")

    async def streamed() -> list[Any]:
        with dspy.context(lm=polyqa.embedded_lm()):
            stream = dspy.streamify(program, stream_listeners=[listener], is_async_program=asynchronous)
            return [one async for one in stream(question=QUESTION)]

    *words, prediction = asyncio.run(streamed())
    assert len(words) > 10
    assert "".join(one.chunk for one in words).split() == prediction.answer.split()
