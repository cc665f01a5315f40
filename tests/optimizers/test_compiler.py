import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import dspy
import pytest

import polyqa
from polyqa.artifacts.state import dump_program
from polyqa.metrics.gold import Question, Reading
from polyqa.metrics.optimizing import AnswerMetric
from polyqa.optimizers import Recipe, compile, recipe
from polyqa.optimizers.checks import check_writer
from polyqa.optimizers.splits import check_disjoint


def test_compiling_leaves_the_student_as_it_was_and_scores_both(
    rac: dspy.Module,
    train: list[Question],
    dev: list[Question],
    embedded: dspy.LM,
    metric: AnswerMetric,
    tmp_path: Path,
) -> None:
    bare = dump_program(rac)
    made = compile(rac, train, dev, recipe("knn"), metric=metric, lm=embedded, work=tmp_path, threads=2)
    assert dump_program(rac) == bare
    assert [len(predictor.demos) for _, predictor in made.program.named_predictors()] == [6, 6]
    assert [record.id for record in made.before.records] == [question.id for question in dev]
    assert made.comparison.headline == "dr"
    assert made.comparison.n == len(dev)


def test_demos_come_from_train_only_and_hold_the_fields_of_their_predictor(
    diva: dspy.Module,
    train: list[Question],
    dev: list[Question],
    embedded: dspy.LM,
    metric: AnswerMetric,
    tmp_path: Path,
) -> None:
    for name in ("knn", "knn-bootstrap"):
        chosen = recipe(name).model_copy(update={"threshold": 0.2})
        made = compile(diva, train, dev, chosen, metric=metric, lm=embedded, work=tmp_path / name, threads=2)
        asked = {question.question for question in dev}
        known = {question.question for question in train}
        for predictor_name, predictor in made.program.named_predictors():
            fields = set(predictor.signature.fields)
            for demo in predictor.demos:
                assert set(dict(demo)) <= fields
                assert demo["question"] not in asked
                if predictor_name in ("extract", "write", "classify", "infer"):
                    assert demo["question"] in known
        filled = {name for name, predictor in made.program.named_predictors() if predictor.demos}
        assert {"extract", "write", "classify", "infer", "verify"} <= filled


def test_the_same_seed_gives_the_same_program(
    rac: dspy.Module,
    train: list[Question],
    dev: list[Question],
    embedded: dspy.LM,
    metric: AnswerMetric,
    tmp_path: Path,
) -> None:
    few = recipe("labels").model_copy(update={"shown": 2})
    states = [
        dump_program(
            compile(
                rac, train, dev, few, metric=metric, lm=embedded, work=tmp_path / str(run), seed=seed, threads=2
            ).program
        )
        for run, seed in enumerate((1, 1, 2))
    ]
    assert states[0] == states[1] != states[2]


def test_sets_that_share_a_question_are_refused(
    rac: dspy.Module,
    train: list[Question],
    dev: list[Question],
    embedded: dspy.LM,
    metric: AnswerMetric,
    tmp_path: Path,
) -> None:
    with pytest.raises(polyqa.PolyqaError, match="share a question"):
        compile(rac, train, [*dev, train[0]], recipe("knn"), metric=metric, lm=embedded, work=tmp_path)
    asked = Question("new", train[0].question.upper() + "!", (Reading("?", ("x",)),))
    with pytest.raises(polyqa.PolyqaError, match="same question"):
        check_disjoint({"train": train, "test": [asked]})
    with pytest.raises(polyqa.PolyqaError, match="twice"):
        check_disjoint({"train": [train[0], train[0]]})
    check_disjoint({"train": train, "dev": dev})


@pytest.mark.parametrize("name", ["copro", "mipro", "simba", "gepa", "gepa-then-knn"])
def test_instructions_need_a_model_that_writes(
    name: str,
    rac: dspy.Module,
    train: list[Question],
    dev: list[Question],
    embedded: dspy.LM,
    metric: AnswerMetric,
    tmp_path: Path,
) -> None:
    with pytest.raises(polyqa.PolyqaError, match=r"cannot write.*knn"):
        compile(rac, train, dev, recipe(name), metric=metric, lm=embedded, work=tmp_path)
    check_writer(recipe(name), "openai/gpt-4o")


def test_a_recipe_for_a_predictor_that_is_not_there_is_refused(
    rac: dspy.Module,
    train: list[Question],
    dev: list[Question],
    embedded: dspy.LM,
    metric: AnswerMetric,
    tmp_path: Path,
) -> None:
    odd = Recipe(name="odd", optimizer="labels", predictors=("expand",))
    with pytest.raises(polyqa.PolyqaError, match=r"'expand'.*extract, write"):
        compile(rac, train, dev, odd, metric=metric, lm=embedded, work=tmp_path)


def test_only_the_named_predictors_get_demos(
    rac: dspy.Module,
    train: list[Question],
    dev: list[Question],
    embedded: dspy.LM,
    metric: AnswerMetric,
    tmp_path: Path,
) -> None:
    only = Recipe(name="only", optimizer="labels", k=1, predictors=("write",))
    made = compile(rac, train, dev, only, metric=metric, lm=embedded, work=tmp_path, threads=2)
    assert {name: len(predictor.demos) for name, predictor in made.program.named_predictors()} == {
        "extract": 0,
        "write": 6,
    }


_CHILD = """
import sys
import polyqa
from polyqa.evaluation.loading import load_questions
from polyqa.metrics.optimizing import AnswerMetric
from polyqa.embedded_models import Reader
from polyqa.engines.extractive import ExtractiveEngine, embedded_lm
from polyqa.optimizers import compile, recipe
# In bfloat16, the engine's default, a near-tie of two spans can fall either way with what else is in the batch,
# and a resumed run has other batches.
program, lm = polyqa.load("rac"), embedded_lm(ExtractiveEngine(reader=Reader()))
print("ready", flush=True)
chosen = recipe("knn-bootstrap").model_copy(update={"threshold": 0.2})
made = compile(program, load_questions("homonyms/train")[:16], load_questions("homonyms/dev")[:4], chosen,
               metric=AnswerMetric(Reader()), lm=lm, work=sys.argv[1], threads=2)
from polyqa.artifacts.state import program_hash
print("done", program_hash(made.program), flush=True)
"""


def test_a_killed_compilation_goes_on_and_ends_alike(tmp_path: Path) -> None:
    def start(folder: Path) -> subprocess.Popen[str]:
        return subprocess.Popen([sys.executable, "-c", _CHILD, str(folder)], stdout=subprocess.PIPE, text=True)

    whole = start(tmp_path / "whole")
    expected = whole.communicate(timeout=300)[0].split()[-1]
    folder = tmp_path / "killed"
    journal = folder / "knn-bootstrap.jsonl"
    for least in (3, 9):
        child = start(folder)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not (journal.exists() and journal.read_bytes().count(b"\n") >= least):
            assert child.poll() is None
            time.sleep(0.02)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()  # type: ignore[union-attr]
    before = {json.loads(line)["id"] for line in journal.read_bytes().splitlines()[1:-1]}  # the first: settings
    last = start(folder)
    assert last.communicate(timeout=300)[0].split()[-1] == expected
    lines = [json.loads(line)["id"] for line in journal.read_bytes().splitlines()[1:]]
    assert len(lines) == len(set(lines)) == 16
    assert before <= set(lines)
