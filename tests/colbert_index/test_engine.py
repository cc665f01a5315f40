import sys
import threading

import pytest

from polyqa.colbert_index import ColBERTIndex
from polyqa.colbert_index.engine import quiet


def test_quiet_in_two_threads_gives_standard_output_back() -> None:
    before = sys.stdout
    entered, leave = threading.Event(), threading.Event()

    def first() -> None:
        with quiet():
            entered.set()
            leave.wait(10)

    def second() -> None:
        with quiet():
            pass

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    assert entered.wait(10)
    threads[1].start()
    leave.set()
    for thread in threads:
        thread.join(10)
    assert sys.stdout is before


@pytest.mark.parametrize("given", [None, [3, 250, 7]], ids=["searched", "given"])
def test_passages_score_as_with_colbert_ais_own_scorer(given: list[int] | None) -> None:
    index = ColBERTIndex("homonyms")
    searcher = index.searcher
    from colbert.search.index_storage import IndexScorer

    own = IndexScorer(str(index.folder), use_gpu=False)
    for question in ("When did Titanic come out?", "Who founded Alexandria?", ""):
        query = searcher.checkpoint.queryFromText([question], bsize=1, to_cpu=True).float()
        config = index._rank_config(200)
        assert searcher.ranker.rank(config, query, pids=given) == own.rank(config, query, pids=given)
