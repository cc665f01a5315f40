"""What compiling by names promises before it starts, and that what it made can be loaded."""

import json
import random
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scripted_engine import scripted_lm
from two_steps import StepsEngine

import polyqa
from polyqa.artifacts.scores import read_scores
from polyqa.artifacts.state import dump_program
from polyqa.artifacts.store import read_artifact
from polyqa.base.errors import PolyqaError
from polyqa.colbert_index import SpanReaderReranker
from polyqa.compiling import _taught, expected_cost, make_plan
from polyqa.evaluation.loading import load_questions
from polyqa.language_models import shared_encoder
from polyqa.metrics.gold import Question
from polyqa.optimizers import RECIPES, Recipe
from polyqa.optimizers.compiler import drawn_demos
from polyqa.optimizers.labels import label_demos


def questions(split: str, n: int) -> list[Question]:
    return load_questions(f"homonyms/{split}")[:n]


TRAIN, DEV, TEST = questions("train", 4), questions("dev", 2), questions("test", 2)
SMALL = polyqa.Sets(train=TRAIN, dev=DEV)
WHOLE = replace(SMALL, test=TEST)
LACKING = replace(SMALL, train=[*TRAIN[1:], replace(TRAIN[0], long_answers=())])
SHORT = polyqa.Sets(*([replace(one, long_answers=()) for one in own] for own in (TRAIN, DEV)))


@pytest.fixture
def work_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a compilation goes on from stays when it is done, so that it can be read, as after a kill."""
    monkeypatch.setattr("polyqa.compiling.remove_work", lambda work: None)


def made_calls(out: Path) -> int:
    return int(json.loads((out / ".work" / "calls.json").read_text())["calls"])


def test_the_shipped_program_has_the_demos_that_its_recipe_draws() -> None:
    card = read_artifact("rac-homonyms-local").card
    program = polyqa.load(card.program, index="homonyms")
    pool = label_demos(program, load_questions(card.train.source))["clarify"]
    outputs = program.clarify.signature.output_fields
    for seed in range(5):
        shown = drawn_demos(pool, 5, random.Random(seed), outputs)
        assert sum(len(demo["interpretations"]) > 1 for demo in shown) == 4
    drawn = drawn_demos(pool, 5, random.Random(card.recipe["seed"]), outputs)
    shown = polyqa.load("rac-homonyms-local", index="homonyms").clarify.demos
    assert [demo["question"] for demo in drawn] == [demo["question"] for demo in shown]


# --- what is said beforehand holds ---------------------------------------------------------------


@pytest.mark.usefixtures("work_stays")
@pytest.mark.parametrize(
    ("program", "recipe"),
    [
        ("rac", "knn-then-bootstrap"),
        ("rac", "bootstrap-random-search"),
        ("closed-book", "knn-bootstrap"),
        ("diva", "knn"),
    ],
)
def test_the_runs_that_are_shown_are_made(program: str, recipe: str, tmp_path: Path) -> None:
    shown: list[Any] = []
    budget = polyqa.Budget(confirm=lambda expected: shown.append(expected) or True)
    assert polyqa.compile(program, recipe=recipe, sets=WHOLE, out=tmp_path / "made", budget=budget) is not None
    (expected,) = shown
    chosen = RECIPES[recipe]
    assert expected.runs == 2 * (len(DEV) + len(TEST)) + chosen.runs(len(TRAIN))
    assert "the tokens of demos" in expected.not_counted
    assert ("--max-calls" in expected.not_counted) == bool(chosen.searches)
    if not chosen.searches:
        most = sum(times * (each.most_calls or 0) for times, each in expected.parts)
        assert 0 < made_calls(tmp_path / "made") <= most


def test_a_teacher_is_paid_at_its_own_price(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")  # nothing is sent
    student, teacher = "openai/gpt-4o-mini", "openai/gpt-4o"
    shown: list[Any] = []
    for taught in (polyqa.Teacher(), polyqa.Teacher(lm=teacher)):
        polyqa.compile(
            "rac",
            recipe="knn-bootstrap",
            sets=SMALL,
            models=polyqa.Models(lm=student),
            teacher=taught,
            out=tmp_path,
            budget=polyqa.Budget(confirm=shown.append),
        )
    alone, with_teacher = shown
    assert alone.runs == with_teacher.runs
    assert [{step.lm for step in each.steps} for _, each in with_teacher.parts] == [{student}, {teacher}]
    assert [{step.lm for step in each.steps} for _, each in alone.parts] == [{student}]
    assert alone.parts[0][0] == sum(times for times, _ in with_teacher.parts)


@pytest.mark.usefixtures("work_stays")
def test_the_limit_stops_work_and_a_larger_one_continues(tmp_path: Path) -> None:
    def compile(most: int) -> Any:
        return polyqa.compile("rac", sets=WHOLE, out=tmp_path, budget=polyqa.Budget(max_calls=most))

    calls = 2 * (len(DEV) + len(TEST))  # each question takes one
    with pytest.raises(PolyqaError, match=rf"the limit \(--max-calls\) is {calls - 1}"):
        compile(calls - 1)
    assert made_calls(tmp_path) <= calls - 1
    assert compile(2 * calls) is not None
    made = made_calls(tmp_path)
    assert calls <= made <= calls + 4  # questions that were stopped between their two calls are asked again
    # What is done is counted once: it goes on under the same limit.
    (tmp_path / "card.json").unlink()
    assert compile(made) is not None
    assert made_calls(tmp_path) == made


def test_nothing_of_the_work_is_left_when_it_is_done(tmp_path: Path) -> None:
    out = tmp_path / "made"
    with pytest.raises(PolyqaError, match="the limit"):
        polyqa.compile("rac", sets=SMALL, out=out, budget=polyqa.Budget(max_calls=1))
    assert (out / ".work" / "calls.json").exists()
    (out / ".work-done").mkdir()  # of a process that was killed while it removed its own
    assert polyqa.compile("rac", sets=SMALL, out=out) is not None
    assert not [path.name for path in out.iterdir() if path.name.startswith(".")]
    assert polyqa.load(out) is not None


# --- what cannot end well does not begin ---------------------------------------------------------


def recipe(name: str, *predictors: str) -> Recipe:
    return RECIPES[name].with_options(predictors=predictors)


@pytest.mark.parametrize(
    ("program", "given", "told"),
    [
        ("rac-homonyms-local", {}, r"rac-homonyms-local is compiled already, .* Compile 'rac' again"),
        ("oracle", {}, "Unknown program 'oracle'; there are auto"),
        ("rac", {"out": Path(__file__) / "made"}, "test_compiling.py is a file, and .*made is to be a folder"),
        ("rac", {"demos": "mine.json"}, "compile takes no demos"),
        ("self-rag", {"weights": (1.0, 1.0, 0.5)}, "setting weights=.* cannot be kept"),
        ("rac", {"passages": 900}, "cannot be made"),
        ("rac", {"depth": 2}, "rac has no setting 'depth'; its settings: passages"),
        ("rac", {"recipe": "magic"}, "There is no recipe 'magic'; there are labeled-few-shot, knn"),
        ("rac", {"recipe": recipe("knn", "nonsense")}, "names the predictor 'nonsense'; RAC has clarify"),
        ("rac", {"sets": replace(SMALL, train=[])}, "one of the sets is empty"),
        ("rac", {"sets": replace(SMALL, dev=SHORT.dev)}, r"2 of 2 questions of dev have no reference .*disambig_f1"),
        ("rac", {"sets": replace(SMALL, test=[replace(TEST[0], long_answers=())])}, "1 of 1 questions of test"),
        ("rac", {"recipe": "bootstrap-few-shot", "sets": LACKING}, "1 of 4 questions of train"),
        ("rac", {"models": polyqa.Models(lm="gpt-4o")}, "write provider/model, such as openai/gpt-4o"),
    ],
)
def test_it_is_refused_before_the_first_call(program: str, given: dict[str, Any], told: str, tmp_path: Path) -> None:
    engine = StepsEngine()
    defaults = {"sets": SMALL, "out": tmp_path / "made", "models": polyqa.Models(scripted_lm(engine))}
    with pytest.raises(PolyqaError, match=told):
        polyqa.compile(program, **{**defaults, **given})
    assert not engine.seen
    assert not engine.written
    assert not (tmp_path / "made").exists()


def test_short_answers_are_enough_for_the_measure_that_needs_no_more(tmp_path: Path) -> None:
    every = RECIPES["knn-bootstrap"].with_options(threshold=0.0)
    made = polyqa.compile("rac", recipe=every, measure="disambig_f1", out=tmp_path / "made", sets=SHORT)
    assert made.card.dev_gain.metric == "disambig_f1"
    # Labels are not scored, so train may lack long answers where dev does not; sentences of passages stand for them.
    sets = replace(SHORT, dev=DEV)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert polyqa.compile("rac", out=tmp_path / "labels", sets=sets).compiled.program.clarify.demos
    # Nothing stands for what is told from memory.
    with pytest.warns(UserWarning, match=r"The labels give the program no demos.* long answers"):
        polyqa.compile("closed-book", out=tmp_path / "recalled", sets=sets)


# --- what was made can be loaded -----------------------------------------------------------------


def test_the_reranker_is_kept_and_the_artifact_does_what_was_compiled(tmp_path: Path) -> None:
    out, sets = tmp_path / "made", polyqa.Sets(train=TRAIN[:2], dev=DEV[:1])
    made = polyqa.compile("rac", reranker="reader", passages=3, sets=sets, out=out)
    card = json.loads((out / "card.json").read_text())
    assert (card["reranker"], card["settings"]) == ("reader", {"passages": 3, "preset": "lean"})
    assert "passages=3, preset=lean, reranker=reader" in (out / "README.md").read_text()
    loaded = polyqa.load(out)
    assert isinstance(loaded.reranker, SpanReaderReranker)
    assert dump_program(loaded) == dump_program(made.compiled.program)
    question = "When did Titanic come out?"
    found = [[one.pid for one in program.retrieve(question)] for program in (loaded, made.compiled.program)]
    assert found[0] == found[1]
    plain = polyqa.compile("closed-book", recipe="labeled-few-shot", reranker="reader", sets=sets, out=tmp_path / "x")
    assert plain.card.reranker is None  # it retrieves nothing


def test_a_program_made_where_one_stands_has_the_name_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sets = polyqa.Sets(train=TRAIN[:1], dev=DEV[:1])
    made = polyqa.compile("closed-book", recipe="labeled-few-shot", sets=sets, out=".")
    assert (made.card.name, read_artifact(".").card.name) == (tmp_path.name, tmp_path.name)


def test_an_encoder_may_be_given_in_place_of_its_name(tmp_path: Path) -> None:
    encoder = shared_encoder()
    made = polyqa.compile("rac", recipe="knn", sets=SMALL, out=tmp_path / "made", encoder=encoder)
    assert made is not None
    assert made.card.encoder == encoder.name


def test_the_card_tells_the_options_that_the_steps_had(tmp_path: Path) -> None:
    out = tmp_path / "made"
    chain = RECIPES["knn-then-bootstrap"].with_options(threshold=0.1, predictors=["write"])
    polyqa.compile("rac", preset="paper", recipe=chain, sets=SMALL, out=out, budget=polyqa.Budget(seed=3))
    card = read_artifact(out).card
    steps = card.recipe["steps"]
    assert [step["predictors"] for step in steps] == [["write"], ["write"]]
    assert steps[1]["threshold"] == card.threshold == 0.1
    state = dump_program(polyqa.load(out))
    assert state["extract"]["demos"] == []
    assert state["write"]["demos"]
    assert card.recipe["seed"] == 3
    assert RECIPES[chain.name].threshold == 0.5


def test_a_teacher_is_not_asked_at_the_address_of_the_program(small: dict[str, Path]) -> None:
    settings = polyqa.LMSettings(more={"seed": 3})
    models = polyqa.Models(lm="openai/small", api_base="http://127.0.0.1:1/v1", settings=settings)
    plan = make_plan("knn-bootstrap", polyqa.Sets(train=small["train"], dev=small["dev"]), models)
    teacher = polyqa.Teacher(lm="openai/large@http://127.0.0.1:2/v1")
    asked = _taught(plan, polyqa.load("rac"), teacher, models, {}).teacher_lm
    assert (asked.model, asked.kwargs["api_base"]) == ("openai/large", "http://127.0.0.1:2/v1")
    assert "seed" not in asked.kwargs


def test_a_question_that_is_too_long_to_be_asked_does_not_keep_the_cost_from_being_told() -> None:
    long = [replace(one, question=f"{one.question} {'really ' * 300}?") for one in TRAIN]
    plan = make_plan("labeled-few-shot", replace(SMALL, train=long))
    assert expected_cost(polyqa.load("rac"), plan).runs == 2 * len(DEV)


def test_long_names_and_ids_and_the_threshold_of_a_step_are_kept(tmp_path: Path) -> None:
    train = polyqa.Questions([replace(TRAIN[0], id="x" * 600)], name="folder/" * 100)
    dev = [replace(DEV[0], id="y" * 600)]
    step = Recipe(name="own", optimizer="own-runs", threshold=0.125)
    chain = Recipe(name="chained", optimizer="chain", steps=(step,))
    made = polyqa.compile("rac", recipe=chain, sets=polyqa.Sets(train=train, dev=dev), out=tmp_path / "made")
    card = read_artifact(tmp_path / "made").card
    assert card.train.source == ("folder/" * 100)[:500]
    assert card.threshold == 0.125
    assert "a run becomes a demo from 0.125 on" in (made.path / "README.md").read_text()
    assert read_scores(read_artifact(tmp_path / "made")).dev.ids == ["y" * 600]
