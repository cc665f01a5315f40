"""Whatever a grammar lets a model write can be read, and whatever a demo shows may be written."""

import re
from collections.abc import Mapping
from typing import Any, Literal

import dspy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyqa.base.values import Interpretation
from polyqa.lm.adapter import LeanAdapter
from polyqa.lm.calls import CALLS
from polyqa.lm.grammar import reply_grammar
from polyqa.signatures import ClarifyQuestion, SelectPassages, TellFindings, VerifyFinding

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
@pytest.mark.parametrize("signature", CALLS, ids=lambda signature: signature.__name__)
@settings(max_examples=40, deadline=None)
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


@pytest.mark.parametrize(
    ("signature", "inputs", "reply", "fits"),
    [
        (ClarifyQuestion, {}, "## interpretations\n1. Who won? | Ann [3]\n\n## answer\nAnn won.", True),
        (ClarifyQuestion, {}, "## interpretations\nnone\n\n## answer\nNobody.\n\nReally.", True),
        (ClarifyQuestion, {}, "## interpretations\n1. Who won? | Ann [4]\n\n## answer\nAnn won.", False),
        (ClarifyQuestion, {}, "## interpretations\n1. Who won? | Ann [1]\n\n## answer\n## answer\nAnn.", False),
        (ClarifyQuestion, {}, f"## interpretations\n1. Who won? | {'long ' * 30} [1]\n\n## answer\nAnn won.", False),
        (TellFindings, {"findings": ["A"]}, "## interpretations\n1. Who won? | Ann [1]\n\n## answer\nAnn won.", True),
        (TellFindings, {"findings": ["A", "B"]}, "## interpretations\n1. Who won? | Ann [1]\n\n## answer\nA.", False),
        (VerifyFinding, {}, "Yes", True),
        (VerifyFinding, {}, "Yes.", False),
        (SelectPassages, {}, "3, 1", True),
        (SelectPassages, {}, "4", False),
        (SelectPassages, {"passages": []}, "none", True),
        (SelectPassages, {"passages": []}, "1", False),
    ],
)
def test_what_fits(signature: type[dspy.Signature], inputs: dict[str, Any], reply: str, fits: bool) -> None:
    assert bool(re.fullmatch(as_regex(grammar_of(signature, **inputs)), reply)) is fits


def test_a_demo_shows_what_may_be_written() -> None:
    readings = [Interpretation(question="Who won the race?", answer="Ann", pid="2")]
    outputs = {"interpretations": readings, "answer": "Ann won.\n\nBob came second."}
    shown = LeanAdapter().format_assistant_message_content(ClarifyQuestion, outputs)
    assert re.fullmatch(as_regex(grammar_of(ClarifyQuestion)), shown)


class Kinds(dspy.Signature):
    """Say it."""

    question: str = dspy.InputField()
    number: int = dspy.OutputField()
    sure: bool = dspy.OutputField()
    mood: Literal['so "so"', "good"] = dspy.OutputField()


class Unknown(dspy.Signature):
    """Say it."""

    question: str = dspy.InputField()
    table: dict[str, int] = dspy.OutputField()


def test_types_of_a_user_s_own() -> None:
    assert re.fullmatch(as_regex(grammar_of(Kinds)), '## number\n12\n\n## sure\nTrue\n\n## mood\nso "so"')
    assert reply_grammar(Unknown, INPUTS) is None


class Asked(dspy.LM):
    """Keeps the settings of its calls."""

    def __init__(self, takes_grammar: bool) -> None:
        super().__init__("tests/asked", cache=False)
        self.takes_grammar = takes_grammar
        self.seen: list[dict[str, Any]] = []

    def __call__(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        self.seen.append(kwargs)
        return ["Yes"]


@pytest.mark.parametrize(
    ("takes", "config", "sent"),
    [(True, {}, True), (False, {}, False), (True, {"logprobs": True}, False)],
)
def test_only_who_takes_a_grammar_gets_one(takes: bool, config: dict[str, Any], sent: bool) -> None:
    lm = Asked(takes)
    with dspy.context(lm=lm, adapter=LeanAdapter()):
        dspy.Predict(VerifyFinding)(question="Who?", finding="A | B. | B", config=config)
    assert ("metadata" in lm.seen[0]) is sent
    if sent:
        assert lm.seen[0]["metadata"] == {"grammar": grammar_of(VerifyFinding)}
