import copy
import json
import os
import pickle
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import dspy
import numpy as np
import pytest
from harness import fields, ledger_rows, scripted

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, add_passages, build_index, remove_passages
from polyqa.models import Encoder, Reader
from polyqa.questions import Generation, QuestionDatabase, build_questions, generate_questions, questions_path
from polyqa.questions import database as database_module
from polyqa.questions.build import chosen_passages
from polyqa.questions.database import MANIFEST


def content(path: Path) -> list[tuple[object, ...]]:
    return [(one.question, one.answers, one.pids) for one in QuestionDatabase(path).questions()]


def test_a_database_gives_back_what_was_generated(database: QuestionDatabase, generation: Generation) -> None:
    assert list(database.questions()) == list(generation.questions)
    assert len(database) == len(generation.questions) == generation.counts.questions
    assert database.manifest.counts == generation.counts
    assert (database.manifest.origin.lm, database.manifest.encoder) == ("polyqa/extractive", "all-MiniLM-L6-v2")
    assert database.manifest.index_passages == 12
    database.check()


def test_dense_search_is_the_cosine_of_every_question(
    database: QuestionDatabase, generation: Generation, encoder: Encoder
) -> None:
    texts = [one.question for one in generation.questions]
    queries = ["When was the bridge opened?", texts[3]]
    for query in queries:
        found = database.search(query, 7)
        cosine = encoder.similarity([query], texts)[0]
        order = np.argsort(-cosine, kind="stable")[:7]
        assert [one.number for one in found] == order.tolist()
        assert [one.score for one in found] == pytest.approx(cosine[order].tolist(), abs=1e-5)
    assert found[0].question == texts[3]
    assert found[0].score == pytest.approx(1.0, abs=1e-5)


def test_bm25_finds_questions_that_share_a_word(database: QuestionDatabase, generation: Generation) -> None:
    word = generation.questions[0].question.rstrip("?").split()[-1]
    found = database.search(f"{word} quokka", 50, ranking="bm25")
    assert generation.questions[0].question in [one.question for one in found]
    assert all(one.score > 0 for one in found)
    assert database.search("quokka", 5, ranking="bm25") == []
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("ranking", ["dense", "bm25"])
def test_what_is_fetched_later_goes_on_where_the_first_ended(
    database: QuestionDatabase, ranking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = database.search("When was the bridge opened?", 99, ranking=ranking)
    monkeypatch.setattr(database_module, "_FIRST", 1)
    assert database.search("When was the bridge opened?", 99, ranking=ranking) == at_once
    assert len(at_once) == len(database) or ranking == "bm25"


@pytest.mark.parametrize(
    "query", ['"bridge', "bridge AND (", "bridge^2 ~ tower:*", "¿?", "a the of", "橋", "half a \ud83d", "x" * 5000]
)
@pytest.mark.parametrize("ranking", ["dense", "bm25"])
def test_no_query_is_syntax(database: QuestionDatabase, query: str, ranking: str) -> None:
    assert len(database.search(query, 3, ranking=ranking)) <= 3


def test_an_empty_query_finds_nothing_and_bad_arguments_are_refused(database: QuestionDatabase) -> None:
    assert [*database.ranked([" "])[0], *database.search("")] == []
    with pytest.raises(ValueError, match="k must be at least 1"):
        database.search("a question", 0)
    with pytest.raises(ValueError, match="dense or bm25"):
        database.search("a question", ranking="sparse")  # type: ignore[arg-type]
    with pytest.raises(PolyqaError, match="needs the encoder"):
        QuestionDatabase(database.path).search("a question")


def test_handles_are_shared_and_pickled_by_path(database: QuestionDatabase) -> None:
    assert copy.deepcopy(database) is database
    again = pickle.loads(pickle.dumps(database))
    assert again.search("When was it built?", 3) == database.search("When was it built?", 3)


def test_what_is_no_database_or_of_something_else_is_refused(
    database: QuestionDatabase, index: ColBERTIndex, tmp_path: Path
) -> None:
    with pytest.raises(PolyqaError, match=r"no database of questions at .*polyqa questions build"):
        QuestionDatabase(tmp_path / "none")
    with pytest.raises(PolyqaError, match="encoded by all-MiniLM-L6-v2, not by another/encoder"):
        QuestionDatabase(database.path, encoder=Encoder("another/encoder"))
    advice = rf"than the index forty holds now .*--index {index.path} --out {database.path} --overwrite"
    with pytest.raises(PolyqaError, match=advice):
        QuestionDatabase(database.path, index=index)


def manifest_with(**changes: object) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        manifest = json.loads((folder / MANIFEST).read_text())
        manifest["counts"]["questions"] += changes.pop("more", 0)
        (folder / MANIFEST).write_text(json.dumps({**manifest, **changes}))

    return change


def each_table_file(damage: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda folder: [damage(path) for path in (folder / "questions.lance" / "data").iterdir()]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        *((lambda folder, text=text: (folder / MANIFEST).write_text(text), MANIFEST) for text in ("", "{}", "\x00")),
        (manifest_with(format=2), rf"{MANIFEST} is damaged or of another version, build it again"),
        (manifest_with(more=1), "its manifest says"),
        (manifest_with(digest="0" * 16), "not those that were written"),
        (lambda folder: (folder / "questions.lance").rename(folder / "elsewhere"), "its table is missing"),
        (each_table_file(Path.unlink), "is damaged"),
        (lambda folder: min((folder / "questions.lance" / "_versions").iterdir()).unlink(), "a file is missing"),
        (each_table_file(lambda path: path.write_bytes(path.read_bytes()[:50])), "is damaged"),
        (each_table_file(lambda path: path.write_bytes(os.urandom(5000))), "is damaged"),
    ],
)
def test_what_is_damaged_is_named(
    copy_database: Path, encoder: Encoder, damage: Callable[[Path], object], message: str
) -> None:
    damage(copy_database)
    with pytest.raises(PolyqaError, match=message) as caught:
        QuestionDatabase(copy_database, encoder=encoder).check()
    assert "\n" not in str(caught.value)


def test_a_database_is_not_replaced_unasked(
    corpus_index: ColBERTIndex, copy_database: Path, encoder: Encoder, generation: Generation, tmp_path: Path
) -> None:
    def generate(passages: object, *, journal: Path, step: object) -> Generation:
        journal.touch()
        return generation.model_copy(update={"questions": generation.questions[:2]})

    with pytest.raises(PolyqaError, match="--overwrite"):
        build_questions(corpus_index, generate, encoder=encoder, out=copy_database)
    with pytest.raises(PolyqaError, match="no database of questions; it is left alone"):
        build_questions(corpus_index, generate, encoder=encoder, out=tmp_path)
    assert len(content(copy_database)) == len(generation.questions)


def test_questions_stay_when_their_index_is_built_again_from_the_same_corpus(
    corpus: list[Passage], database: QuestionDatabase, encoder: Encoder, tmp_path: Path
) -> None:
    place = tmp_path / "index"
    build_index(corpus, place, encoder=encoder, progress=False)
    shutil.copytree(database.path, place / "questions")
    rebuilt = build_index(corpus, place, encoder=encoder, overwrite=True, progress=False)
    kept = QuestionDatabase(questions_path(rebuilt), encoder=encoder, index=rebuilt)
    assert kept.search("Where does it stand?", 3) == database.search("Where does it stand?", 3)


def test_a_corpus_without_questions_is_said_to_have_none(
    corpus_index: ColBERTIndex, encoder: Encoder, reader: Reader, tmp_path: Path
) -> None:
    with scripted(lambda message: fields(answers="[]")) as (lm, _):
        generate = partial(generate_questions, lm=lm, reader=reader)
        with pytest.raises(PolyqaError, match="No question"):
            build_questions(corpus_index, generate, encoder=encoder, out=tmp_path / "none")
    assert [path.name for path in tmp_path.iterdir()] == [".none.lock"], "another language model may begin"


def test_the_sample_is_always_the_same_and_in_order(corpus_index: ColBERTIndex) -> None:
    one = chosen_passages(corpus_index, 5)
    assert one == chosen_passages(corpus_index, 5) != corpus_index.passages[:5]
    place = [corpus_index.position(passage) for passage in one]
    assert place == sorted(place, key=lambda at: at or 0)
    assert chosen_passages(corpus_index, 99) == corpus_index.passages
    with pytest.raises(ValueError, match="limit"):
        chosen_passages(corpus_index, 0)


def test_passages_are_chosen_by_their_ids(corpus_index: ColBERTIndex) -> None:
    first, *_, last = corpus_index.passages
    assert chosen_passages(corpus_index, pids=[last.pid, first.pid]) == [first, last]
    assert len(chosen_passages(corpus_index, 1, pids={first.pid, last.pid})) == 1
    with pytest.raises(PolyqaError, match=r"has no passage nobody; `\[p.pid for p in index.passages\]`"):
        chosen_passages(corpus_index, pids=[first.pid, "nobody"])
    with pytest.raises(PolyqaError, match="was asked for no passage"):
        chosen_passages(corpus_index, pids=[])


def test_a_changed_index_refuses_its_old_questions(
    corpus_index: ColBERTIndex, database: QuestionDatabase, encoder: Encoder, tmp_path: Path
) -> None:
    """The default place is in the index's folder, where an update of the index leaves it."""
    copied = Path(shutil.copytree(corpus_index.path, tmp_path / "changed"))
    shutil.copytree(database.path, copied / "questions")
    changed = ColBERTIndex(copied)
    assert len(QuestionDatabase(questions_path(changed), index=changed)) == len(database)
    changed = remove_passages(changed, [corpus_index.passages[0].pid])
    with pytest.raises(PolyqaError, match=rf"polyqa questions build --index {copied} --overwrite"):
        QuestionDatabase(questions_path(changed), index=changed)


def test_an_index_that_changes_while_questions_are_built_costs_only_its_new_passages(
    corpus: list[Passage], lm: dspy.LM, encoder: Encoder, reader: Reader, tmp_path: Path
) -> None:
    index = build_index(corpus[:3], tmp_path / "tea", encoder=encoder, progress=False)
    generate = partial(generate_questions, lm=lm, reader=reader, threads=1)
    changes = [lambda: add_passages(ColBERTIndex(index.path), corpus[3:4])]
    told = r"holds 4 passages now, then 3\)\. Nothing is lost: run the same command again"
    with pytest.raises(PolyqaError, match=told):
        build_questions(index, generate, encoder=encoder, step=lambda: changes and changes.pop()())
    now = ColBERTIndex(index.path)
    read: list[str] = []
    journals: list[Path] = []

    def watched(passages: Sequence[Passage], *, journal: Path, step: Callable[[], None]) -> Generation:
        journals.append(journal)
        read.extend(ledger_rows(journal))
        return generate(passages, journal=journal, step=step)

    built = build_questions(now, watched, encoder=encoder)
    assert read == [passage.pid for passage in corpus[:3]]
    assert built.manifest.index == now.fingerprint
    assert built.manifest.counts.passages == 4
    assert not journals[0].exists(), "it goes when all is done"
