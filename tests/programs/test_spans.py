"""What callbacks see of searching and reranking."""

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import dspy
import pytest
from dspy.utils.callback import ACTIVE_CALL_ID, BaseCallback
from scripted_engine import ScriptedEngine, scripted_lm
from usual_replies import USUAL

import polyqa
from polyqa.base.values import Passage
from polyqa.programs.spans import Rerank, Retrieve, search, told_apart


class Seen(BaseCallback):
    """Keeps what begins and ends, and what it began in."""

    def __init__(self) -> None:
        self.started: list[tuple[str, Any, dict[str, Any]]] = []
        self.ended: dict[str, Any] = {}
        self.parents: dict[str, str | None] = {}
        self.lock = threading.Lock()

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        with self.lock:
            self.started.append((call_id, instance, inputs))
            self.parents[call_id] = ACTIVE_CALL_ID.get()

    def on_module_end(self, call_id: str, outputs: Any, exception: Exception | None = None) -> None:
        with self.lock:
            self.ended[call_id] = outputs if exception is None else exception


@pytest.mark.parametrize(
    ("name", "asynchronous"),
    [("rac", False), ("rac", True), ("jpr", False), ("diva", False), ("toc", False), ("verdict", False)],
)
def test_a_question_shows_its_searches(name: str, asynchronous: bool, make: Any, usual: ScriptedEngine) -> None:
    program, seen, question = make(name), Seen(), "When did Titanic come out?"
    with dspy.context(lm=scripted_lm(usual), callbacks=[seen]):
        told = asyncio.run(program.acall(question=question)) if asynchronous else program(question=question)
    searches = [(call, inputs) for call, instance, inputs in seen.started if isinstance(instance, Retrieve)]
    reranked = [(call, inputs) for call, instance, inputs in seen.started if isinstance(instance, Rerank)]
    assert searches
    assert reranked
    assert issubclass(Retrieve, dspy.Retrieve), "by which MLflow knows a retriever"
    assert {inputs["query"] for _, inputs in searches} <= {question, USUAL["relaxed_query"]}
    for call, inputs in searches:
        assert 0 < len(seen.ended[call]) <= inputs["k"]
        assert all(isinstance(passage, Passage) for passage in seen.ended[call])
        assert seen.parents[call] is not None, "it stands within its program"
    assert all(call in seen.ended for call, _ in reranked)
    with dspy.context(lm=scripted_lm(usual)):
        assert program(question=question).answer == told.answer


def test_a_search_that_fails_ends(make: Any, usual: ScriptedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    program, seen = make("rac"), Seen()

    def fail(query: str, k: int) -> list[Passage]:
        raise polyqa.PolyqaError("gone")

    monkeypatch.setattr(program.retriever, "search", fail)
    with dspy.context(lm=scripted_lm(usual), callbacks=[seen]), pytest.raises(polyqa.PolyqaError, match="gone"):
        program(question="When did Titanic come out?")
    (call,) = (call for call, instance, _ in seen.started if isinstance(instance, Retrieve))
    assert isinstance(seen.ended[call], polyqa.PolyqaError)


def test_what_is_found_has_titles_that_tell_it_apart() -> None:
    pumps = [Passage(pid=name, title="Pump", text="Go.", metadata={"product": name}) for name in ("Heron", "Falcon")]
    retriever: Any = SimpleNamespace(search=lambda query, k: pumps)
    assert [one.title for one in search(retriever, "How is it started?", 2)] == ["Pump (Heron)", "Pump (Falcon)"]


def told(*each: tuple[str, dict[str, Any]]) -> list[str]:
    passages = [Passage(pid=str(at), title=title, text="It pumps.", metadata=of) for at, (title, of) in enumerate(each)]
    apart = told_apart(passages)
    assert [(one.pid, one.text, one.metadata) for one in apart] == [
        (one.pid, one.text, one.metadata) for one in passages
    ]
    return [one.title for one in apart]


def test_the_first_field_that_differs_stands_behind_the_title() -> None:
    heron = {"kind": "manual", "product": "Heron", "author": "M. Lund"}
    falcon = {"kind": "manual", "product": "Falcon", "author": "S. Berg"}
    assert told(("Pump", heron), ("Oven", heron), ("Pump", falcon), ("Pump", heron)) == [
        "Pump (Heron)",
        "Oven",
        "Pump (Falcon)",
        "Pump (Heron)",
    ]


@pytest.mark.parametrize(
    ("title", "fields"),
    [
        ("Pump", [{}, {}]),
        ("Pump", [{"product": "Heron"}, {}]),  # nothing is known of the other
        ("Pump", [{"product": "Heron"}, {"product": "Heron"}]),
        ("Pump", [{"product": "Heron"}, {"product": "Falcon"}, {"kind": "manual"}]),  # one of them lacks the field
        ("Pump", [{"row": 1}, {"row": 2}]),
        ("Pump", [{"source": "a.md", "section": "Use", "page": 1}, {"source": "b.md", "section": "Care", "page": 2}]),
        ("Pump", [{"url": "https://example.org/1"}, {"url": "https://example.org/2"}]),
        ("Pump", [{"summary": "x" * 41}, {"summary": "y"}]),
        ("Pump", [{"product": ""}, {"product": "Falcon"}]),
        ("", [{"product": "Heron"}, {"product": "Falcon"}]),  # without a title there is no namesake
    ],
)
def test_what_tells_nothing_apart_is_not_shown(title: str, fields: list[dict[str, Any]]) -> None:
    assert told(*((title, of) for of in fields)) == [title] * len(fields)


class Wrong:
    """Finds what its owner calls passages."""

    def __init__(self, found: Any) -> None:
        self.found = found

    def search(self, query: str, k: int = 10) -> Any:
        return self.found


@pytest.mark.parametrize("retriever", [lambda query, k: [], Wrong([{"pid": "1", "text": "It flies."}]), Wrong(None)])
def test_what_gives_no_passages_is_no_retriever(retriever: Any) -> None:
    told = rf"has search\(query, k\), .* and a {type(retriever).__name__} has not"
    with pytest.raises(polyqa.PolyqaError, match=told):
        search(retriever, "Who?", 3)
