import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from lab.training import train_colbert
from lab.training.batches import Step, epoch_steps, step_loss
from lab.training.coverage import Pool, make_pools, measure, rank
from lab.training.late_interaction import LateInteraction, Markers, maxsim
from lab.training.loop import Schedule
from lab.training.mining import Query, mine_pairs, mine_paragraphs, mine_questions, nearest
from lab.training.questions import Asked
from lab.training.squad import Example, write_squad
from lab.training.train_colbert import Data, Setup, held_out_items, run
from polyqa.base.errors import PolyqaError
from polyqa.colbert_index.engine import load_checkpoint
from polyqa.colbert_index.settings import IndexSettings
from polyqa.models import Encoder
from polyqa.models.compact import COMPACT_FILE, read_compact

THINGS = ("kettle", "boat", "door", "lamp", "chair", "wagon")
PASSAGES = [
    *(
        f"Old {thing} The {thing} in the harbour shed was made in {1900 + n} by Orla Venn."
        for n, thing in enumerate(THINGS)
    ),
    *(f"New {thing} The {thing} in the town hall is, by all accounts, younger and (still) in use." for thing in THINGS),
]
ASKED = [
    *(Asked(f"r{n}", f"When was the {thing} made?", ((str(1900 + n),),)) for n, thing in enumerate(THINGS)),
    Asked("both", "When was it made, the kettle or the boat?", (("1900",), ("1901",))),
    Asked("none", "Who painted the ceiling of the chapel?", (("Ida Moon",),)),
]


@pytest.fixture(scope="module")
def model() -> LateInteraction:
    return LateInteraction(frozen_layers=5)


def test_token_vectors_are_those_of_colbert_ai(tmp_path: Path) -> None:
    texts = [*PASSAGES[-2:], "It's a (long) one; " * 60]
    questions = ["When was the boat made?", "Which? " * 40]
    for augment, markers in ((False, ("[CLS]", "[CLS]")), (True, ("[unused0]", "[unused1]"))):
        own = LateInteraction(markers=Markers(augment=augment, query_token_id=markers[0], doc_token_id=markers[1]))
        own.write(tmp_path / f"checkpoint-{augment}")
        again = LateInteraction(str(tmp_path / f"checkpoint-{augment}"))  # float16 has rounded the weights
        assert again.markers == own.markers
        again.module.eval()
        theirs = load_checkpoint(tmp_path / f"checkpoint-{augment}", IndexSettings(), "float32")
        with torch.inference_mode():
            tokens = again.document_tokens(texts)
            documents = [v[c] for v, c in zip(again.vectors(tokens), tokens.counted, strict=True)]
            expected = theirs.docFromText(texts, bsize=3, keep_dims=False)[0]
            for one, other in zip(documents, expected, strict=True):
                assert torch.allclose(one, other.float(), atol=2e-3)
            queries = again.vectors(again.query_tokens(questions))
            wanted = theirs.queryFromText(questions)
        real = wanted[:, : queries.shape[1]]
        assert torch.allclose(queries, real.float(), atol=2e-3)
        assert not wanted[:, queries.shape[1] :].any()


def test_maxsim_is_its_formula() -> None:
    queries, documents = torch.randn(2, 3, 4), torch.randn(5, 6, 4)
    queries[1, 2] = 0
    counted = torch.rand(5, 6) > 0.3
    counted[:, 0] = True
    found = maxsim(queries, documents, counted)
    for q in range(2):
        for d in range(5):
            own = documents[d][counted[d]]
            expected = sum(float((own @ vector).max()) for vector in queries[q] if vector.any())
            assert float(found[q, d]) == pytest.approx(expected, abs=1e-5)


def test_only_what_is_trained_is_shipped(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    model = LateInteraction(frozen_layers=5)
    for weight in model.module["bert"].encoder.layer[5].parameters():
        torch.nn.init.normal_(weight, std=0.1)
    model.write_trained(tmp_path / COMPACT_FILE)
    model.round_trained()
    model.write(tmp_path / "checkpoint")
    assert load_file(tmp_path / COMPACT_FILE)["linear.weight"].dtype == torch.int8
    trained = read_compact(tmp_path / COMPACT_FILE)
    whole = load_file(tmp_path / "checkpoint" / "model.safetensors")
    assert "linear.weight" in trained
    assert {name.split(".layer.")[1][0] for name in trained if ".layer." in name} == {"5"}
    for name, tensor in trained.items():
        assert torch.equal(tensor, whole[name])


def test_a_folder_without_metadata_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match=r"no ColBERT checkpoint.*artifact\.metadata"):
        LateInteraction(str(tmp_path))


def test_mined_positives_hold_the_answer_and_negatives_do_not() -> None:
    near = np.tile(np.arange(len(PASSAGES)), (len(ASKED), 1))
    found = mine_questions(ASKED, PASSAGES, near)
    assert {query.question for query in found} == {asked.question for asked in ASKED[:-1]}
    by_question = {query.question: query for query in found}
    assert by_question["When was the door made?"].positives == (PASSAGES[2],)
    assert set(by_question[ASKED[6].question].positives) == set(PASSAGES[:2])
    for query in found:
        assert query.negatives
        assert not any(answer in text for text in query.negatives for answer in query.answers)


def test_nearest_is_by_dot_product() -> None:
    vectors = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)
    queries = vectors[[3, 5]]
    expected = np.argsort(-(queries @ vectors.T), axis=1)
    assert (nearest(queries, vectors, 3) == expected[:, :3]).all()
    assert (nearest(queries, vectors, 50) == expected).all()


def test_paragraphs_and_pairs() -> None:
    one = Example("1", "Who made the kettle?", "Orla made the kettle.", ((0, "Orla"),), "a", "Old_kettle")
    other = Example("2", "Who broke the kettle?", "Piet broke it.", ((0, "Piet"),), "a", "Old_kettle")
    first, _ = mine_paragraphs([one, other])
    assert (first.positives, first.negatives) == (("Old kettle Orla made the kettle.",), ("Old kettle Piet broke it.",))
    pairs = mine_pairs([("Who made the kettle?", "Orla made the kettle."), ("What broke?", "The kettle broke.")])
    assert pairs[0].positives == ("Orla made the kettle.",)
    assert pairs[0].negatives == ("The kettle broke.",)


def queries() -> list[Query]:
    return [
        Query(f"When was the {thing} made?", (PASSAGES[n],), (PASSAGES[n + 6],), (str(1900 + n),), "questions")
        for n, thing in enumerate(THINGS)
    ]


def test_an_epoch_shows_every_query_once_with_its_positive_first() -> None:
    steps = epoch_steps(queries(), 4, random.Random(0))
    assert steps == epoch_steps(queries(), 4, random.Random(0))
    assert len(steps) == 1  # what does not fill a batch waits for the next epoch's order
    for step in steps:
        for row, question in enumerate(step.queries):
            assert step.documents[row] in next(q.positives for q in queries() if q.question == question)
        assert len(step.documents) == 2 * len(step.queries)


def test_a_passage_with_the_answer_is_no_negative_of_another_query() -> None:
    twins = [Query("When was it made?", (PASSAGES[0],), (), ("1900", "1901"), "questions"), queries()[1]]
    (step,) = epoch_steps(twins, 2, random.Random(0))
    row = step.queries.index("When was it made?")
    assert (row, step.documents.index(PASSAGES[1])) in step.unsure
    assert all(column != own for own, column in step.unsure)


def test_the_loss_falls_for_the_right_ranking(model: LateInteraction, encoder: Encoder) -> None:
    model.module.eval()
    right = Step(tuple(q.question for q in queries()), tuple(PASSAGES[:6]), ())
    wrong = Step(right.queries, tuple(PASSAGES[5::-1]), ())
    with torch.inference_mode():
        assert step_loss(model, right, encoder, 0.0) < step_loss(model, wrong, encoder, 0.0)
        assert step_loss(model, right, encoder, 1.0) > step_loss(model, right, encoder, 0.0)


def test_ranking_and_coverage(model: LateInteraction) -> None:
    pool = Pool("When was the lamp made by Orla Venn?", (("1903",), ("1904",)), tuple(PASSAGES[:5]))
    assert sorted(rank(model, [pool])[0]) == list(range(5))
    found = measure(model, [pool, Pool("When was the door made?", (("nowhere",),), tuple(PASSAGES))])
    assert (found.questions, found.ac_at_5, found.mrecall_at_5) == (2, 50.0, 50.0)
    near = np.tile(np.arange(len(PASSAGES)), (len(ASKED), 1))
    (made,) = make_pools(ASKED, near, PASSAGES, depth=4)
    assert (made.question, made.answers) == (ASKED[6].question, ASKED[6].answers)
    assert set(PASSAGES[:4]) <= set(made.passages)


def test_the_held_out_items_are_always_the_same() -> None:
    assert held_out_items(ASKED, 5) == {"both"}
    assert held_out_items(ASKED, 0) == set()
    several = [Asked(str(n), "Which?", (("1",), ("2",))) for n in range(9)]
    assert held_out_items(several[::-1], 3) == held_out_items(several, 3)


def files(folder: Path) -> Data:
    lines = [json.dumps({"id": str(n), "title": "", "text": text}) for n, text in enumerate(PASSAGES)]
    (folder / "corpus.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    items = [
        {"id": a.root, "ambiguous_question": a.question}
        | {"qa_pairs": [{"question": a.question, "short_answers": list(g)} for g in a.answers]}
        for a in ASKED
    ]
    (folder / "train.jsonl").write_text("\n".join(map(json.dumps, items)) + "\n", encoding="utf-8")
    (folder / "dev.jsonl").write_text(json.dumps(items[5] | {"id": "elsewhere"}) + "\n", encoding="utf-8")
    write_squad(
        [Example("1", "Who made it?", "Orla made it.", ((0, "Orla"),), "a", "Kettle")] * 4, folder / "squad.json"
    )
    np.save(folder / "vectors.npy", Encoder().encode(PASSAGES).astype(np.float16))
    return Data(
        folder / "corpus.jsonl",
        [folder / "train.jsonl"],
        [folder / "dev.jsonl"],
        paragraphs=[folder / "squad.json"],
        corpus_vectors=folder / "vectors.npy",
        tune_items=1,
    )


@pytest.mark.slow
def test_a_checkpoint_is_trained_and_a_killed_run_ends_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = files(tmp_path)

    def train_once(out: str) -> dict[str, object]:
        train_colbert.main(
            tmp_path / out, data.corpus, data.questions, data.held_out, data.paragraphs,
            corpus_vectors=data.corpus_vectors, frozen_layers=5, batch_size=2, tune_items=1,
            epochs=3, rate=1e-4, save_every=1, bfloat16=False,
        )  # fmt: skip
        return json.loads((tmp_path / out / "report.json").read_text())

    report = train_once("whole")
    assert report["queries"] == {"paragraphs": 4, "questions": 5}  # one shares its words with a held-out question
    assert {path.name for path in (tmp_path / "whole" / "shipped").iterdir()} == {
        COMPACT_FILE,
        "README.md",
        "curve.svg",
    }
    assert set(report) == {"schedule", "settings", "queries", "before", "after", "after_int8"}
    done: list[int] = []

    def dying(*arguments: object) -> object:
        done.append(1)
        if len(done) == 4:
            raise KeyboardInterrupt
        return step_loss(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(train_colbert, "step_loss", dying)
        with pytest.raises(KeyboardInterrupt):
            train_once("killed")
    train_once("killed")
    weights = [(tmp_path / out / "checkpoint" / "model.safetensors").read_bytes() for out in ("whole", "killed")]
    assert weights[0] == weights[1]


def test_vectors_of_another_corpus_are_refused(tmp_path: Path) -> None:
    data = replace(files(tmp_path), corpus_vectors=tmp_path / "few.npy")
    np.save(tmp_path / "few.npy", np.zeros((3, 384)))
    with pytest.raises(PolyqaError, match=r"few\.npy has shape \(3, 384\).*12 passages"):
        run(data, Setup(), Schedule(), tmp_path / "out")
