"""What every program of the registry must do, one row each."""

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request, Response
from openai_server import serve

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Coverage
from polyqa.colbert_index import BiEncoderReranker
from polyqa.extractive import ExtractiveEngine, embedded_lm
from polyqa.extractive.direct_answers import NOT_KNOWN
from polyqa.lm.recorder import recording
from polyqa.optimizers.labels import label_demos
from polyqa.programs import PROGRAMS, set_knn_demos
from polyqa.programs.registry import REGISTRY, limits_of

NAMES = list(PROGRAMS)
RETRIEVING = [name for name in NAMES if "index" in REGISTRY[name].needs]
NONSENSE = "Which quokka won the quantum ukulele sprint on Enceladus?"
Make = Callable[..., Any]


def questions(name: str) -> tuple[str, ...]:
    """Return an ambiguous question of the program's corpus, and one that nothing answers."""
    bridges = "questions" in REGISTRY[name].needs
    return "When was Tower Bridge opened?" if bridges else "When did Titanic come out?", NONSENSE


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("k", "adapter"), [(None, dspy.ChatAdapter()), (2, dspy.JSONAdapter())], ids=["no demos", "demos"]
)
def test_the_prompts_format_changes_nothing_but_their_length(
    name: str, k: int | None, adapter: dspy.Adapter, make: Make, training: Make, engine: ExtractiveEngine
) -> None:
    program, lm, asked = make(name), embedded_lm(engine), questions(name)
    if k is not None:
        set_knn_demos(program, label_demos(program, training(name)), k=k)
        asked = asked[:1]  # demos change how a prompt is written, not whether a question has answers
    for question in asked:
        told, tokens, first = [], [], []
        for one in (None, adapter):
            with dspy.context(adapter=one), recording(lm) as recorder:
                told.append(dict(program(question=question).items()))
            tokens.append(recorder.input_tokens)
            first.append(str(recorder.calls[0].messages[0]["content"]) if recorder.calls else "")
        assert told[0] == told[1]
        if not first[0]:
            assert (name, question) == ("spanwise", NONSENSE), "it marks nothing, so it asks nothing"
            continue
        assert tokens[0] < tokens[1]
        assert "\nYou reply " in first[0]
        assert "Your output fields are" in first[1], "a configured adapter is honoured"


@pytest.mark.parametrize("name", NAMES)
def test_awaited_over_http_it_says_the_same(name: str, make: Make, embedded: dspy.LM, engine: ExtractiveEngine) -> None:
    program, question = make(name), questions(name)[0]
    with recording(embedded) as recorder:
        here = program(question=question)
    with serve(engine, latency=0.1) as server:
        remote = dspy.LM("openai/polyqa-extractive", api_base=server.base, api_key="none", cache=False)
        with recording(remote) as wired:
            there = asyncio.run(program.acall(question=question))
    assert dict(there.items()) == dict(here.items())
    assert {"answer", "interpretations", "passages"} <= {*here.keys()}
    assert len(server.requests) == len(recorder.calls) == len(wired.calls)
    assert (wired.input_tokens, wired.output_tokens) == (recorder.input_tokens, recorder.output_tokens)
    limits = limits_of(program)
    assert limits is None or len(server.requests) <= limits.calls
    if name not in ("closed-book", "query-refinement", "rac", "jpr", "sixpaq"):
        assert server.most_at_once >= 2, "calls that do not wait for each other must go out at once"


@pytest.mark.parametrize("name", RETRIEVING)
def test_readings_stand_in_the_passages_that_they_cite(name: str, make: Make, embedded: dspy.LM) -> None:
    result = make(name)(question=questions(name)[0])
    by_pid = {passage.pid: passage for passage in result.passages}
    assert len(result.interpretations) >= 2
    for reading in result.interpretations:
        assert reading.answer in by_pid[reading.pid].text
    assert any(reading.answer in result.answer for reading in result.interpretations)


class Together:
    """The embedded engine, which answers no call of a kind before so many of the kind are there."""

    def __init__(self, engine: ExtractiveEngine, output: str, calls: int) -> None:
        self.engine, self.output = engine, f"`{output}`"
        self.barrier = threading.Barrier(calls, timeout=60)

    def complete(self, request: Request) -> Response:
        if self.output in str(request.system):
            self.barrier.wait()
        return self.engine.complete(request)


@pytest.mark.parametrize("run", [lambda p, q: p(question=q), lambda p, q: asyncio.run(p.acall(question=q))])
def test_a_wave_of_calls_goes_out_at_once(run: Callable[..., Any], make: Make, engine: ExtractiveEngine) -> None:
    program = make("verdict")
    assert program.universe == 20
    with serve(Together(engine, "short_answer", 20)) as server:
        remote = dspy.LM("openai/polyqa-extractive", api_base=server.base, api_key="none", cache=False)
        with dspy.context(lm=remote):
            result = run(program, questions("verdict")[0])
    assert result.interpretations
    assert len(server.requests) == 22


@pytest.mark.parametrize("name", [name for name in RETRIEVING if "questions" not in REGISTRY[name].needs])
def test_an_empty_corpus_gives_an_answer_and_no_reading(name: str, make: Make, embedded: dspy.LM) -> None:
    program = make(name)
    program.retriever = SimpleNamespace(search=lambda query, k: [])
    result = program(question=questions(name)[0])
    assert list(result.interpretations) == list(result.passages) == []
    assert result.answer == NOT_KNOWN or "answer" in result.answer, "it says that it cannot"
    assert result.get("coverage", Coverage.USELESS) is Coverage.USELESS


@pytest.mark.parametrize("name", NAMES)
def test_predictors_are_flat_and_copies_share_index_models_and_preset(name: str, make: Make) -> None:
    program = make(name, preset="paper")
    copied = program.deepcopy()
    assert copied is not program
    assert copied.preset == program.reset_copy().preset == program.preset == "paper"
    for predictor, own in program.named_predictors():
        assert "." not in predictor
        assert dict(copied.named_predictors())[predictor].encoder is own.encoder
    if "index" in REGISTRY[name].needs:
        assert copied.retriever.retrievers[0] is program.retriever.retrievers[0]


def prompts(program: dspy.Module, question: str, lm: dspy.LM) -> list[str]:
    with recording(lm) as recorder:
        program(question=question)
    return sorted(json.dumps(call.messages) for call in recorder.calls)  # concurrent calls end in any order


@pytest.mark.parametrize("name", [name for name in NAMES if name != "closed-book"])
def test_knn_demos_are_shown_and_survive_saving(
    name: str, make: Make, training: Make, embedded: dspy.LM, tmp_path: Path
) -> None:
    program, question = make(name), questions(name)[0]
    bare = prompts(program, question, embedded)
    demos = label_demos(program, training(name))
    set_knn_demos(program, demos, k=1)
    before = prompts(program, question, embedded)
    assert before != bare
    assert {len(json.loads(messages)) for messages in before} <= {2, 4}, "at most one demo a call"
    program.save(tmp_path / "program.json")
    loaded = make(name, demos=tmp_path / "program.json")
    assert prompts(loaded, question, embedded) == before
    if hasattr(program, "clarify"):  # lean puts calls together, so paper has other predictors
        assert demos["clarify"]
        with pytest.raises(PolyqaError):
            make(name, preset="paper", demos=tmp_path / "program.json")


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("rac", {"preset": "cheap"}),
        ("rac", {"passages": 0}),
        ("rac", {"passages": 9, "candidates": 8}),
        ("diva", {"max_interpretations": 0}),
        ("jpr", {"shortlist": 4}),
        ("jpr", {"shortlist": 300}),
        ("crag", {"strips": 0}),
        ("sixpaq", {"similar": 0}),
        ("toc", {"depth": 0}),
        ("toc", {"nodes": 0}),
        ("verdict", {"universe": 0}),
        ("verdict", {"readings": 0}),
        ("spanwise", {"certainty": -0.1}),
        ("spanwise", {"certainty": 1.1}),
    ],
)
def test_impossible_settings_are_refused_with_their_name(name: str, given: dict[str, Any], make: Make) -> None:
    with pytest.raises(PolyqaError, match=next(iter(given))):
        make(name, **given)
    made = make(name)
    parts = [getattr(made, part) for part in ("retriever", "reranker", "asked", "reader") if getattr(made, part, None)]
    with pytest.raises(ValueError, match=next(iter(given))):
        PROGRAMS[name](*parts, encoder=made.encoder, **given)


def test_a_clustering_program_needs_an_encoder(make: Make) -> None:
    made = make("verdict")
    assert isinstance(made.reranker, BiEncoderReranker)
    with pytest.raises(ValueError, match="encoder"):
        PROGRAMS["verdict"](made.retriever, made.reranker)
