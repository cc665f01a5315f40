import asyncio
import copy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dspy
import pytest
from scripted_engine import ScriptedEngine, scripted_lm

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Interpretation
from polyqa.lm.recorder import recording
from polyqa.models import Encoder
from polyqa.programs import KNNPredict, set_knn_demos
from polyqa.programs.knn import without_passages
from polyqa.signatures import AnswerClosedBook, ClarifyQuestion, ExtractInterpretations

ASKED = "Who won the 1998 football world cup?"
POOL = [
    {"question": "When did the film Titanic come out?", "answer": "In 1953 and in 1997."},
    {"question": "Who won the football world cup in 1998?", "answer": "France, or in futsal nobody."},
    {"question": "What is the capital of Georgia?", "answer": "Atlanta or Tbilisi."},
    {"question": "Who won the football world cup in 2002?", "answer": "Brazil."},
    {"question": "How tall is the tower in Paris?", "answer": "330 metres."},
]
Messages = list[tuple[str, str]]


class Answering(dspy.Module):
    """Two predictors, as a program has them."""

    def __init__(self, encoder: Encoder | None) -> None:
        super().__init__()
        self.recall = KNNPredict(AnswerClosedBook, encoder=encoder)
        self.extract = KNNPredict(ExtractInterpretations, encoder=encoder)

    def forward(self, question: str) -> dspy.Prediction:
        self.extract(question=question, passages=["Football | France won in 1998.", "Futsal | Not in 1998."])
        return self.recall(question=question)


READINGS = [
    Interpretation(question="Who won the 1998 world cup of men?", answer="France", pid="1"),
    Interpretation(question="Who won the 1998 world cup of women?", answer="nobody"),
]
POOLS: dict[str, list[dict[str, Any]]] = {
    "recall": POOL,
    "extract": [
        {"question": demo["question"], "passages": ["One | 1", "Two | 2"], "interpretations": READINGS} for demo in POOL
    ],
}


def answering() -> dspy.LM:
    """Return a language model that always says the same."""
    replies = {"answer": "An answer.", "interpretations": "[]"}
    return scripted_lm(ScriptedEngine(lambda prompt: {name: replies[name] for name in prompt.output_fields}))


@contextmanager
def sent() -> Iterator[list[Messages]]:
    """Collect the messages that the block sends, as its language model gets them."""
    messages: list[Messages] = []
    with recording(answering()) as recorder:
        yield messages
    messages += [[(one["role"], one["content"]) for one in call.messages] for call in recorder.calls]


def prompts(program: Any, *asked: str) -> list[Messages]:
    """Return the messages that a program sends."""
    with sent() as messages:
        for question in asked or (ASKED, POOL[0]["question"]):
            program(question=question)
    return messages


def demo_questions(messages: Messages) -> list[str]:
    return [text for role, text in messages if role == "user"][:-1]  # the question is the only input


@pytest.fixture
def predictor(encoder: Encoder) -> KNNPredict:
    predictor = KNNPredict(AnswerClosedBook, k=2, encoder=encoder)
    predictor.demos = list(POOL)
    return predictor


# --- the adapter ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("adapter", "followed", "style"),
    [
        (None, False, "lean"),
        (None, True, "chat"),
        (dspy.JSONAdapter(), False, "json"),
        (dspy.ChatAdapter(), True, "chat"),
    ],
)
def test_prompts_are_lean_unless_another_format_is_configured_or_needed(
    adapter: dspy.Adapter | None, followed: bool, style: str
) -> None:
    engine = ScriptedEngine(lambda prompt: {"answer": f"In 1997, says {prompt.style}."})
    predict = KNNPredict(AnswerClosedBook)
    listeners = [dspy.streaming.StreamListener(signature_field_name="answer", predict=predict)] if followed else None

    async def last(streaming: Any) -> Any:
        return [one async for one in streaming(question=ASKED)][-1]

    with dspy.context(lm=scripted_lm(engine), adapter=adapter):
        streamed = asyncio.run(last(dspy.streamify(predict, stream_listeners=listeners)))
        assert dspy.settings.adapter is adapter
        if not followed:
            assert predict(question=ASKED).answer == asyncio.run(predict.acall(question=ASKED)).answer
    assert streamed.answer == f"In 1997, says {style}."
    assert {prompt.style for prompt in engine.seen} == {style}


# --- choosing ------------------------------------------------------------------------------------


TWINS = [{"question": POOL[1]["question"], "answer": f"answer {number}"} for number in range(3)]


@pytest.mark.parametrize(
    ("k", "pool", "nearest"),
    [
        (2, POOL, [POOL[3], POOL[1]]),  # the nearest comes last
        (None, POOL, POOL),  # all, in the order of the pool
        (3, [POOL[0], *TWINS, POOL[2]], TWINS),  # ties keep that order, too
        (1, [POOL[0], *TWINS], TWINS[:1]),
        (2, [{"answer": "no question"}, {"question": "", "answer": "empty"}, POOL[0]], [POOL[0]]),
        (2, [], []),
    ],
)
def test_the_nearest_demos_are_shown(
    k: int | None, pool: list[dict[str, str]], nearest: list[dict[str, str]], predictor: KNNPredict
) -> None:
    predictor.set_k(k)
    for demos in (pool, [dspy.Example(**demo).with_inputs("question") for demo in pool]):
        predictor.demos = list(demos)
        assert [dict(demo.items()) for demo in predictor.nearest(ASKED)] == nearest
        assert predictor.demos == demos


# --- calling -------------------------------------------------------------------------------------


def test_a_call_shows_the_nearest_demos_unless_it_has_its_own(predictor: KNNPredict) -> None:
    first, second = prompts(predictor)
    assert demo_questions(first) == [POOL[3]["question"], POOL[1]["question"]]
    assert demo_questions(second)[-1] == POOL[0]["question"]
    with sent() as messages:
        asyncio.run(predictor.acall(question=ASKED))
        predictor(question=ASKED, demos=[POOL[4]])
    assert messages[0] == first
    assert demo_questions(messages[1]) == [POOL[4]["question"]]


def test_a_k_that_cannot_be_is_refused_and_changes_nothing(predictor: KNNPredict) -> None:
    for k in (0, -3):
        with pytest.raises(ValueError, match=f"k must be at least 1 or None, got {k}"):
            predictor.set_k(k)
    assert predictor.k == 2
    with pytest.raises(ValueError, match="need an encoder"):
        KNNPredict(AnswerClosedBook, k=2)
    assert KNNPredict(AnswerClosedBook).nearest(ASKED) == []


# --- saving --------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [None, 2])
def test_a_saved_program_gives_identical_prompts(encoder: Encoder, tmp_path: Path, k: int | None) -> None:
    program, loaded = Answering(encoder), Answering(encoder)
    set_knn_demos(program, POOLS, k)
    before = prompts(program)
    assert len(demo_questions(before[1])) == (k or len(POOL))
    program.save(tmp_path / "program.json")
    set_knn_demos(loaded, POOLS, 3)  # what was set before does not count
    loaded.load(tmp_path / "program.json")
    assert (loaded.recall.k, loaded.extract.k) == (k, k)
    assert prompts(loaded) == before


def test_a_state_of_a_plain_predictor_can_be_loaded(encoder: Encoder) -> None:
    plain = dspy.Predict(AnswerClosedBook)
    plain.demos = list(POOL)
    loaded = KNNPredict(AnswerClosedBook, k=2, encoder=encoder)
    loaded.load_state(plain.dump_state())
    assert (loaded.k, loaded.demos) == (None, POOL)


def test_the_state_of_another_encoder_is_refused_and_changes_nothing(encoder: Encoder) -> None:
    saved = KNNPredict(AnswerClosedBook, k=2, encoder=encoder)
    saved.demos = list(POOL)
    for other, name in ((Encoder("some/other-encoder"), "some/other-encoder"), (None, "none")):
        loaded = KNNPredict(AnswerClosedBook, encoder=other)
        loaded.demos = [POOL[0]]
        with pytest.raises(PolyqaError, match=rf"encoder all-MiniLM-L6-v2, this one has {name}"):
            loaded.load_state(saved.dump_state())
        assert (loaded.k, loaded.demos) == (None, [POOL[0]])
    saved.set_k(None)  # then no encoder is needed
    loaded.load_state(saved.dump_state())
    assert loaded.demos == POOL


# --- copying and compiling -----------------------------------------------------------------------


def test_a_deep_copy_is_independent_but_shares_the_encoder(encoder: Encoder) -> None:
    program = Answering(encoder)
    set_knn_demos(program, POOLS, 2)
    before = prompts(program)
    twin, empty = copy.deepcopy(program), program.reset_copy()
    assert twin.recall.encoder is encoder
    assert (empty.recall.k, empty.recall.demos) == (2, [])
    assert prompts(twin) == before
    twin.recall.demos = []
    twin.extract.set_k(None)
    assert prompts(program) == before


# --- set_knn_demos -------------------------------------------------------------------------------


def test_what_a_predictor_can_show_is_kept(encoder: Encoder) -> None:
    program = Answering(encoder)
    gold = {**POOL[0], "gold": "secret", "interpretations": [], "id": 7}
    incomplete = [{"question": "Who?"}, {"answer": "She"}, {"question": "Who?", "answer": None}, {"other": 1}]
    program.extract.demos = [POOLS["extract"][0]]
    set_knn_demos(program, {"recall": [gold, *incomplete, dspy.Example(**gold).with_inputs("question")]}, 2)
    assert (program.recall.k, program.recall.demos) == (2, [POOL[0], POOL[0]])
    assert "secret" in gold.values()
    assert (program.extract.k, program.extract.demos) == (None, [POOLS["extract"][0]]), "it was not named"
    set_knn_demos(program, {"extract": [{"question": "Who?", "interpretations": []}]}, None)
    assert program.extract.demos == [{"question": "Who?", "interpretations": []}], "an empty list is an output"
    with pytest.raises(PolyqaError, match=r"Answering has no predictor 'write'; it has recall, extract\."):
        set_knn_demos(program, {"recall": POOL, "write": POOL}, 3)
    assert program.recall.k == 2


class Plain(dspy.Module):
    """DSPy's own predictor beside ours."""

    def __init__(self, encoder: Encoder | None) -> None:
        super().__init__()
        self.recall = dspy.Predict(AnswerClosedBook)
        self.extract = KNNPredict(ExtractInterpretations, encoder=encoder)

    def forward(self, question: str) -> dspy.Prediction:
        return self.recall(question=question)


def test_plain_predictors_take_fixed_demos(encoder: Encoder) -> None:
    program = Plain(encoder)
    gold = {**POOL[0], "gold": "secret"}
    set_knn_demos(program, {"recall": [gold, {"question": "Who?"}], "extract": POOLS["extract"]}, None)
    assert program.recall.demos == [POOL[0]]
    assert not hasattr(program.recall, "k")
    assert demo_questions(prompts(program, ASKED)[0]) == [f"[[ ## question ## ]]\n{POOL[0]['question']}"]
    set_knn_demos(program, {"extract": POOLS["extract"]}, 2)
    assert (program.extract.k, program.recall.demos) == (2, [POOL[0]])


def test_who_cannot_pick_demos_is_refused_before_anything_is_changed(encoder: Encoder) -> None:
    program = Plain(encoder)
    pools = {"extract": POOLS["extract"], "recall": POOL}
    with pytest.raises(PolyqaError, match=r"Plain\.recall is a Predict, so it cannot pick the nearest demos"):
        set_knn_demos(program, pools, 2)
    assert (program.extract.k, program.extract.demos, program.recall.demos) == (None, [], [])
    bare = Answering(None)
    with pytest.raises(PolyqaError, match=r"Answering\.recall has no encoder"):
        set_knn_demos(bare, {"recall": POOL}, 2)
    assert bare.recall.demos == []


def test_a_brief_predictor_shows_the_shortest_passages_alone(encoder: Encoder) -> None:
    def demo(question: str, *passages: str) -> dict[str, Any]:
        reading = {"question": question, "answer": "1998", "pid": "1"}
        return {"passages": list(passages), "question": question, "interpretations": [reading], "answer": "1998."}

    predictor = KNNPredict(ClarifyQuestion, encoder=encoder, k=2, brief=True)
    cup, book = demo("Who won the cup?", "A | In 1998."), demo("Who wrote the book?", "A | In 98.", "B | In 99.")
    bridge = demo("When was the bridge opened?", "A | In 1998.")
    station = demo("When was the station opened?", "A | 9.")

    def shown(*demos: dict[str, Any]) -> list[Any]:
        predictor.demos = list(demos)
        return predictor._shown("When was the tower opened?")

    far, near = shown(cup, bridge, book)
    assert near == bridge, "the nearest of equals, or the shorter"
    assert "passages" not in far
    assert [one.keys() for one in far["interpretations"]] == [{"question", "answer"}]
    assert cup["passages"], "the pool stays as it is"
    assert [one for one in shown(bridge, station) if "passages" in one] == [station]
    bare = {name: value for name, value in station.items() if name != "passages"}
    assert [one for one in shown(bridge, bare) if "passages" in one] == [bridge], "one without passages shows none"
    predictor.set_k(None)
    assert ["passages" in one for one in shown(cup, book)] == [True, False]
    assert ["passages" in one for one in shown(cup, book, bridge)] == [False, False, True]
    assert not any("passages" in one for one in shown(bare, bare))
    assert shown() == []
    located = {"passages": ["A | B."], "question": "Who?", "short_answer": "B", "source": "1", "settled": "Yes"}
    assert without_passages(located) == {"question": "Who?", "short_answer": "B", "settled": "Yes"}
