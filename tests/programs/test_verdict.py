"""VERDICT and Diversify-then-Verify over the real index."""

import dspy
from scripted_engine import ScriptedEngine, scripted_lm
from usual_replies import USUAL

from polyqa.base.values import Coverage
from polyqa.colbert_index import BiEncoderReranker, FusedRetriever
from polyqa.extractive.prompt import Prompt, parse_passages
from polyqa.models import Encoder
from polyqa.programs import VERDICT, DiversifyThenVerify

QUESTION = "When did Titanic come out?"
Parts = tuple[FusedRetriever, BiEncoderReranker]


def interpret(prompt: Prompt) -> dict[str, object]:
    """Read the two films into passages about films and ships; abstain elsewhere."""
    if "relaxed_query" in prompt.output_fields:
        return {"relaxed_query": "Titanic release"}
    if "answer" in prompt.output_fields:
        return {"answer": "It depends."}
    title = parse_passages(prompt.inputs["passage"])[0].title
    if "film" in title:
        return {"interpretation": "When was the film Titanic released?", "short_answer": "1997"}
    if "musical" in title or "RMS" in title:
        return {
            "interpretation": "When did the stage musical Titanic open on Broadway?",
            "short_answer": "23 April 1997",
        }
    return {"interpretation": "null", "short_answer": "None."}


def ask(program: dspy.Module, engine: ScriptedEngine) -> dspy.Prediction:
    with dspy.context(lm=scripted_lm(engine)):
        return program(question=QUESTION)


def test_the_universe_is_retrieved_with_the_relaxed_query(parts: Parts, encoder: Encoder) -> None:
    def about_dune(prompt: Prompt) -> dict[str, object]:
        return {"relaxed_query": "Dune novel"} if "relaxed_query" in prompt.output_fields else interpret(prompt)

    engine = ScriptedEngine(about_dune)
    ask(VERDICT(*parts, encoder=encoder, universe=3), engine)
    assert all("Dune" in prompt.inputs["passage"] for prompt in engine.asked("interpretation"))
    assert {prompt.inputs["question"] for prompt in engine.asked("interpretation")} == {QUESTION}


def test_a_refusal_to_relax_is_no_query(parts: Parts, encoder: Encoder) -> None:
    def shown(relaxed: str) -> set[str]:
        engine = ScriptedEngine(
            lambda prompt: {"relaxed_query": relaxed} if "relaxed_query" in prompt.output_fields else interpret(prompt)
        )
        ask(VERDICT(*parts, encoder=encoder, universe=3), engine)
        return {prompt.inputs["passage"] for prompt in engine.asked("interpretation")}

    assert shown("I'm sorry, but I cannot rewrite the question.") == shown(QUESTION)


def test_equal_readings_are_one_and_name_all_passages_that_support_them(parts: Parts, encoder: Encoder) -> None:
    engine = ScriptedEngine(interpret)
    result = ask(VERDICT(*parts, encoder=encoder), engine)
    asked = [parse_passages(prompt.inputs["passage"]) for prompt in engine.asked("interpretation")]
    assert len({passage.text for (passage,) in asked}) == len(asked) == 20, "each passage is asked alone"
    assert result.relaxed_query == "Titanic release"
    assert sorted(one.answer for one in result.interpretations) == ["1997", "23 April 1997"]
    for reading, support in zip(result.interpretations, result.supports, strict=True):
        assert support[0] == reading.pid
        assert len(support) > 1
    assert [passage.pid for passage in result.passages] == [one.pid for one in result.interpretations]
    assert result.abstained == 20 - sum(map(len, result.supports)) - len(result.outliers)


def test_readings_of_one_passage_alone_are_outliers(parts: Parts, encoder: Encoder) -> None:
    def stray(prompt: Prompt) -> dict[str, object]:
        if "interpretation" in prompt.output_fields and "Belfast" in prompt.inputs["passage"]:
            return {"interpretation": "What is the population of Peru?", "short_answer": "many"}
        return interpret(prompt)

    dropped = ask(VERDICT(*parts, encoder=encoder), ScriptedEngine(stray))
    assert "many" in [one.answer for one in dropped.outliers]
    assert "many" not in [one.answer for one in dropped.interpretations]


def test_when_all_passages_abstain_the_answer_is_written_from_nothing(parts: Parts, encoder: Encoder) -> None:
    def abstain(prompt: Prompt) -> dict[str, object]:
        nothing = {"interpretation": "null", "short_answer": "null"}
        return nothing if "interpretation" in prompt.output_fields else interpret(prompt)

    result = ask(VERDICT(*parts, encoder=encoder), ScriptedEngine(abstain))
    assert list(result.interpretations) == list(result.passages) == list(result.supports) == []
    assert result.abstained == len(result.universe) == 20


VERIFIED = {
    **USUAL,
    "pseudo_interpretations": ["When did the musical Titanic open?", "When did the film Titanic come out?"],
    "interpretations": [{"question": "When did the musical open?", "answer": "23 April 1997", "pid": "1"}],
}


def verify(prompt: Prompt) -> dict[str, object]:
    """Find only the pair of the musical and its passage answerable."""
    if "answerable" in prompt.output_fields:
        (passage,) = parse_passages(prompt.inputs["passages"])
        return {"answerable": "Yes" if "musical" in passage.title and "musical" in prompt.inputs["question"] else "No"}
    return {name: VERIFIED[name] for name in prompt.output_fields}


def test_every_pair_is_verified_and_passages_that_nothing_needs_are_dropped(parts: Parts, encoder: Encoder) -> None:
    engine = ScriptedEngine(verify)
    result = ask(DiversifyThenVerify(*parts, encoder=encoder, preset="paper"), engine)
    assert len(engine.asked("answerable")) == 2 * 5
    assert result.verdicts == [True, False]
    assert result.coverage is Coverage.PARTIAL_USEFUL
    assert [passage.pid for passage in result.passages] == ["titanic-musical"]
    assert len(result.universe) == 5
    (extracted,) = engine.asked("interpretations")
    assert len(parse_passages(extracted.inputs["passages"])) == 1
    assert [one.pid for one in result.interpretations] == ["titanic-musical"]
    one = DiversifyThenVerify(*parts, encoder=encoder, preset="paper", max_interpretations=1)
    assert ask(one, engine).pseudo_interpretations == result.pseudo_interpretations[:1]


def test_when_no_pair_holds_the_language_model_answers_alone(parts: Parts, encoder: Encoder) -> None:
    def refuse(prompt: Prompt) -> dict[str, object]:
        return {"answerable": "No"} if "answerable" in prompt.output_fields else verify(prompt)

    engine = ScriptedEngine(refuse)
    result = ask(DiversifyThenVerify(*parts, encoder=encoder, preset="paper"), engine)
    assert result.coverage is Coverage.USELESS
    assert engine.asked("interpretations") == []
    assert len(result.passages) == 5
