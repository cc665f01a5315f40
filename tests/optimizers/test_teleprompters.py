"""Every optimizer, end to end, over a real HTTP server: it changes the program, and the artifact survives."""

import json
import subprocess
import sys
from pathlib import Path

import dspy
import pytest

import polyqa
from metrics.gold import Question
from metrics.optimizing import AnswerMetric
from optimizers import Recipe
from optimizers.compiler import compile
from programs.recording import recording
from programs.state import dump_program

RECIPES = {
    "labels": Recipe(name="labels", optimizer="labels"),
    "knn": Recipe(name="knn", optimizer="labels", k=2),
    "knn-bootstrap": Recipe(name="knn-bootstrap", optimizer="bootstrap", k=2, threshold=0.05),
    "few-shot": Recipe(
        name="few-shot",
        optimizer="few-shot",
        settings={"max_bootstrapped_demos": 2, "max_labeled_demos": 0},
        threshold=0.05,
    ),
    "few-shot-search": Recipe(
        name="few-shot-search",
        optimizer="few-shot-search",
        settings={"max_bootstrapped_demos": 2, "max_labeled_demos": 0, "num_candidate_programs": 1},
        threshold=0.05,
    ),
    "copro": Recipe(name="copro", optimizer="copro", settings={"breadth": 2, "depth": 1}),
    "mipro": Recipe(
        name="mipro",
        optimizer="mipro",
        settings={"num_candidates": 2, "num_trials": 2, "max_bootstrapped_demos": 1, "max_labeled_demos": 0},
        threshold=0.05,
    ),
    "simba": Recipe(
        name="simba",
        optimizer="simba",
        settings={"bsize": 4, "num_candidates": 2, "max_steps": 2, "max_demos": 1},
    ),
    "gepa": Recipe(name="gepa", optimizer="gepa", settings={"max_metric_calls": 24, "reflection_minibatch_size": 2}),
    "chain": Recipe(
        name="chain",
        optimizer="chain",
        steps=(
            Recipe(name="first", optimizer="copro", settings={"breadth": 2, "depth": 1}),
            Recipe(name="then", optimizer="labels", k=2),
        ),
    ),
}
_CHILD = """
import json, sys
import polyqa
from programs.recording import recording
program = polyqa.load(sys.argv[1])
lm = polyqa.language_model("openai/child", api_base=sys.argv[2], cache=False)
with recording(lm) as recorder:
    prediction = program(question=sys.argv[3])
print(json.dumps([prediction.answer, [call.messages for call in recorder.calls]]))
"""


@pytest.mark.parametrize("name", RECIPES)
def test_it_changes_the_program_and_the_artifact_gives_identical_prompts_elsewhere(
    name: str,
    rac: dspy.Module,
    train: list[Question],
    dev: list[Question],
    wire_lm: dspy.LM,
    reader: object,
    tmp_path: Path,
) -> None:
    from polyqa.compiling import compile as compile_by_name

    made = compile_by_name(
        "rac", recipe=RECIPES[name], train=train, dev=dev, out=tmp_path / "made", lm=wire_lm, threads=2
    )
    assert made is not None
    before, after = dump_program(rac), dump_program(made.compiled.program)
    assert before != after
    assert made.card.spent.calls > 0
    assert made.card.spent.input_tokens > 1000
    if name == "knn":
        _loads_alike_in_a_new_process(made.path, made.compiled.program, wire_lm)


def _loads_alike_in_a_new_process(path: Path, program: dspy.Module, lm: dspy.LM) -> None:
    question = "When did Titanic come out?"
    with recording(lm.copy(cache=False)) as recorder:
        prediction = program(question=question)
    child = subprocess.run(
        [sys.executable, "-c", _CHILD, str(path), lm.kwargs["api_base"], question],
        capture_output=True,
        text=True,
        check=True,
    )
    answer, prompts = json.loads(child.stdout.splitlines()[-1])
    assert answer == prediction.answer
    assert prompts == json.loads(json.dumps([call.messages for call in recorder.calls]))


def test_saved_and_loaded_programs_send_the_same_prompts(
    rac: dspy.Module, train: list[Question], dev: list[Question], wire_lm: dspy.LM, metric: AnswerMetric, tmp_path: Path
) -> None:
    from programs.state import load_program

    for name in ("gepa", "few-shot"):
        made = compile(rac, train, dev, RECIPES[name], metric=metric, lm=wire_lm, work=tmp_path / name, threads=2)
        again = polyqa.load("rac")
        load_program(again, json.loads(json.dumps(dump_program(made.program))), "test")
        prompts = []
        for program in (made.program, again):
            with recording(wire_lm) as recorder:
                program(question="Who founded Alexandria?")
            prompts.append([call.messages for call in recorder.calls])
        assert prompts[0] == prompts[1]


def test_an_unknown_setting_names_the_recipe(
    rac: dspy.Module,
    train: list[Question],
    dev: list[Question],
    embedded: dspy.LM,
    metric: AnswerMetric,
    tmp_path: Path,
) -> None:
    wrong = Recipe(name="odd", optimizer="few-shot", settings={"flavour": 3})
    with pytest.raises(polyqa.PolyqaError, match=r"odd.*flavour"):
        compile(rac, train, dev, wrong, metric=metric, lm=embedded, work=tmp_path, threads=2)
