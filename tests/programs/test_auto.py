"""The router: which way a question takes, and what comes of each."""

import dspy
import pytest
from scripted_engine import ScriptedEngine, scripted_lm
from usual_replies import FILM, MUSICAL, USUAL

from polyqa.base.values import Coverage, Interpretation, Passage
from polyqa.colbert_index import BiEncoderReranker, FusedRetriever
from polyqa.extractive.prompt import Prompt, parse_passages
from polyqa.programs import Auto, drive

QUESTION = "When did Titanic come out?"
Parts = tuple[FusedRetriever, BiEncoderReranker]


class Script:
    """A language model with one opinion of the question."""

    def __init__(self, *, kind: str = "AmbSub", settled: str = "No", **replies: object) -> None:
        self.replies = {**USUAL, "ambiguity_types": [kind], "settled": settled, **replies}

    def __call__(self, prompt: Prompt) -> dict[str, object]:
        return {
            name: reply(prompt) if callable(reply := self.replies[name]) else reply for name in prompt.output_fields
        }


def ask(parts: Parts, script: Script) -> tuple[dspy.Prediction, ScriptedEngine]:
    engine = ScriptedEngine(script)
    with dspy.context(lm=scripted_lm(engine)):
        return Auto(*parts, preset="paper")(question=QUESTION), engine


@pytest.mark.parametrize(("kind", "settled", "short"), [("AmbSub", "Yes", True), ("N/A", "No", False)])
def test_the_passages_decide_the_way_not_the_kind(parts: Parts, kind: str, settled: str, short: bool) -> None:
    result, engine = ask(parts, Script(kind=kind, settled=settled))
    assert len(engine.seen) == (3 if short else 7)
    assert result.ambiguous is not short
    assert result.answers == (["April 1953"] if short else ["April 1953", "23 April 1997"])


def test_the_short_way_tells_the_located_answer_from_its_passage(parts: Parts) -> None:
    result, engine = ask(parts, Script(kind="N/A", settled="Yes"))
    (reading,) = result.interpretations
    assert (reading.question, reading.answer, reading.pid) == (QUESTION, "April 1953", "titanic-film-1953")
    (written,) = engine.asked("answer")
    assert "April 1953" in written.inputs["interpretations"]
    assert len(parse_passages(written.inputs["passages"])) == len(result.passages) == 5
    assert result.coverage is Coverage.USEFUL


@pytest.mark.parametrize("nothing", ["null", "I'm sorry, but I cannot find the answer."])
def test_an_answer_that_is_not_there_takes_the_long_way(parts: Parts, nothing: str) -> None:
    result, _ = ask(parts, Script(kind="N/A", settled="Yes", short_answer=nothing))
    assert [one.answer for one in result.interpretations] == ["23 April 1997", "April 1953"]


def test_readings_that_agree_are_one(parts: Parts) -> None:
    same = [MUSICAL, {"question": "When did Titanic open on Broadway?", "answer": "April 1997"}]
    result, _ = ask(parts, Script(interpretations=same, short_answer="April 1997"))
    assert len(result.interpretations) == 1
    assert result.ambiguous is False


@pytest.mark.parametrize(
    ("told", "answers", "ambiguous"),
    [
        (["April 1953; 23 April 1997", "23 April 1997"], ["April 1953", "23 April 1997"], False),
        (["April 1953; 23 April 1997", "23 April 1997; 1912"], ["April 1953", "23 April 1997", "1912"], True),
    ],
)
def test_several_answers_of_a_reading_are_several(
    parts: Parts, told: list[str], answers: list[str], ambiguous: bool
) -> None:
    readings = [{**reading, "answer": answer} for reading, answer in zip((FILM, MUSICAL), told, strict=True)]
    result, _ = ask(parts, Script(interpretations=readings, short_answer=told[0]))
    assert result.answers == answers
    assert result.ambiguous is ambiguous


def test_the_located_answer_stands_in_for_memory(parts: Parts) -> None:
    result, engine = ask(parts, Script(answerable="No"))
    assert result.coverage is Coverage.USELESS
    assert result.answers == ["April 1953"]
    assert result.verdicts == [False, False]
    verified = [one for prompt in engine.asked("answerable") for one in parse_passages(prompt.inputs["passages"])]
    texts = [passage.text for passage in result.universe]
    assert all(passage.text in texts for passage in (*result.passages, *verified))
    assert [prompt.input_fields for prompt in engine.asked("answer")] == [("passages", "question", "interpretations")]


def test_only_readings_that_their_own_passage_answers_are_told(parts: Parts) -> None:
    shown = [passage.pid for passage in ask(parts, Script())[0].passages]
    film, musical = (shown.index(pid) + 1 for pid in ("titanic-film-1953", "titanic-musical"))
    script = Script(
        interpretations=[{**MUSICAL, "pid": str(musical)}, {**FILM, "pid": str(film)}],
        answerable=lambda prompt: "No" if "musical" in prompt.question else "Yes",
    )
    result, engine = ask(parts, script)
    assert [one.answer for one in result.interpretations] == ["April 1953"]
    assert result.verdicts == [True, False]
    assert result.coverage is Coverage.PARTIAL_USEFUL
    titles = {prompt.question: parse_passages(prompt.inputs["passages"]) for prompt in engine.asked("answerable")}
    assert [[one.title for one in titles[reading["question"]]] for reading in (FILM, MUSICAL)] == [
        ["Titanic (1953 film)"],
        ["Titanic (musical)"],
    ]


@pytest.mark.parametrize(
    ("cited", "shown"),
    [
        (["three", "one"], ["one", "three"]),
        (["two"], ["two"]),
        (["one", None], ["one", "two", "three"]),  # one that cites nothing is held against all
        (["one", "gone"], ["one", "two", "three"]),
    ],
)
def test_readings_are_verified_by_the_passages_that_they_cite(
    parts: Parts, cited: list[str | None], shown: list[str]
) -> None:
    passages = [Passage(pid=name, title=name, text=f"Text {name}.") for name in ("one", "two", "three")]
    readings = [Interpretation(question=f"Which {pid}?", answer="x", pid=pid) for pid in cited]
    engine = ScriptedEngine(lambda prompt: {"supported": [1]})
    auto = Auto(*parts, preset="lean")
    with dspy.context(lm=scripted_lm(engine)):
        verdicts = drive(auto.verify_readings(QUESTION, readings, passages))
    assert verdicts == [True, *[False] * (len(cited) - 1)]
    (prompt,) = engine.seen
    assert [one.title for one in parse_passages(prompt.inputs["passages"])] == shown
    for pid, reading in zip(cited, readings, strict=True):
        number = f"[{shown.index(pid) + 1}]" if pid in shown else ""
        assert f"{reading.question} | x {number}".strip() in prompt.inputs["interpretations"]


def test_what_is_near_to_the_question_is_never_pushed_out(parts: Parts) -> None:
    result, _ = ask(parts, Script(pseudo_interpretations=["Where is Perth?", "Who designed the hotel?"]))
    retriever, reranker = parts
    near = Auto(retriever, reranker).retrieve(QUESTION)
    assert [passage.pid for passage in result.passages[:5]] == [passage.pid for passage in near]
    assert len(result.passages) == 7


def test_without_any_answer_memory_is_asked(parts: Parts) -> None:
    result, engine = ask(parts, Script(answerable="No", short_answer="None"))
    assert result.answers == list(result.interpretations) == []
    assert [prompt.input_fields for prompt in engine.asked("answer")] == [("question",)]


def test_a_plain_question_gets_one_answer_from_the_embedded_engine(parts: Parts, embedded: None) -> None:
    result = Auto(*parts)(question="Who designed the Empress Hotel in Victoria, British Columbia?")
    assert result.ambiguous is False
    assert len(result.answers) == 1
