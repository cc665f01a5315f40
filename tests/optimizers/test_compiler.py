import json
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import killed_compiles
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polyqa
from polyqa.artifacts.state import dump_program
from polyqa.metrics.gold import Question, Reading
from polyqa.optimizers import Compiled, Recipe, recipe
from polyqa.optimizers.compiler import drawn_demos
from polyqa.optimizers.plan import check_disjoint, check_writer

Compile = Callable[..., Compiled]
FEW = recipe("labeled-few-shot").model_copy(update={"shown": 2})


def test_compiling_leaves_the_student_as_it_was_and_scores_both(
    rac: dspy.Module, dev: list[Question], compiled: Compile
) -> None:
    bare = dump_program(rac)
    made = compiled(rac, "knn")
    assert dump_program(rac) == bare
    assert [len(predictor.demos) for _, predictor in made.program.named_predictors()] == [6, 6]
    assert [record.id for record in made.before.records] == [question.id for question in dev]
    assert made.comparison.headline == "dr"
    assert made.comparison.n == len(dev)
    first, last = made.trials  # nothing was searched
    assert (first.label, last.label, last.demos) == ("as it was", "compiled", {"extract": 6, "write": 6})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["knn", "knn-bootstrap"])
def test_demos_come_from_train_only_and_hold_the_fields_of_their_predictor(
    name: str, diva: dspy.Module, train: list[Question], dev: list[Question], compiled: Compile
) -> None:
    dev = dev[:1]
    made = compiled(diva, recipe(name).model_copy(update={"threshold": 0.2}), trainset=train[:4], devset=dev)
    asked, known = ({question.question for question in questions} for questions in (dev, train))
    predictors = dict(made.program.named_predictors())
    for predictor_name, predictor in predictors.items():
        for demo in predictor.demos:
            assert set(dict(demo)) <= set(predictor.signature.fields)
            assert demo["question"] not in asked
            if predictor_name in ("extract", "write", "classify", "infer"):
                assert demo["question"] in known
    filled = {name for name, predictor in predictors.items() if predictor.demos}
    assert {"extract", "write", "classify", "infer"} <= filled
    assert "verify" not in filled or recipe(name).optimizer not in ("labels", "own-runs")


def test_the_same_seed_gives_the_same_program(rac: dspy.Module, compiled: Compile) -> None:
    states = [dump_program(compiled(rac, FEW, str(run), seed=seed).program) for run, seed in enumerate((1, 1, 2))]
    assert states[0] == states[1] != states[2]


@given(
    kinds=st.lists(st.integers(1, 4), max_size=30),
    shown=st.integers(1, 10),
    seed=st.integers(0, 9),
)
def test_four_of_five_drawn_demos_have_several_readings(kinds: list[int], shown: int, seed: int) -> None:
    pool = [
        {"passages": ["", ""], "question": str(number), "interpretations": [{}] * kind}
        for number, kind in enumerate(kinds)
    ]
    drawn = drawn_demos(pool, shown, random.Random(seed), ["interpretations", "answer"])
    assert len({demo["question"] for demo in drawn}) == len(drawn) == min(shown, len(pool))
    plain, plain_drawn = (sum(len(demo["interpretations"]) == 1 for demo in demos) for demos in (pool, drawn))
    least = shown - (len(pool) - plain)
    assert plain_drawn == (min(max(shown // 5, least), plain) if len(pool) > shown else plain)


def test_demos_without_readings_are_drawn_as_they_come() -> None:
    pool = [{"question": str(number), "supported": "Yes"} for number in range(9)]
    draws = {
        tuple(demo["question"] for demo in drawn_demos(pool, 5, random.Random(seed), ["supported"]))
        for seed in range(20)
    }
    assert len(draws) == 20


def test_sets_that_share_a_question_are_refused(
    rac: dspy.Module, train: list[Question], dev: list[Question], compiled: Compile
) -> None:
    with pytest.raises(polyqa.PolyqaError, match="share a question"):
        compiled(rac, "knn", devset=[*dev, train[0]])
    asked = Question("new", train[0].question.upper() + "!", (Reading("?", ("x",)),))
    with pytest.raises(polyqa.PolyqaError, match="same question"):
        check_disjoint({"train": train, "test": [asked]})
    with pytest.raises(polyqa.PolyqaError, match=rf"twice, .*{train[0].question[:20]}.*; leave one out"):
        check_disjoint({"train": [train[0], train[0]]})
    check_disjoint({"train": train, "dev": dev})
    rows = [Question("1", text, (Reading("?", ("x",)),)) for text in ("Who won?", "Who lost?")]
    check_disjoint({"train": rows[:1], "dev": rows[1:]})  # the numbers of rows are no ids
    drawn = [replace(row, id="153") for row in rows]  # of 200 rows
    check_disjoint({"train": drawn[:1], "dev": drawn[1:]})
    signs = [replace(rows[0], id=text, question=text) for text in ("What is C++?", "What is C#?", "What is 3-1?")]
    check_disjoint({"train": signs[:1], "dev": signs[1:2], "test": signs[2:]})
    for text in ("泰坦尼克号何时沉没？", "متى غرقت تايتانيك؟"):
        asked, again = replace(rows[0], id="a", question=text), replace(rows[0], id="b", question=text[:-1])
        with pytest.raises(polyqa.PolyqaError, match="same question"):
            check_disjoint({"train": [asked], "dev": [again]})


@pytest.mark.parametrize("name", ["copro", "miprov2", "simba", "infer-rules", "gepa", "gepa-then-knn"])
def test_instructions_need_a_model_that_writes(name: str, rac: dspy.Module, compiled: Compile) -> None:
    told = (
        r"^.*polyqa/extractive cannot write\. Name a language model \(--prompt-lm local\), or take another recipe: "
        r"labeled-few-shot, .* or knn-then-bootstrap\.$"
    )
    with pytest.raises(polyqa.PolyqaError, match=told):
        compiled(rac, name)
    for writer in ("openai/gpt-4o", "local/smollm2-135m"):
        check_writer(recipe(name), writer)


def test_only_the_named_predictors_get_demos(rac: dspy.Module, compiled: Compile) -> None:
    made = compiled(rac, Recipe(name="only", optimizer="labels", k=1, predictors=("write",)))
    demos = {name: len(predictor.demos) for name, predictor in made.program.named_predictors()}
    assert demos == {"extract": 0, "write": 6}


def test_verification_gets_demos_of_runs_only_where_the_recipe_says_so(
    diva: dspy.Module, train: list[Question], dev: list[Question], compiled: Compile
) -> None:
    sets = {"trainset": train[:2], "devset": dev[:1]}
    filled = []
    for predictors in ((), ("verify",)):
        runs = Recipe(
            name="-".join(("runs", *predictors)), optimizer="own-runs", k=1, threshold=0, predictors=predictors
        )
        made = compiled(diva, runs, runs.name, **sets).program
        filled.append({name for name, predictor in made.named_predictors() if predictor.demos})
    shown = {"classify", "infer", "recall"}  # the paper's preset shows worked examples there
    assert filled == [{"extract", "write", *shown}, {"verify", *shown}]


# --- a stopped compilation -----------------------------------------------------------------------


def test_a_folder_of_another_compilation_is_refused(
    train: list[Question], dev: list[Question], embedded: dspy.LM, compiled: Compile
) -> None:
    program = polyqa.load("closed-book")
    few: dict[str, Any] = {"trainset": train[:2], "devset": dev[:1]}
    compiled(program, FEW, **few)
    assert compiled(program, FEW, **few).before.records, "the same goes on"
    with pytest.raises(polyqa.PolyqaError, match=r"of another compilation: .*program\.class was ClosedBook, is RAC"):
        compiled(polyqa.load("rac"), FEW, **few)
    for change, told in (
        ({"seed": 1}, r"seed was 0, is 1\. Remove it"),
        ({"trainset": train[:1]}, "train was"),
        ({"devset": dev[1:2]}, "dev was"),
        ({"recipe": recipe("labeled-few-shot")}, "step 1 was {'optimizer': 'labels', 'shown': 2}, is "),
        ({"recipe": recipe("knn")}, "recipe was labeled-few-shot, is knn; step 1 was {'optimizer': 'labels',"),
        ({"lm": embedded.copy(model="polyqa/other")}, "lm was polyqa/extractive, is polyqa/other"),
    ):
        with pytest.raises(polyqa.PolyqaError, match=f"of another compilation: {told}"):
            compiled(program, FEW, **{**few, **change})


@pytest.mark.slow
def test_a_killed_compilation_goes_on_and_ends_alike(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, killed_compiles.__file__, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    whole, *killed, last = json.loads(done.stdout)
    assert [run["calls"] for run in killed] == [9, 7]
    assert last["program"] == whole["program"]
    # Two were under way when the kill came.
    assert whole["calls"] <= sum(run["calls"] for run in (*killed, last)) <= whole["calls"] + 2 * len(killed)
