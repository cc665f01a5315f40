"""`polyqa serve` with a language model on this machine."""

import httpx
import pytest
from local_model import NAME, local_lm
from web_server import web_server

from polyqa.colbert_index import ColBERTIndex

QUESTION = "When did Solaris come out?"


@pytest.mark.slow
@pytest.mark.parametrize("streamed", [False, True])
def test_it_answers_on_the_page_and_as_events(films: ColBERTIndex, streamed: bool) -> None:
    lm = local_lm(context=4096, max_tokens=60)
    headers = {"accept": "text/event-stream"} if streamed else {}
    with web_server([films], lm=lm, programs=["closed-book"]) as web:
        reply = httpx.post(f"{web.base}/ask", json={"question": QUESTION}, headers=headers, timeout=120)
    assert reply.status_code == 200, reply.text
    assert NAME in reply.text
    assert not streamed or "event: result" in reply.text
