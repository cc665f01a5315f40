"""The questions and the corpus that are made of TimeQA's groups."""

import gzip
import json
from pathlib import Path
from typing import Any

from lab.timeqa import make
from polyqa.colbert_index import read_corpus
from polyqa.evaluation.loading import load_questions


def group(number: int) -> dict[str, Any]:
    readings = [
        {
            "question": f"Who led Club {number} in {year}?",
            "answers": [f"Leader {year}", "L."],
            "passages": [f"{year}: Leader {year}"],
        }
        for year in (1990, 2000)
    ]
    return {
        "ambiguous_question": f"Who led Club {number}?",
        "title": f"Club {number}",
        "lead": "A club.",
        "readings": readings,
    }


def written(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_bytes(gzip.compress("".join(f"{json.dumps(one)}\n" for one in records).encode()))


def test_train_and_test_share_no_article_and_every_passage_stands_there_once(tmp_path: Path) -> None:
    groups = [group(number) for number in (1, 2, 3, 4, 5)] + [group(1)]
    written(tmp_path / "disambig_timeqa_groups.jsonl.gz", groups)
    further = [{"title": "Club 1", "context": "1990: Leader 1990 "}, {"title": "Club 9", "context": "Closed."}]
    written(tmp_path / "read_timeqa_human.jsonl.gz", further)
    make(tmp_path, tmp_path / "sets", seed=1)
    train, test = (load_questions(str(tmp_path / f"sets/timeqa-{part}.json")) for part in ("train", "test"))
    assert len(train) + len(test) == 6
    assert {one.question for one in train}.isdisjoint(one.question for one in test)
    assert [reading.short_answers for reading in test[0].readings] == [("Leader 1990", "L."), ("Leader 2000", "L.")]
    passages = read_corpus(tmp_path / "sets/timeqa-corpus.jsonl")
    assert len(passages) == len({(one.title, one.text) for one in passages}) == 1 + 5 * 3
