"""Whatever a language model writes, a reader takes it or refuses it: nothing else is ever raised."""

import gzip
import json
import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import dspy
import pytest
from data_files import golden
from dspy.clients.cache import Cache
from dspy.utils.exceptions import AdapterParseError
from lenient_kinds import KINDS
from scripted_engine import ScriptedEngine, last_message, scripted_lm
from usual_replies import USUAL

from polyqa import signatures
from polyqa.lm.adapter import LeanAdapter
from polyqa.lm.attempts import CallLog
from polyqa.lm.calls import complete_readings, drop_unfinished
from polyqa.lm.fields import FORMS
from polyqa.lm.long_answers import clean_reply
from polyqa.replies import clean_answer, tells_nothing, types, without_thoughts
from polyqa.replies.text import parse_lines

_ROOT = Path(__file__).parents[2]
_SIGNATURES = [
    kind
    for kind in vars(signatures).values()
    if isinstance(kind, type) and issubclass(kind, dspy.Signature) and kind is not dspy.Signature
]
_READERS: dict[str, Callable[[Any], Any]] = {
    **{name: kind.parse for name, kind in KINDS.items()},
    **{name: getattr(types, name) for name in ("_interpretations", "_questions", "_numbers")},
    "long answer": clean_answer,
    "thoughts": without_thoughts,
    "refusal": tells_nothing,
    "complete readings": complete_readings,
    "lines": parse_lines,
}
_DEEP = "".join(f'{{"{number}": ' for number in range(3_000))  # no loop, which would be shortened
_INSERTED = (
    *"|[](){}<>:;,.?!*_`\"'\\/#-–—=&%\n\t 0123456789²١Ⅷ½\x00\ud800\u202e\u200b😀",
    *("1. ", " | ", "[1]", "[999999999999]", "|\n", "##", "\n## answer\n", "[[ ## answer ## ]]", "```", "```json\n"),
    *("<think>", "</think>", "DQ 1: ", "DA 1: ", "null", "None", "N/A", "NaN", "-1", "1e999", "{}", "[]", "[[]]", '{"'),
    *("| --- | --- |\n", "Interpretation(question=", "Passage 1", "Yes", "no", "AmbTime", "\\u", "]}", '":'),
)


def mutants(texts: list[str], count: int, seed: int = 0) -> Iterator[str]:
    """Texts of which pieces are cut, moved, doubled or replaced, one to six times."""
    draw = random.Random(seed)
    for _ in range(count):
        text = draw.choice(texts)
        for _ in range(draw.randint(1, 6)):
            start, end = sorted(draw.randint(0, len(text)) for _ in range(2))
            piece = text[start : min(end, start + draw.choice((1, 1, 3, 20, 200)))]
            rest = text[:start] + text[start + len(piece) :]
            at = draw.randint(0, len(rest))
            text = draw.choice(
                (
                    rest,
                    text[:start] + draw.choice(_INSERTED) + text[start:],
                    text[:start] + draw.choice(_INSERTED) + text[start + len(piece) :],
                    text[:start] + piece * 2 + text[start:],
                    rest[:at] + piece + rest[at:],
                    text[:end],
                )
            )
        yield text


@cache
def recorded() -> list[str]:
    """Every reply of the local model that the project ships, to calls of all kinds."""
    files = [*_ROOT.glob("compiled/*/*.jsonl.gz"), *_ROOT.glob("lessons/*.jsonl.gz")]
    lines = [line for file in files for line in gzip.decompress(file.read_bytes()).splitlines()[1:]]
    return sorted({json.loads(line)["reply"] for line in lines})


def written(signature: type[dspy.Signature], adapter: dspy.Adapter) -> str:
    fields = {name: USUAL.get(name, "1. One | two [1]") for name in signature.output_fields}
    return adapter.format_assistant_message_content(signature, fields)


@pytest.mark.parametrize("name", _READERS)
def test_a_reader_raises_nothing_but_its_own_error(name: str) -> None:
    by_hand = [text for rows in golden("written_replies")["read"].values() for row in rows for text in row["replies"]]
    usual = by_hand + recorded()
    for text in ("", _DEEP, *mutants(usual, 1_000)):
        try:
            _READERS[name](text)
        except ValueError:
            pass
        except Exception as error:
            pytest.fail(f"{type(error).__name__} of {text!r}")


@pytest.mark.parametrize(
    "adapter", [LeanAdapter(), dspy.ChatAdapter(), dspy.JSONAdapter()], ids=lambda a: type(a).__name__
)
def test_an_adapter_raises_nothing_but_its_own_error(adapter: dspy.Adapter) -> None:
    replied = recorded()  # also to other calls: a small model replies in any form
    for signature in _SIGNATURES:
        for text in (*mutants([written(signature, adapter)], 60), *mutants(replied, 60)):
            try:
                reply = dspy.Prediction(**adapter.parse(signature, text))
                clean_reply(signature, {}, reply, text)
                drop_unfinished(signature, reply, text)
            except AdapterParseError:
                pass
            except Exception as error:
                pytest.fail(f"{type(error).__name__} of {signature.__name__} and {text!r}")


@pytest.mark.parametrize("error", [KeyError, RecursionError])
def test_a_mistake_of_a_reader_is_a_reply_that_could_not_be_read(
    error: type[Exception], own_cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistaken(value: Any) -> Any:
        raise error("a mistake")

    form = FORMS[types.Grades]
    monkeypatch.setattr("polyqa.lm.fields.parse_value", mistaken)
    monkeypatch.setitem(FORMS, types.Grades, type(form)(form.words, form.write, mistaken))  # type: ignore[index]
    asked = []

    def engine(message: str) -> str:
        asked.append(message)
        return "Correct"

    lm = scripted_lm(ScriptedEngine(engine, given=last_message))
    given = {"question": "When did Titanic come out?", "passage": "Titanic | A film of 1997."}
    for attempts in (2, 4):
        with dspy.context(lm=lm, adapter=LeanAdapter()):
            outcome = CallLog().call(dspy.Predict(signatures.GradePassage), given)
        assert len(asked) == attempts, "nothing is replayed"
        assert outcome.failed is not None
        assert outcome.failed.error == "the reply could not be read"
