"""A language model that tells how likely the first token of a reply was."""

import math
from collections.abc import Callable, Mapping

from dspy.lm15 import Message, Request, Response, TokenLogprob, TopLogprob, Usage

from polyqa.lm.client import RecentLM


class ProbableEngine:
    """Replies to the last message, and tells the shares of the tokens that may have begun the reply, the first's first.

    Without shares it tells no probabilities. It keeps its requests.
    """

    def __init__(self, reply: Callable[[str], tuple[str, Mapping[str, float]]]) -> None:
        self.reply = reply
        self.requests: list[Request] = []

    def complete(self, request: Request) -> Response:
        self.requests.append(request)
        text, shares = self.reply(request.messages[-1].text or "")
        assert not shares or request.config.logprobs is not None
        top = tuple(TopLogprob(token, math.log(share)) for token, share in shares.items())
        tokens = (TokenLogprob(top[0].token, top[0].logprob, top=top),) if top else None
        return Response(None, request.model, Message.assistant(text), "stop", Usage(), tokens)

    def close(self) -> None:
        pass


def probable_lm(engine: ProbableEngine, *, reads: bool) -> RecentLM:
    """Return its client; ``reads``: whether it was trained to copy answers out of passages."""
    lm = RecentLM("tests/probable", engine=engine, cache=False)
    lm.gives_probabilities, lm.reads_passages = True, reads
    return lm
