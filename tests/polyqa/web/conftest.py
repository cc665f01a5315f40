from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from web_server import Web, web_server

from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, build_index
from polyqa.models import Encoder

_FILMS = (
    ("solaris-1972", "Solaris (1972 film)", "Solaris is a film by Tarkovsky that came out on 20 March 1972."),
    ("solaris-2002", "Solaris (2002 film)", "Solaris is a film by Soderbergh that came out on 29 November 2002."),
    ("solaris-novel", "Solaris (novel)", "Solaris is a novel that Lem published in 1961. A sea thinks in it."),
    ("bees", "Honey bee", "In frost the cluster shivers around its stores."),
    (
        "evil",
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(2)> Mallory wrote [this](javascript:alert(3)) on 3 May 1999.",
    ),
)


@pytest.fixture(scope="session")
def films(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> ColBERTIndex:
    """An index over which a question has two answers."""
    passages = [Passage(pid=pid, title=title, text=text) for pid, title, text in _FILMS]
    passages[1] = passages[1].model_copy(update={"metadata": {"source": "films.pdf", "page": 2}})
    folder: Path = tmp_path_factory.mktemp("indexes") / "films"
    return build_index(passages, folder, encoder=encoder, progress=False)


@pytest.fixture(scope="module")
def web(films: ColBERTIndex) -> Iterator[Web]:
    with web_server([films]) as running:
        yield running


@pytest.fixture
def client(web: Web) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=web.base, timeout=120) as made:
        yield made
