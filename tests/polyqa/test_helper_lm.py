"""A second language model runs the calls whose replies are not told, and stays with its predictors."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import dspy
import pytest
from dspy.lm15 import Request, Response
from openai_server import serve
from scripted_engine import prompt_of

import polyqa
from polyqa.artifacts.state import dump_program, load_program
from polyqa.base.errors import PolyqaError
from polyqa.compiling import Budget
from polyqa.evaluation.loading import load_questions
from polyqa.extractive import ExtractiveEngine
from polyqa.lm.assigned import describe_lms, give_helper, helping_predictors, own_lms
from polyqa.optimizers import Recipe
from polyqa.programs.registry import REGISTRY

KEY = "sk-helper-secret"
TITANIC = "When did Titanic come out?"
WITHOUT = {"closed-book", "rac", "query-refinement", "madam-rag"}
NAMES = [name for name in REGISTRY if "questions" not in REGISTRY[name].needs]
SETS = polyqa.Sets(train=load_questions("homonyms/train")[:2], dev=load_questions("homonyms/dev")[:2])


def keyless(folder: Path) -> bool:
    """Return whether no file of a folder, of which there are some, has the key."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return bool(files) and not any(KEY.encode() in path.read_bytes() for path in files)


class Watching(ExtractiveEngine):
    """Notes the fields that it is asked for, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.fields: set[str] = set()

    def complete(self, request: Request) -> Response:
        self.fields.update(prompt_of(request).output_fields)
        return super().complete(request)


@pytest.fixture
def helper() -> Iterator[tuple[dspy.LM, Watching]]:
    """A language model on a server of its own, and what answers there."""
    engine = Watching()
    with serve(engine) as server:
        name = f"openai/{uuid.uuid4().hex}"
        yield polyqa.language_model(name, api_base=server.base, api_key=KEY, cache=False), engine


@pytest.mark.parametrize("name", NAMES)
def test_only_the_deciding_calls_are_the_helpers(name: str) -> None:
    program = polyqa.load(name)
    helping = helping_predictors(program)
    assert bool(helping) == (name not in WITHOUT)
    told = {"answer", "interpretations", "interpretation", "short_answer", "segment", "refinements"}
    for call, predictor in program.named_predictors():
        assert call not in helping or not told & predictor.signature.output_fields.keys()


def test_the_helper_is_asked_what_it_may_be_asked(helper: tuple[dspy.LM, Watching]) -> None:
    program, (lm, engine) = polyqa.load("diva"), helper
    give_helper(program, lm)
    assert own_lms(program) == dict.fromkeys(helping_predictors(program), lm)
    result = polyqa.ask(TITANIC, program=program)
    assert result.helper_lm == result.to_dict()["helper_lm"] == lm.model
    assert engine.fields == {"ambiguity_types", "reason", "pseudo_interpretations", "answered"}
    with pytest.raises(PolyqaError, match="has no call that a helper could make"):
        give_helper(polyqa.load("rac"), lm)


def test_by_name_at_an_address() -> None:
    with serve(ExtractiveEngine()) as server:
        models = polyqa.Models(helper_lm=f"openai/guide@{server.base}")
        program = polyqa.load("diva", helper_lm=models.helping())
    assert {name: own["lm"] for name, own in describe_lms(program).items()} == dict.fromkeys(
        ["classify", "infer", "verify"], "openai/guide"
    )


def test_a_program_that_is_made_takes_no_helper_in_ask() -> None:
    with pytest.raises(PolyqaError, match="The program is made already: helper_lm cannot be given"):
        polyqa.ask(TITANIC, program=polyqa.load("diva"), helper_lm="openai/x")


def test_it_is_a_part_of_what_a_run_is(helper: tuple[dspy.LM, Watching], tmp_path: Path) -> None:
    two = load_questions("homonyms/dev", limit=2)
    plain, helped = polyqa.Models(judge=None), polyqa.Models(helper_lm=helper[0], judge=None)
    run = polyqa.evaluate("diva", two, models=helped, folder=tmp_path / "run")
    settings = json.loads((tmp_path / "run" / "run.json").read_text())
    assert settings["own_lms"]["verify"] == {"lm": helper[0].model, "max_tokens": 1000, "temperature": 0.3}
    assert "127.0.0.1" not in json.dumps(settings)
    program = polyqa.load("diva")
    again = polyqa.evaluate(program, two, models=helped, folder=tmp_path / "made")
    assert [one.answer for one in again.records] == [one.answer for one in run.records]
    assert own_lms(program) == {}, "a program that is given is not changed"
    with pytest.raises(PolyqaError, match="holds another run: own_lms was"):
        polyqa.evaluate("diva", two, models=plain, folder=tmp_path / "run")
    assert keyless(tmp_path)


def test_no_file_brings_a_language_model_or_takes_it_away(helper: tuple[dspy.LM, Watching], tmp_path: Path) -> None:
    program, bare = polyqa.load("diva", helper_lm=helper[0]), polyqa.load("diva")
    assert dump_program(program) == dump_program(bare)
    program.save(tmp_path / "saved.json")
    load_program(bare, json.loads((tmp_path / "saved.json").read_text()), "saved")
    assert own_lms(bare) == {}
    assert keyless(tmp_path)
    load_program(program, dump_program(bare), "bare")
    assert set(own_lms(program)) == {"classify", "infer", "verify"}


def test_compiling_keeps_it(helper: tuple[dspy.LM, Watching], tmp_path: Path) -> None:
    """Each verification of each candidate is the helper's, though DSPy's copies have no language model."""
    lm, helping = helper
    few = {"num_candidate_programs": 1, "max_bootstrapped_demos": 1, "max_labeled_demos": 1}
    recipe = Recipe(name="search", optimizer="BootstrapFewShotWithRandomSearch", settings=few)
    engine = Watching()
    with serve(engine) as answering:
        made = polyqa.compile(
            "diva",
            recipe=recipe,
            sets=SETS,
            out=tmp_path / "made",
            models=polyqa.Models(
                polyqa.language_model(f"openai/{uuid.uuid4().hex}", api_base=answering.base), helper_lm=lm
            ),
            budget=Budget(threads=2),
        )
    assert set(own_lms(made.compiled.program)) == {"classify", "infer", "verify"}
    assert helping.fields == {"ambiguity_types", "reason", "pseudo_interpretations", "answered"}
    assert engine.fields == {"answer", "interpretations"}
    card = json.loads((made.path / "card.json").read_text())
    assert (card["helper_lm"], card["lm_settings"]["temperature"]) == (lm.model, 0.3)
    assert own_lms(polyqa.load(made.path)) == {}, "a card makes nobody ask a model"
    assert keyless(made.path)


def test_a_recipe_that_swaps_the_language_model_is_refused(helper: tuple[dspy.LM, Watching], tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match=r"'simba' works with one language model only.*--predictors clarify,"):
        polyqa.compile(
            "diva",
            recipe=Recipe(name="simba", optimizer="SIMBA", settings={"bsize": 2}),
            sets=SETS,
            out=tmp_path / "made",
            models=polyqa.Models(helper[0], helper_lm=helper[0]),
        )
