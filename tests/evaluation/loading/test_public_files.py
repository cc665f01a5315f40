"""Questions of public data sets, in the shapes in which they are published."""

import gzip
from pathlib import Path

import pytest
from refusals import told

from polyqa.batch.asked import read_asked
from polyqa.evaluation.loading import load_questions, read_questions

# Name of the file, what it holds, how it is read, then id, question, and the aliases of each answer.
PUBLIC: dict[str, tuple[str, str, str, list[tuple[str, str, list[tuple[str, ...]]]]]] = {
    "DPR": (
        "nq-test.qa.csv",
        "who built it\t['Earl Rowan', \"Rowan's men\"]\nwhen, then\t['1432']\n",
        "read as questions with an answer: 2 questions, 1.5 aliases each; "
        "--format multi-answer takes each alias as an answer of its own",
        [("1", "who built it", [("Earl Rowan", "Rowan's men")]), ("2", "when, then", [("1432",)])],
    ),
    "DPR with passages": (
        "dev.json",
        '[{"question": "who?", "answers": ["Rowan", "Earl Rowan"], "ctxs": [{"id": "wiki:1", "text": "t"}]}]',
        "read as questions with an answer: 1 question, 2.0 aliases each",
        [("1", "who?", [("Rowan", "Earl Rowan")])],
    ),
    "FlashRAG": (
        "dev.jsonl",
        '{"id": "dev_0", "question": "who?", "golden_answers": ["Rowan"], "metadata": {}}\n',
        "read as questions with an answer: 1 question, 1.0 aliases each",
        [("dev_0", "who?", [("Rowan",)])],
    ),
    "TriviaQA": (
        "unfiltered-web-dev.json",
        '{"Data": [{"Answer": {"Aliases": ["Rowan", "Earl Rowan"], "NormalizedAliases": ["rowan"], "Value": '
        '"Earl Rowan"}, "Question": "Who?", "QuestionId": "tc_1"}], "Domain": "Web", "Version": 1.0}',
        "read as questions with an answer: 1 question, 2.0 aliases each",
        [("tc_1", "Who?", [("Earl Rowan", "Rowan")])],
    ),
    "SQuAD 2.0": (
        "dev-v2.0.json",
        '{"version": "v2.0", "data": [{"title": "Castle", "paragraphs": [{"context": "Rowan built it.", "qas": ['
        '{"id": "b", "question": "Who sold it?", "is_impossible": true, "answers": []}, {"id": "a", "question": "Who?",'
        '"answers": [{"text": "Rowan", "answer_start": 0}, {"text": "Rowan", "answer_start": 0}]}]}]}]}',
        "read as questions with an answer: 1 question, 1.0 aliases each; 1 question without an answer left out",
        [("a", "Who?", [("Rowan",)])],
    ),
    "MRQA": (
        "mrqa.jsonl.gz",
        '{"header": {"dataset": "NewsQA"}}\n'
        '{"context": "Rowan built it.", "qas": [{"qid": "m", "question": "Who?", "answers": ["Rowan"]}]}\n',
        "read as questions with an answer: 1 question, 1.0 aliases each",
        [("m", "Who?", [("Rowan",)])],
    ),
    "MuSiQue": (
        "musique_ans_v1.0_dev.jsonl",
        '{"id": "2hop__1", "question": "Who?", "answer": "Rowan", "answer_aliases": ["Earl Rowan"], '
        '"answerable": true, "paragraphs": [{"idx": 0, "title": "A", "paragraph_text": "b", "is_supporting": true}]}\n',
        "read as questions with an answer: 1 question, 2.0 aliases each",
        [("2hop__1", "Who?", [("Rowan", "Earl Rowan")])],
    ),
    "HotpotQA": (
        "hotpot_dev_distractor_v1.json",
        '[{"_id": "h", "question": "Who?", "answer": "Rowan", "supporting_facts": [["A", 0]], '
        '"context": [["A", ["b"]]]}]',
        "read as questions with an answer: 1 question, 1.0 aliases each",
        [("h", "Who?", [("Rowan",)])],
    ),
    "PopQA": (
        "popQA.tsv",
        'id\tprop\tquestion\tpossible_answers\n42\tbuilder\tWho?\t["Earl Rowan", "Rowan \\u00e9"]\n',
        "read as questions with an answer: 1 question, 2.0 aliases each",
        [("42", "Who?", [("Earl Rowan", "Rowan é")])],
    ),
    "KILT": (
        "nq-dev-kilt.jsonl",
        '{"id": "k", "input": "who?", "output": [{"answer": "Rowan"}, {"provenance": []}, {"answer": "Earl Rowan"}]}\n',
        "read as questions with an answer: 1 question, 2.0 aliases each",
        [("k", "who?", [("Rowan", "Earl Rowan")])],
    ),
    "WebQuestions": (
        "wq.jsonl",
        '{"url": "u", "question": "who?", "answers": ["Rowan", "Mills"]}\n',
        "read as questions with several answers: 1 question, 2.0 readings each",
        [("1", "who?", [("Rowan",), ("Mills",)])],
    ),
    "a table of one's own": (
        "mine.csv",
        'Question,Answer\n"Who, then?",Rowan\nWhen?,1432\n',
        "read as questions with an answer: 2 questions, 1.0 aliases each",
        [("1", "Who, then?", [("Rowan",)]), ("2", "When?", [("1432",)])],
    ),
    "a table with a reading a row": (
        "readings.csv",
        "question,reading,answer\nWho led it?,Who led it in 2000?,Jackson\nWho led it?,Who led it in 1987?,Riley\n"
        'When was it built?,,"[""1932"", ""in 1932""]"\n',
        "read as questions with a reading a row: 2 questions, 1.5 readings each",
        [
            ("Who led it?", "Who led it?", [("Jackson",), ("Riley",)]),
            ("When was it built?", "When was it built?", [("1932", "in 1932")]),
        ],
    ),
    "to_json() of pandas": (
        "frame.json",
        '{"question": {"0": "Who?"}, "answer": {"0": "Rowan"}}',
        "read as questions with an answer: 1 question, 1.0 aliases each",
        [("1", "Who?", [("Rowan",)])],
    ),
}


@pytest.mark.parametrize("name", PUBLIC)
def test_public_files_as_they_are(name: str, tmp_path: Path) -> None:
    file, text, summary, expected = PUBLIC[name]
    path = tmp_path / file
    path.write_bytes(gzip.compress(text.encode()) if file.endswith(".gz") else text.encode())
    loaded = read_questions(path)
    assert str(loaded) == summary
    assert [(one.id, one.question, list(one.answers)) for one in loaded.questions] == expected
    asked = {one.id: one.question for one in read_asked(path)}
    assert {**asked, **{id: question for id, question, _ in expected}} == asked
    assert asked.keys() - loaded.left_out == {id for id, *_ in expected}


def test_of_a_folder_of_beir_the_queries_are_asked(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d", "title": "T", "text": "t"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q0", "text": "who?", "metadata": {}}\n')
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq0\td\t1\n")
    assert [(one.id, one.question) for one in read_asked(tmp_path)] == [("q0", "who?")]
    assert "there is a question, and no answer to score against" in told(load_questions, str(tmp_path))


def test_splits_of_folders(tmp_path: Path) -> None:
    import datasets

    one, two = {"question": "who?", "answer": "Ann"}, {"question": "when?", "answer": "1432"}
    data = datasets.DatasetDict(train=datasets.Dataset.from_list([one]), dev=datasets.Dataset.from_list([two]))
    data.save_to_disk(str(tmp_path / "saved"))
    for split in data:
        data[split].to_parquet(str(tmp_path / "cloned" / f"{split}-00000-of-00001.parquet"))
    for folder in ("saved", "cloned"):
        assert [one.question for one in load_questions(tmp_path / folder, split="dev")] == ["when?"]
        assert [one.question for one in load_questions(f"{tmp_path / folder}@train")] == ["who?"]
        assert "name a split; there are" in told(load_questions, tmp_path / folder)
        assert "there is no split 'test'; there are" in told(load_questions, tmp_path / folder, split="test")
