import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from lab.servers import prompt_key, replies_after, running, serving

PROMPT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who wrote Dune?"}]
REPLIES = {prompt_key(PROMPT): "Frank Herbert."}


def ask(address: str, prompt: list[dict[str, str]]) -> str:
    body = {"model": "prepared", "messages": prompt}
    request = urllib.request.Request(f"{address}/chat/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=30) as response:
        return str(json.load(response)["choices"][0]["message"]["content"])


@pytest.fixture
def here() -> Iterator[str]:
    with running(replies_after(REPLIES, 0.1)) as address:
        yield f"{address}/v1"


def test_every_reply_takes_its_time(here: str) -> None:
    started = time.perf_counter()
    assert ask(here, PROMPT) == "Frank Herbert."
    assert time.perf_counter() - started >= 0.1


def test_a_prompt_that_was_not_prepared_is_an_error(here: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        ask(here, [*PROMPT[:1], {"role": "user", "content": "Who wrote Emma?"}])
    assert caught.value.code == 400
    assert "ends with 'Who wrote Emma?'" in caught.value.read().decode()


def test_the_servers_process_ends_with_the_block() -> None:
    with serving(REPLIES, 0.01) as address:
        assert ask(address, PROMPT) == "Frank Herbert."
    with pytest.raises(urllib.error.URLError):
        ask(address, PROMPT)
