import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dspy
import numpy as np
import pytest
from harness import Told
from openai_server import serve
from scripted_engine import ScriptedEngine, last_message
from two_steps import OneStep as Own

import polyqa
from polyqa import asking
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Interpretation, Passage


def says_yes(question: str) -> dspy.Prediction:
    """Answer as a program whose language model says yes, from a passage."""
    passage = Passage(pid="ship", title="RMS Titanic", text="The Titanic sank in April 1912.")
    reading = Interpretation(question=question, answer="Yes", pid="ship")
    return dspy.Prediction(answer="Yes, she did.", interpretations=[reading], passages=[passage])


def test_a_yes_of_a_language_model_is_an_answer_and_the_embedded_engine_quotes() -> None:
    asked = "Did the Titanic sink in 1912?"
    result = polyqa.ask(asked, program=Told(says_yes), lm=dspy.LM("openai/other"))
    assert (result.standing, result.answer) == ("answered", "Yes, she did.")
    quoted = polyqa.ask(asked, program="rac")
    assert (quoted.standing, quoted.interpretations) == ("unanswered", ())
    assert quoted.answer.startswith("polyqa/extractive quotes passages and cannot say yes or no.")
    assert "15 April 1912" in quoted.answer


@pytest.mark.parametrize("question", ["Did the Berenike sink in 1912?", "Do you know when Titanic came out?"])
def test_what_nothing_mentions_and_a_polite_question_are_answered_as_others_are(question: str) -> None:
    assert "cannot say yes or no" not in polyqa.ask(question, program="rac").answer


def test_what_the_embedded_engine_passes_over_is_told_with_the_answer() -> None:
    program = polyqa.load("rac")
    assert polyqa.ask("When did Titanic come out?", program=program).unheeded == {}
    own = program.clarify.signature
    added = "Give only one reading. Write like a poet. Say No when in doubt."
    program.clarify.signature = own.with_instructions(f"{own.instructions}\n{added}")
    told = polyqa.ask("When did Titanic come out?", program=program)
    assert len(told.interpretations) == 1
    assert told.unheeded == {"clarify": ("Write like a poet.", "Say No when in doubt.")}


def test_what_is_loaded_does_not_block_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded_in = []
    ready = asking.ready_program

    def noted(*given: Any) -> Any:
        loaded_in.append(threading.current_thread())
        return ready(*given)

    monkeypatch.setattr(asking, "ready_program", noted)
    assert asyncio.run(polyqa.aask("When did Titanic come out?", program="rac")).answer
    assert threading.main_thread() not in loaded_in
    assert len(loaded_in) == 1


def own_lm() -> dspy.BaseLM:
    return dspy.utils.DummyLM([{"answer": "In 1997."}] * 4)


def test_a_program_and_a_language_model_of_one_s_own_are_asked_in_every_way(tmp_path: Path) -> None:
    asked = "When did Titanic come out?"
    for result in (
        polyqa.ask(asked, program=Own(), lm=own_lm()),
        asyncio.run(polyqa.aask(asked, program=Own(), lm=own_lm())),
    ):
        assert (result.answer, result.interpretations, result.passages) == ("In 1997.", (), ())
    answered = polyqa.answer_many([asked], tmp_path / "answers.jsonl", program=Own(), models=polyqa.Models(lm=own_lm()))
    assert [line["answer"] for line in answered] == ["In 1997."]
    run = polyqa.evaluate(Own(), "homonyms/dev", models=polyqa.Models(lm=own_lm(), judge=None), folder=tmp_path / "run")
    assert run.records


@pytest.mark.parametrize("more", [{}, {"interpretations": None}])
@pytest.mark.parametrize(
    ("answer", "standing"), [("In 1997.", "answered"), ("I do not know.", "unanswered"), ("", "unanswered")]
)
def test_the_answer_of_a_program_that_gives_no_readings_is_told_as_it_is(
    answer: str, standing: str, more: dict[str, Any]
) -> None:
    passages = ["The film Titanic was shown in 1997.", "It is a ship."]  # texts, as DSPy's retrievers give them
    program = Told(lambda question: dspy.Prediction(answer=answer, passages=passages, **more))
    result = polyqa.ask("When did Titanic come out?", program=program, lm=own_lm())
    assert (result.answer, result.standing, result.interpretations) == (answer, standing, ())
    assert [(one.pid, one.text) for one in result.passages][1] == ("2", "It is a ship.")


class Awaited(dspy.Module):
    """A program of a user's own that can only be awaited."""

    async def aforward(self, question: str) -> dspy.Prediction:
        return dspy.Prediction(answer="In 1997.")


def test_a_program_that_can_only_be_awaited_is_asked_and_measured(tmp_path: Path) -> None:
    assert polyqa.ask("When did Titanic come out?", program=Awaited()).answer == "In 1997."
    run = polyqa.evaluate(Awaited(), polyqa.Questions("homonyms/dev", limit=2), folder=tmp_path / "run")
    assert [record.answer for record in run.records] == ["In 1997."] * 2
    assert polyqa.cost(Awaited(), question="When?").calls.mean == 0


class Around(dspy.Module):
    """A program of a user's own that has one of polyqa's as a part."""

    def __init__(self) -> None:
        super().__init__()
        self.part = polyqa.load("rac")

    def forward(self, question: str) -> Any:
        return self.part(question=question)


def over_an_index_alone() -> dspy.Module:
    rac = polyqa.load("rac")
    return type(rac)(polyqa.open_index(), rac.reranker)


@pytest.mark.parametrize("made", [Around, over_an_index_alone])
def test_the_index_of_a_program_of_one_s_own_is_found(made: Callable[[], dspy.Module]) -> None:
    program = made()
    result = polyqa.ask("who directed titanik?", program=program)
    assert result.respelled == {"titanik": "titanic"}
    assert "“homonyms”" in polyqa.ask("What is the capital of Mongolia?", program=program).answer


class Forwarding(dspy.BaseLM):
    """A language model as users of DSPy wrote them before it had engines: it cannot be awaited."""

    def forward(self, prompt: Any = None, messages: Any = None, **settings: Any) -> Any:
        said = SimpleNamespace(message=SimpleNamespace(content='{"answer": "In 1997."}'), finish_reason="stop")
        return SimpleNamespace(choices=[said], usage={}, model=self.model)


@pytest.mark.parametrize(
    "lm",
    [
        lambda: Forwarding("mine"),
        lambda: dspy.LM("mine", engine=ScriptedEngine(lambda prompt: {"answer": "In 1997."}), cache=False),
    ],
    ids=["a class", "an engine"],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_language_model_of_one_s_own_that_cannot_be_awaited_answers_as_well(lm: Any, tmp_path: Path) -> None:
    given: dict[str, Any] = {"program": polyqa.load("closed-book")}
    assert asyncio.run(polyqa.aask("When?", lm=lm(), **given)).answer == polyqa.ask("When?", lm=lm(), **given).answer
    answered = polyqa.answer_many(["When?"], tmp_path / "a.jsonl", models=polyqa.Models(lm=lm()), **given)
    assert [line["answer"] for line in answered] == ["In 1997."]


def test_what_a_program_of_ones_own_tells_is_data_whatever_it_is(tmp_path: Path) -> None:
    gives = dspy.Prediction(answer="In 1997.", scores=np.ones(2), example=dspy.Example(a=1), none={1})
    told = polyqa.ask("When?", program=Told(lambda question: gives), lm=own_lm()).to_dict()
    assert (told["scores"], told["none"]) == ("[1. 1.]", [1])
    json.dumps(told)
    assert polyqa.answer_many(["When?"], tmp_path / "a.jsonl", program=Told(lambda question: gives)).failed == {}


@pytest.mark.parametrize("given", [0, False])
def test_an_answer_of_another_type_than_text_may_be_0_or_no(given: Any) -> None:
    result = polyqa.ask("How many?", program=Told(lambda question: dspy.Prediction(answer=given)), lm=own_lm())
    assert (result.answer, result.standing) == (str(given), "answered")


def test_what_a_program_of_ones_own_means_by_our_names_stays() -> None:
    own: dict[str, Any] = {"sources": ["a newspaper"], "faults": ["a leak"], "coverage": 0.5}
    car = Passage(pid="car", text="It leaks oil.")
    gives = dspy.Prediction(answer="Oil.", interpretations=[], passages=[car], **own)
    result = polyqa.ask("What is wrong with it?", program=Told(lambda question: gives), lm=own_lm())
    assert (result.standing, result.sources, result.faults, result.extra) == ("unanswered", (), (), own)
    assert result.coverage is None
    json.dumps(result.to_dict())


def test_a_universe_of_a_program_of_ones_own_need_be_no_passages() -> None:
    program = Told(lambda question: dspy.Prediction(answer="Thanos.", interpretations=[], universe="Marvel"))
    program.retriever = polyqa.open_index()
    result = polyqa.ask("Who snapped his fingers?", program=program, lm=own_lm())
    assert (result.standing, list(result.passages), result.extra) == ("unanswered", [], {"universe": "Marvel"})


def test_a_program_of_ones_own_without_aforward_is_asked_as_often_at_once_as_is_said(tmp_path: Path) -> None:
    together = threading.Barrier(20)

    def wait(question: str) -> dspy.Prediction:
        together.wait(60)
        return dspy.Prediction(answer="In 1997.")

    asked = [f"When did film {number} come out?" for number in range(20)]
    answered = polyqa.answer_many(asked, tmp_path / "a.jsonl", program=Told(wait), batch=polyqa.Batch(at_once=20))
    assert (len(answered), answered.failed) == (20, {})


def test_a_question_in_a_thread_that_is_cancelled_makes_no_more_calls() -> None:
    begun, ended = threading.Event(), threading.Event()

    def tell(question: str) -> dspy.Prediction:
        begun.set()
        try:
            return dspy.Predict("question -> answer")(question=question)
        finally:
            ended.set()

    async def cancel(lm: dspy.LM) -> None:
        asked = asyncio.create_task(polyqa.aask("When?", program=Told(tell), lm=lm))
        assert await asyncio.to_thread(begun.wait, 20)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked

    with serve(ScriptedEngine(lambda text: "In 1997.", given=last_message), latency=60.0) as server:
        asyncio.run(cancel(polyqa.language_model("openai/m", api_base=server.base, cache=False)))
        assert ended.wait(20)


def test_what_nobody_sees_is_no_part_of_a_question() -> None:
    """A byte order mark, and what a copied text has within words; a joiner shapes letters."""
    copied = "\ufeffwho found\u200bed \u202eRo\u00adme\u202c \u2060 ? می\u200cروم"
    assert asking.check_question(copied) == "who founded Rome ? می\u200cروم"
    with pytest.raises(PolyqaError, match="empty"):
        asking.check_question("\u200b \ufeff")


def test_what_gives_no_answer_is_said() -> None:
    class Bare(Own):
        def forward(self, question: str) -> Any:
            return self.gives

    program = Bare()
    readings = [{"question": "When?", "answer": "1997"}]
    program.gives = dspy.Prediction(answer="In 1997.", interpretations=readings)
    assert polyqa.ask("When?", program=program).interpretations[0].answer == "1997"
    for gives, told in [
        (dspy.Prediction(answer="x", interpretations=["1997"]), "gives as readings or passages is none: .0,.: Input"),
        ("text", "has to give a dspy.Prediction with an answer; it gave str"),
        (dspy.Prediction(said="x"), "with an answer; it gave said"),
        (dspy.Prediction(), "with an answer; it gave Prediction"),
    ]:
        program.gives = gives
        with pytest.raises(PolyqaError, match=f"Bare.*{told}"):
            polyqa.ask("When?", program=program)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"index": "homonyms"}, "made already: index cannot be given"),
        ({"min_confidence": "x"}, "min_confidence is a probability, from 0 to 1, not 'x'"),
        ({"lm": ""}, "names no provider"),
        ({"program": Own}, "A program is a name, a path, or a dspy.Module that was made, not <class"),
        ({"program": len}, "not <built-in function len>"),
        ({"program": "rac", "index": 5}, "An index is a name, a path, or a ColBERTIndex, not 5"),
        ({"lm": 5}, "A language model is a name or one of DSPy, not 5"),
        ({"program": "diva", "helper_lm": 5}, "A language model is a name or one of DSPy, not 5"),
    ],
)
def test_what_does_not_fit_is_said(given: dict[str, Any], told: str) -> None:
    with pytest.raises(PolyqaError, match=told):
        polyqa.ask("When?", **{"program": Own(), "lm": own_lm(), **given})


@pytest.mark.parametrize("question", [None, 5, ["When?"]])
def test_a_question_is_a_text(question: Any) -> None:
    with pytest.raises(PolyqaError, match="A question is a text, not"):
        polyqa.ask(question, program="rac")
