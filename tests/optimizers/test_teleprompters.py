"""Every optimizer, end to end, over a real HTTP server: it changes the program, and the artifact survives."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import pytest
from openai_server import Server
from small_recipes import DEMOS, small

import polyqa
from polyqa.artifacts.state import dump_program
from polyqa.lm.recorder import recording
from polyqa.metrics.gold import Question
from polyqa.optimizers import Compiled, Recipe

Compile = Callable[..., Compiled]
COPRO = small("copro", "COPRO", breadth=2, depth=1)
EVERY = (
    Recipe(name="labeled-few-shot", optimizer="labels"),
    Recipe(name="knn", optimizer="labels", k=2),
    Recipe(name="knn-bootstrap", optimizer="own-runs", k=2, threshold=0.05),
    small("few-shot", "BootstrapFewShot", threshold=0.05, **DEMOS),
    small("few-shot-search", "BootstrapFewShotWithRandomSearch", threshold=0.05, num_candidate_programs=1, **DEMOS),
    COPRO,
    small(
        "mipro",
        "MIPROv2",
        threshold=0.05,
        num_candidates=2,
        num_trials=2,
        max_bootstrapped_demos=1,
        max_labeled_demos=0,
    ),
    small("simba", "SIMBA", bsize=4, num_candidates=2, max_steps=2, max_demos=1),
    small("infer-rules", "InferRules", num_candidates=2, num_rules=2),
    small("gepa", "GEPA", max_metric_calls=24, reflection_minibatch_size=2),
    Recipe(name="chain", optimizer="chain", steps=(COPRO, Recipe(name="then", optimizer="labels", k=2))),
)
RECIPES = {one.name: one for one in EVERY}
# With half of these calls GEPA finds nothing that is better on two questions.
FINDING = RECIPES | {"gepa": small("gepa", "GEPA", max_metric_calls=48, reflection_minibatch_size=2)}
_CHILD = """
import json, sys
import polyqa
from polyqa.lm.recorder import recording
program = polyqa.load(sys.argv[1])
lm = polyqa.language_model("openai/child", api_base=sys.argv[2], cache=False)
with recording(lm) as recorder:
    prediction = program(question=sys.argv[3])
print(json.dumps([prediction.answer, [call.messages for call in recorder.calls]]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_it_changes_the_program_and_the_artifact_gives_identical_prompts_elsewhere(
    name: str,
    rac: dspy.Module,
    train: list[Question],
    dev: list[Question],
    wire_lm: dspy.LM,
    server: Server,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    shown: list[Any] = []
    made = polyqa.compile(
        "rac",
        preset="paper",
        recipe=FINDING[name],
        sets=polyqa.Sets(train=train, dev=dev),
        out=tmp_path / "made",
        models=polyqa.Models(lm=wire_lm),
        budget=polyqa.Budget(threads=2, confirm=lambda expected: shown.append(expected) or True),
    )
    assert made is not None
    assert capfd.readouterr().out == ""  # standard output is the command's, not the optimizers'
    before, after = dump_program(rac), dump_program(made.compiled.program)
    assert before != after
    asked = [request for request in server.requests if f"openai/{request['model']}" == wire_lm.model]
    assert made.card.spent.calls == len(asked) > 0  # nothing is sent for the estimate
    assert shown[0].runs >= 2 * len(dev)
    assert ("--max-calls" in shown[0].not_counted) == bool(FINDING[name].searches)
    assert ("demos" in shown[0].not_counted) == (name not in ("clauses", "copro", "gepa", "infer-rules"))
    assert made.card.spent.input_tokens > 1000
    if name == "knn":
        _loads_alike_in_a_new_process(made.path, made.compiled.program, wire_lm)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in RECIPES if name not in ("labeled-few-shot", "knn")])
def test_every_optimizer_stops_at_the_limit_and_goes_on(
    name: str, rac: dspy.Module, wire_lm: dspy.LM, server: Server, compiled: Compile, tmp_path: Path
) -> None:
    def run(folder: str, most: int | None = None) -> tuple[int, str]:
        """Return how many requests arrived, and what the user is told."""
        before, told = len(server.requests), ""
        try:
            compiled(rac, RECIPES[name], folder, lm=wire_lm, most=most)
        except polyqa.PolyqaError as error:
            told = str(error)
        return len(server.requests) - before, told

    whole, told = run("whole")
    assert not told
    arrived = 0
    for share in (0.4, 0.8):
        most = int(share * whole)
        fresh, told = run("limited", most)
        arrived += fresh
        assert fresh > 0
        # Several replies that were asked for at once are not cut in two: up to four of them are not begun.
        assert most - 4 <= arrived <= most
        assert f"{arrived:,} calls of language models were made, and the limit (--max-calls) is {most:,}" in told
        assert f"are kept in {tmp_path / 'limited'}; the same command with a larger --max-calls goes on" in told
        seen = len(server.requests)
        time.sleep(0.2)
        assert len(server.requests) == seen  # nothing came after
    fresh, told = run("limited", 2 * whole)
    assert not told
    # Two threads may ask the same at once, or one that was refused may have been ahead of another.
    assert abs(arrived + fresh - whole) <= 4
    assert json.loads((tmp_path / "limited" / "calls.json").read_text()) == {"calls": arrived + fresh}


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
