"""Replies that cannot be read do not stay in DSPy's cache, and replies that break off are known as such."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import dspy
import pytest
from dspy.clients.cache import Cache
from dspy.lm15 import Message, Request, Response, Usage
from dspy.utils.exceptions import AdapterParseError
from openai_server import Server, serve

from polyqa.lm.adapter import LeanAdapter
from polyqa.lm.client import BoundedLM
from polyqa.lm.exchanges import exchanging
from polyqa.signatures import VerifyInterpretation

Ask = Callable[..., Any]
GIVEN = {"passages": ["Titanic | A film of 1997."], "question": "When did Titanic come out?"}
SAYS_YES = {
    LeanAdapter: "Yes",
    dspy.ChatAdapter: "[[ ## answerable ## ]]\nYes",
    dspy.JSONAdapter: '{"answerable": "Yes"}',
}


class Replies:
    """Replies what it is told to, for the reason that it is told to."""

    def __init__(self) -> None:
        self.text = "Bananas."
        self.finish_reason = "stop"

    def complete(self, request: Request) -> Response:
        usage, message = Usage(input_tokens=1, output_tokens=1), Message.assistant(self.text)
        ended: Any = self.finish_reason
        return Response(id=None, model=request.model, message=message, finish_reason=ended, usage=usage)


@pytest.fixture
def replies() -> Replies:
    return Replies()


@pytest.fixture
def server(replies: Replies) -> Iterator[Server]:
    with serve(replies) as listening:
        yield listening


def remote(server: Server, kind: type[dspy.LM] = dspy.LM, **settings: Any) -> dspy.LM:
    return kind("openai/test", api_base=server.base, api_key="none", **settings)


@pytest.mark.parametrize(
    ("kind", "adapter", "process"),
    [
        (dspy.LM, LeanAdapter, "the same"),
        (BoundedLM, dspy.ChatAdapter, "a later one"),
        (dspy.LM, dspy.JSONAdapter, "a later one"),
        (BoundedLM, LeanAdapter, "a later one"),
    ],
)
def test_an_unreadable_reply_is_asked_for_again_and_a_readable_one_is_kept(
    ask: Ask,
    kind: type[dspy.LM],
    adapter: type[dspy.Adapter],
    process: str,
    replies: Replies,
    server: Server,
    own_cache: Cache,
) -> None:
    predict = dspy.Predict(VerifyInterpretation)
    with dspy.context(lm=remote(server, kind, temperature=0.5), adapter=adapter()):
        with pytest.raises(AdapterParseError), exchanging():
            ask(predict, **GIVEN)
        sent = len(server.requests)
        if process == "a later one":
            own_cache.reset_memory_cache()
        for text in (SAYS_YES[adapter], "Bananas."):
            replies.text = text
            with exchanging():
                assert ask(predict, **GIVEN).answerable == "Yes"
            assert len(server.requests) == sent + 1
            own_cache.reset_memory_cache()


def test_what_fails_otherwise_leaves_the_cache_alone(replies: Replies, server: Server) -> None:
    replies.text = "Yes"
    predict = dspy.Predict(VerifyInterpretation)
    with dspy.context(lm=remote(server), adapter=LeanAdapter()):
        with suppress(KeyError), exchanging():
            predict(**GIVEN)
            raise KeyError
        predict(**GIVEN)
    assert len(server.requests) == 1


@pytest.mark.parametrize("engine", ["auto", "litellm"])
@pytest.mark.parametrize(
    ("finish_reason", "cut"), [("stop", ""), ("length", "length"), ("content_filter", "content_filter")]
)
def test_a_reply_that_broke_off_is_known_also_from_the_cache(
    ask: Ask, engine: str, finish_reason: str, cut: str, replies: Replies, server: Server
) -> None:
    replies.text, replies.finish_reason = "Yes, the pass", finish_reason
    with dspy.context(lm=remote(server, engine=engine), adapter=LeanAdapter()):
        for _ in range(2):
            with exchanging() as exchange:
                ask(dspy.Predict(VerifyInterpretation), **GIVEN)
            assert (exchange.cut, exchange.reply) == (cut, "Yes, the pass")
    assert len(server.requests) == 1


def test_a_request_of_dspy_3_5_is_forgotten_and_known_to_break_off(replies: Replies, server: Server) -> None:
    lm = remote(server, BoundedLM)
    request, replies.finish_reason = Request(lm.model, (Message.user("Who?"),)), "length"
    with pytest.raises(ValueError, match="unreadable"), exchanging() as exchange:  # noqa: PT012
        lm(request)
        raise ValueError("unreadable")
    assert (exchange.cut, exchange.reply) == ("length", "Bananas.")
    lm(request)
    assert len(server.requests) == 2
