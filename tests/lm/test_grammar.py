"""Whatever a grammar lets a model write can be read, and whatever a demo shows may be written."""

import asyncio
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import dspy
import pytest
from dspy.lm15 import Request
from dspy.teleprompt.simba_utils import OfferFeedback
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_engine import ScriptedEngine, scripted_lm

import polyqa
from polyqa import signatures
from polyqa.base.values import Interpretation
from polyqa.lm.adapter import LeanAdapter
from polyqa.lm.fields import for_small_models
from polyqa.lm.grammar import reply_grammar
from polyqa.signatures import (
    AskOfPassage,
    ClarifyQuestion,
    DetectAnswers,
    ExtractInterpretations,
    FindDistinct,
    InferPseudoInterpretations,
    LocateAnswer,
    MatchInterpretations,
    SelectPassages,
    TellFindings,
    VerifyFinding,
    VerifyInterpretations,
    VerifyReadings,
)
from polyqa.signatures.lookup import find_by_fields

SIGNATURES = [getattr(signatures, name) for name in sorted(vars(signatures)) if name[0].isupper()]
FOR_SMALL_MODELS = [one for one in map(for_small_models, SIGNATURES) if one not in SIGNATURES]

LETTERS = st.sampled_from(
    "".join(map(chr, range(32, 127))) + "\n\r\t\v\x00\x85\xa0\u2028\u3000éßЖ日×“”‘’–—…¿½"
)  # all of ASCII, and what Python takes for spaces and ends of lines
INPUTS: Mapping[str, Any] = {"passages": ["A | B.", "C | D.", "E | F."], "question": "Who?", "count": 2}
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|(\[(?:[^\]\\]|\\.)*\]|\{\d+,\d+\}|[()|?])|(\w+)|(\s+)')


def as_regex(grammar: str) -> str:
    """Return a grammar without recursion as a regular expression of Python."""
    rules = dict(line.split(" ::= ", 1) for line in grammar.splitlines() if line)

    def of(name: str) -> str:
        out, at = "", 0
        while at < len(rules[name]):
            match = _TOKEN.match(rules[name], at)
            assert match, rules[name][at : at + 40]
            literal, same, rule, _ = match.groups()
            if literal is not None:
                out += re.escape(literal.encode().decode("unicode_escape"))
            out += same.replace("(", "(?:") if same == "(" else same or ""
            out += of(rule) if rule else ""
            at = match.end()
        return f"(?:{out})"

    return of("root")


def grammar_of(signature: type[dspy.Signature], **inputs: Any) -> str:
    grammar = reply_grammar(signature, {**INPUTS, **inputs})
    assert grammar is not None
    return grammar


@pytest.mark.hypothesis
@pytest.mark.parametrize("signature", SIGNATURES + FOR_SMALL_MODELS, ids=lambda signature: signature.__name__)
@settings(max_examples=20)
@given(data=st.data())
def test_whatever_may_be_written_can_be_read(signature: type[dspy.Signature], data: st.DataObject) -> None:
    counts = st.lists(st.just("A | B."), max_size=12)
    inputs = {name: data.draw(counts) for name in signature.input_fields if name not in ("question", "passage")}
    grammar = reply_grammar(signature, {"question": "1. Who?", "passage": "A | B.", **inputs})
    assert grammar is not None
    short = re.sub(r"\{(\d),(\d\d+)\}", r"{\1,6}", as_regex(grammar))
    reply = data.draw(st.from_regex(short, fullmatch=True, alphabet=LETTERS))
    values = LeanAdapter().parse(signature, reply)
    assert values.keys() == signature.output_fields.keys()
    assert "<" not in reply


def _object(passage: int, answer: str, question: str, times: int = 1) -> str:
    one = json.dumps({"passage": passage, "short_answer": answer, "question": question})
    return "[" + ",\n".join([one] * times) + "]"


@pytest.mark.parametrize(
    ("signature", "inputs", "reply", "fits"),
    [
        (ClarifyQuestion, {}, "## interpretations\n1. Who won? | Ann [3]\n\n## answer\nAnn won.", True),
        (ClarifyQuestion, {}, "## interpretations\nnone\n\n## answer\nNobody.\n\nReally.", True),
        (ClarifyQuestion, {}, "## interpretations\n1. Who won? | Ann [4]\n\n## answer\nAnn won.", False),
        (ClarifyQuestion, {}, "## interpretations\n1. Who won? | Ann [1]\n\n## answer\n## answer\nAnn.", False),
        (ClarifyQuestion, {}, f"## interpretations\n1. Who won? | {'long ' * 30} [1]\n\n## answer\nAnn won.", False),
        (TellFindings, {"findings": ["A"]}, "## interpretations\nnone\n\n## answer\nAnn won.", True),
        (TellFindings, {"findings": ["A"]}, "## interpretations\n1. Who won? | Ann [1]\n\n## answer\nAnn won.", False),
        (TellFindings, {"findings": ["A"]}, "## interpretations\nnone\n\n## answer\nA.\nB.", False),
        (TellFindings, {"findings": ["A", "B"]}, "## interpretations\n1. Who won? | Ann [1]\n\n## answer\nA.", False),
        (
            TellFindings,
            {"findings": ["A", "B"]},
            "## interpretations\n1. Who won? | Ann [1]\n2. Who lost? | Bo [2]\n\n## answer\nAnn won.\nBo lost.",
            True,
        ),
        (AskOfPassage, {"passage": "A | B."}, "1. Who won? | Ann\n2. Who lost? | Bo", True),
        (AskOfPassage, {"passage": "A | B."}, "1. The winner | Ann", False),
        (VerifyFinding, {}, "Yes", True),
        (VerifyFinding, {}, "Yes.", False),
        (SelectPassages, {}, "3, 1", True),
        (SelectPassages, {}, "4", False),
        (SelectPassages, {"passages": []}, "none", True),
        (SelectPassages, {"passages": []}, "1", False),
        # What is counted is what the call asks about, and a judge numbers its readings itself.
        (VerifyReadings, {"interpretations": ["a", "b", "c", "d"]}, "4", True),
        (VerifyReadings, {"interpretations": ["a"]}, "2", False),
        (MatchInterpretations, {"found": "1. Who?\n2. When?", "wanted": "1. Who?"}, "1", True),
        (MatchInterpretations, {"found": "1. Who?\n2. When?", "wanted": "1. Who?"}, "2", False),
        (SelectPassages, {"question": "1. FC Köln was founded when?"}, "3, 1", True),
        (FindDistinct, {"readings": "1. Who?\n2. When?"}, "2, 1", True),
        (LocateAnswer, {}, "## short_answer\nAnn\n\n## source\n3\n\n## settled\nNo", True),
        (LocateAnswer, {}, "## short_answer\nnull\n\n## source\nnull\n\n## settled\nNo", True),
        (LocateAnswer, {}, "## short_answer\nAnn\n\n## source\n4\n\n## settled\nNo", False),
        (LocateAnswer, {}, f"## short_answer\n{'a ' * 15}a\n\n## source\n3\n\n## settled\nNo", False),
        (ExtractInterpretations, {}, f"1. {'a ' * 29}a? | {'a ' * 14}a [1]", True),
        (ExtractInterpretations, {}, f"1. {'a ' * 30}a? | a [1]", False),
        (ExtractInterpretations, {}, f"1. Who won? | {'a ' * 15}a [1]", False),
        (ExtractInterpretations, {}, "1. Titanic (1997 film) | a [1]", False),  # a heading
        (ExtractInterpretations, {"question": "titanic release"}, "1. release of the film | a [1]", True),
        (ExtractInterpretations, {}, "1. Who? | a\n2. Who? | b", False),  # no passage
        (ExtractInterpretations, {}, "1. Who? | a [1]\n3. Who? | b [1]", False),
        (for_small_models(ExtractInterpretations), {}, "[]", True),
        (for_small_models(ExtractInterpretations), {}, _object(3, "Ann", "Who won?"), True),
        (for_small_models(ExtractInterpretations), {}, _object(4, "Ann", "Who won?"), False),
        (for_small_models(ExtractInterpretations), {}, _object(3, "Ann", "Ann won."), False),
        (for_small_models(ExtractInterpretations), {}, _object(3, "a " * 15 + "a", "Who won?"), False),
        (for_small_models(ExtractInterpretations), {}, _object(1, "Ann", "Who won?", 6), True),
        (for_small_models(ExtractInterpretations), {}, _object(1, "Ann", "Who won?", 7), False),
        (for_small_models(ExtractInterpretations), {"passages": []}, "[]", True),
        (for_small_models(ExtractInterpretations), {"passages": []}, _object(1, "Ann", "Who won?"), False),
        (VerifyInterpretations, {"candidates": ["Who?", "When?"]}, "1, 2", True),
        (for_small_models(VerifyInterpretations), {"candidates": ["Who?", "When?"]}, "1: No\n2: Yes", True),
        (for_small_models(VerifyInterpretations), {"candidates": ["Who?", "When?"]}, "1: No", False),
        (for_small_models(VerifyInterpretations), {"candidates": ["Who?", "When?"]}, "2", False),
        (for_small_models(VerifyInterpretations), {"candidates": []}, "none", True),
        (InferPseudoInterpretations, {}, "1. Who won?\n2. Who lost the Star Wars: A New Hope (1977) bet?", True),
        (InferPseudoInterpretations, {}, "1. Who?", False),
        (DetectAnswers, {}, "\n".join("abcdefghij"), True),
        (DetectAnswers, {}, "\n".join("abcdefghijk"), False),
    ],
)
def test_what_fits(signature: type[dspy.Signature], inputs: dict[str, Any], reply: str, fits: bool) -> None:
    assert bool(re.fullmatch(as_regex(grammar_of(signature, **inputs)), reply)) is fits


def test_a_demo_shows_what_may_be_written() -> None:
    readings = [Interpretation(question="Who won the race?", answer="Ann", pid="2")]
    outputs = {"interpretations": readings, "answer": "Ann won.\n\nBob came second."}
    shown = LeanAdapter().format_assistant_message_content(ClarifyQuestion, outputs)
    assert re.fullmatch(as_regex(grammar_of(ClarifyQuestion)), shown)


def test_what_compiled_demos_show_may_be_written() -> None:
    state = json.loads((Path(polyqa.__file__).parent / "compiled/rac-homonyms-local/program.json").read_text())
    for demo in (demo for predictor in state.values() for demo in predictor.get("demos", ())):
        signature = find_by_fields({one: one for one in SIGNATURES}, [*demo, "passages"], demo)
        assert signature is not None
        grammar = reply_grammar(signature, {"passages": ["A | B."] * 10, **demo})
        assert grammar is not None
        assert re.fullmatch(as_regex(grammar), LeanAdapter().format_assistant_message_content(signature, demo))


def test_types_of_a_user_s_own() -> None:
    kinds = {"number": int, "sure": bool, "mood": Literal['so "so"', "good"], "names": list[str]}
    outputs = {**kinds, "meanings": dict[str, str]}
    asked = dspy.Signature(
        {"question": (str, dspy.InputField()), **{name: (kind, dspy.OutputField()) for name, kind in outputs.items()}}
    )
    values = {"number": -12, "sure": True, "mood": 'so "so"', "names": ['Ann "B." C', "Ö"], "meanings": {"a": "b"}}
    shown = LeanAdapter().format_assistant_message_content(asked, values)
    assert re.fullmatch(as_regex(grammar_of(asked)), shown)
    assert LeanAdapter().parse(asked, shown) == values
    assert reply_grammar(dspy.Signature("question -> table: dict[str, int]"), INPUTS) is None


@pytest.mark.parametrize("names", [["clarify", "write"], '[\n  "clarify",\n  "write"\n]'])
def test_simbas_advice_has_a_text_for_each_module(names: object) -> None:
    grammar = reply_grammar(OfferFeedback, {"module_names": names})
    assert grammar is not None
    head = "## discussion\nIt went wrong.\n\n## module_advice\n"
    assert re.fullmatch(as_regex(grammar), head + '{"clarify": "Be brief.", "write": "Say \\"it\\"."}')
    for advice in ("{}", '{"clarify": "Be brief."}', '{"write": "x", "clarify": "x"}', '{"clarify": "", "write": "x"}'):
        assert not re.fullmatch(as_regex(grammar), head + advice)


def test_only_who_takes_a_grammar_and_sees_no_demo_gets_readings_as_json() -> None:
    asking = (signatures.AggregateAnswers, ClarifyQuestion, ExtractInterpretations, VerifyInterpretations)
    assert [list(one.fields) for one in FOR_SMALL_MODELS] == [list(one.fields) for one in asking]
    reply = _object(1, "Ann", "Who won?")
    lm = scripted_lm(ScriptedEngine(lambda _: reply))
    demo = {"passages": ["A | B."], "question": "Where?", "interpretations": "1. Where is A? | B [1]"}
    asked = {"passages": ["A | Ann won."], "question": "Who?"}
    own = {"metadata": {"grammar": "mine"}}  # which is for the lines
    for takes, demos, config, as_json in (
        (True, [], {}, True),
        (True, [demo], {}, False),
        (True, [], own, False),
        (False, [], {}, False),
    ):
        lm.takes_grammar = takes
        with dspy.context(lm=lm, adapter=LeanAdapter()):
            predict = dspy.Predict(ExtractInterpretations, **config)
            for told in (predict(**asked, demos=demos), asyncio.run(predict.acall(**asked, demos=demos))):
                assert told.interpretations == [Interpretation(question="Who won?", answer="Ann", pid="1")]
                assert ("a JSON list" in lm.history[-1]["messages"][0]["content"]) is as_json


def test_a_small_model_judges_each_interpretation_on_a_line_of_its_own() -> None:
    lm = scripted_lm(ScriptedEngine(lambda _: "1: No\n2: Yes\n3: yes."))
    asked = {"passages": ["A | Ann won."], "question": "Who?", "candidates": ["Who lost?", "Who won?", "Who won it?"]}
    for takes, told in ((True, "the number of each and Yes or No"), (False, "their numbers, such as 1, 3; or none")):
        lm.takes_grammar = takes
        with dspy.context(lm=lm, adapter=LeanAdapter()):
            assert dspy.Predict(VerifyInterpretations)(**asked).answered == [2, 3]
        assert f"which interpretations are answered: {told}" in lm.history[-1]["messages"][0]["content"]


def extensions(request: Request) -> Any:
    return request.config.extensions


@pytest.mark.parametrize(
    ("takes", "config", "sent"),
    [
        (True, {}, {"metadata": {"user": "me", "grammar": grammar_of(VerifyFinding)}}),
        (True, {"metadata": {"grammar": "mine"}}, {"metadata": {"grammar": "mine"}}),
        (True, {"logprobs": True}, {"metadata": {"user": "me"}}),
        (False, {}, {"metadata": {"user": "me"}}),
        (False, {"metadata": {"user": "me", "grammar": "mine"}}, {"metadata": {"user": "me"}}),
    ],
)
def test_only_who_takes_a_grammar_gets_one(takes: bool, config: dict[str, Any], sent: object) -> None:
    engine = ScriptedEngine(lambda _: "Yes", given=extensions)
    lm = scripted_lm(engine)
    lm.takes_grammar = takes
    lm.kwargs["metadata"] = {"user": "me"}
    with dspy.context(lm=lm, adapter=LeanAdapter()):
        predict, asked = dspy.Predict(VerifyFinding), {"question": "Who?", "finding": "A | B. | B"}
        assert predict(**asked, config=config).holds == "Yes"
        assert asyncio.run(predict.acall(**asked, config=config)).holds == "Yes"
    assert engine.seen == [sent, sent]
