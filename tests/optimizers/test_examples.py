"""A module, examples, a recipe's name and a metric function of a DSPy user are enough to compile."""

import datetime
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dspy
import numpy as np
import pytest
from pydantic import BaseModel
from scripted_engine import ScriptedEngine, scripted_lm
from two_steps import OneStep

import polyqa
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage, render_passages
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.runs import Run
from polyqa.metrics.gold import Question, Reading
from polyqa.metrics.optimizing import AnswerMetric
from polyqa.models import Reader
from polyqa.optimizers import Plan, Recipe, calls, compile, compiler, recipe
from polyqa.optimizers.examples import PlainMetric, as_question
from polyqa.optimizers.teleprompters import run_teleprompter
from polyqa.signatures import ClarifyQuestion

NAMES = ("Alba", "Brno", "Cork", "Delf")
EXAMPLES = [
    dspy.Example(question=f"What colour is {name}?", answer=f"{name} is blue").with_inputs("question") for name in NAMES
]


def reply(prompt: Any) -> dict[str, object]:
    return {"answer": prompt.question.removeprefix("What colour is ").rstrip("?") + " is blue"}


def always(gold: Any, pred: Any, trace: Any = None) -> float:
    return 1.0


def planned(
    chosen: str | Recipe,
    dev: int = 1,
    tell: Callable[[Any], Any] = reply,
    metric: Callable[..., Any] = always,
    **more: Any,
) -> Plan:
    """Return a plan for the user's own examples, with so many questions of dev."""
    asked = [dspy.Example(question=f"What colour is {n}?", answer=f"{n} is blue") for n in range(dev)]
    given = {"lm": scripted_lm(ScriptedEngine(tell)), "threads": 1, **more}
    return Plan.of(EXAMPLES[:3], [one.with_inputs("question") for one in asked], metric, recipe=chosen, **given)


@pytest.mark.parametrize("name", ["labeled-few-shot", "bootstrap-few-shot", "bootstrap-random-search"])
def test_everything_is_the_users_own(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[dspy.Example] = []

    def metric(gold: dspy.Example, pred: dspy.Prediction, trace: object = None) -> float:
        seen.append(gold)
        return float(pred.answer == gold.answer)

    with dspy.context(lm=scripted_lm(ScriptedEngine(reply))):
        plan = Plan.of(EXAMPLES[:3], EXAMPLES[3:], metric, recipe=name, threads=1)
    compiled = compile(OneStep(), plan, tmp_path / "work")
    assert {demo["question"] for demo in compiled.program.answer.demos} <= {one.question for one in EXAMPLES[:3]}
    # The search keeps the first of the best: without demos every answer is right already.
    assert bool(compiled.program.answer.demos) == (name != "bootstrap-random-search")
    assert seen
    assert all(one in EXAMPLES for one in seen)
    assert "discouraged" not in capsys.readouterr().err  # DSPy's word for what touches `forward`


@pytest.mark.parametrize("make", [Plan, Plan.of], ids=["Plan", "Plan.of"])
@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"trainset": ["What?"]}, r"train-0 is a str; give dspy.Examples or Questions"),
        ({"trainset": [dspy.Example(text="x")]}, r"train-0 has no question; it has text"),
        ({"devset": [dspy.Example(question="Who?", label=1)]}, r"dev-0 has no answer .*; it has question"),
        ({"metric": 3}, "not a int"),
        ({"recipe": "magic"}, "There is no recipe 'magic'"),
    ],
)
def test_what_cannot_be_used_is_refused_before_any_call(
    changed: dict[str, Any], told: str, make: Callable[..., Plan], reader: Reader
) -> None:
    engine = ScriptedEngine(reply)
    usual = {"trainset": EXAMPLES[:3], "devset": EXAMPLES[3:], "metric": AnswerMetric(reader), "recipe": "knn"}
    with pytest.raises(PolyqaError, match=told) as error:
        make(**{"lm": scripted_lm(engine), **usual, **changed})
    assert "\n" not in str(error.value)
    assert not engine.seen


def test_a_plan_needs_a_metric_of_an_answer_and_a_language_model(reader: Reader) -> None:
    lm = scripted_lm(ScriptedEngine(reply))
    with pytest.raises(PolyqaError, match=r"cannot be called as metric\(gold, pred, trace\)"):
        Plan.of(EXAMPLES[:3], EXAMPLES[3:], lambda gold, pred: 1.0, lm=lm)
    with pytest.raises(PolyqaError, match="No language model is given"):
        Plan.of(EXAMPLES[:3], EXAMPLES[3:], AnswerMetric(reader))


def test_an_artifact_is_made_of_a_name(tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match=r"takes names only. Compile a OneStep with polyqa.optimizers.compile"):
        polyqa.compile(OneStep(), out=tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_gold_questions_and_their_examples_are_taken_as_they_are(reader: Reader) -> None:
    questions = polyqa.Questions("homonyms/dev", limit=2).asked
    lm, metric = scripted_lm(ScriptedEngine(reply)), AnswerMetric(reader)
    for make, name in ((Plan, "knn"), (Plan.of, recipe("knn"))):
        plan = make(trainset=questions[:1], devset=[questions[1].to_example()], metric=metric, recipe=name, lm=lm)
        assert (plan.trainset, plan.devset, plan.recipe) == (questions[:1], questions[1:], recipe("knn"))


def test_another_metric_asks_nothing_again_and_scores_anew(tmp_path: Path) -> None:
    engine = ScriptedEngine(reply)
    means = []
    for metric in (always, lambda gold, pred, trace=None: 0.5):
        plan = planned("bootstrap-few-shot", lm=scripted_lm(engine), metric=metric)
        made = compile(OneStep(), plan, tmp_path / "work")
        means.append((made.before.summarized()["metric"].value, made.after.summarized()["metric"].value))
    assert means == [(100, 100), (50, 50)]
    assert len(engine.seen) == len(made.after.records) + len(EXAMPLES[:3]) + 1


def test_another_temperature_of_what_writes_is_another_compilation(tmp_path: Path) -> None:
    for temperature, told in ((0.0, None), (0.0, None), (1.0, "prompt_lm")):
        plan = planned("labeled-few-shot", prompt_lm=dspy.LM("openai/writer", temperature=temperature))
        with pytest.raises(PolyqaError, match=f"another compilation: {told}") if told else nullcontext():
            compile(OneStep(), plan, tmp_path / "work")


def test_labels_that_fill_nothing_are_told(tmp_path: Path) -> None:
    class Own(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.clarify = dspy.Predict(ClarifyQuestion)

        def forward(self, question: str) -> dspy.Prediction:
            return self.clarify(question=question, passages=render_passages([]))

    class Retrieving(Own):
        def retrieve(self, question: str) -> list[Passage]:
            return polyqa.open_index("homonyms").search(question, 5)

    train, dev = load_questions("homonyms/train", limit=3), load_questions("homonyms/dev", limit=1)
    for kind, demos in ((Own, 0), (Retrieving, 3)):
        plan = Plan.of(train, dev, always, recipe="labeled-few-shot", lm=polyqa.embedded_lm())
        with nullcontext() if demos else pytest.warns(UserWarning, match=r"no demos.*retrieve\(question\)"):
            made = compile(kind(), plan, tmp_path / kind.__name__)
        assert [len(one.demos) for one in made.program.predictors()] == [demos]


@pytest.mark.parametrize("optimizer", ["own-runs", "BootstrapFewShot"])
def test_runs_of_which_none_is_good_are_told(optimizer: Any, tmp_path: Path) -> None:
    own = Recipe(name="own", optimizer=optimizer)
    plan = planned(own, tell=lambda prompt: {"answer": "green"}, metric=lambda gold, pred, trace=None: 0.0)
    with pytest.warns(UserWarning, match=r"^None of the 3 runs .* nothing: one scores 0\.5 or more"):
        made = compile(OneStep(), plan, tmp_path / "work")
    assert not made.program.answer.demos


def test_labels_that_fill_nothing_are_told_of_a_program_that_retrieves_in_its_own_way(tmp_path: Path) -> None:
    class Own(OneStep):
        def __init__(self) -> None:
            super().__init__()
            self.retrieve = dspy.Retrieve(k=1)
            self.answer = dspy.ChainOfThought("question -> answer")

    for name in ("labeled-few-shot", "infer-rules"):
        plan = planned(name, tell=lambda prompt: {"reasoning": "So.", **reply(prompt)})
        with pytest.warns(UserWarning, match="The labels give the program no demos"):
            made = compile(Own(), plan, tmp_path / name)
        assert len(made.trials) == 2, "nothing was tried"


@pytest.mark.parametrize("value", [55, -0.1, float("nan")])
def test_a_metric_gives_a_share(value: float, reader: Reader) -> None:
    metric = PlainMetric(lambda gold, pred, trace=None: value, {}, reader)
    with pytest.raises(PolyqaError, match=r"from 0 to 1; .* gave"):
        metric(EXAMPLES[0].copy(gold=as_question(EXAMPLES[0], "0")), dspy.Prediction(answer="x"))


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"answer": 1997}, ("1997",)),
        ({"answer": 1997.0}, ("1997",)),  # as pandas has figures of a column with gaps
        ({"answers": [1997, "97"]}, ("1997", "97")),
        ({"answers": np.array(["a", "b"])}, ("a", "b")),
        ({"answers": [], "answer": "a"}, ("a",)),
        ({"answer": True}, ("yes",)),
        ({"answer": "[a] b"}, ("[a] b",)),
    ],
)
def test_answers_are_texts_or_figures(given: dict[str, Any], read: tuple[str, ...]) -> None:
    assert as_question(dspy.Example(question="When?", **given), "0").answers == [read]


@pytest.mark.parametrize("nothing", [float("nan"), None, [], np.array([])])
def test_an_example_without_an_answer_is_told(nothing: Any) -> None:
    with pytest.raises(PolyqaError, match="0 has no answer to score against"):
        as_question(dspy.Example(question="When?", answer=nothing), "0")


def test_gold_is_that_of_the_set_even_if_ids_are_numbers_of_rows(reader: Reader) -> None:
    def numbered(names: str) -> list[dspy.Example]:
        rows = [Question(f"{at}", f"Who is {name}?", (Reading("", (name,)),)) for at, name in enumerate(names, 1)]
        return [row.to_example() for row in rows]

    train, dev, seen = numbered("abc"), numbered("xyz"), list[str]()
    plan = Plan.of(
        train, dev, lambda gold, pred, trace=None: seen.append(gold.question) or 1.0, lm=polyqa.embedded_lm()
    )
    for question in (*plan.trainset, *plan.devset):
        plan.metric(question.to_example(), dspy.Prediction(answer=""))
    assert seen == [one.question for one in (*train, *dev)]


@pytest.mark.parametrize("name", ["bootstrap-few-shot", "bootstrap-random-search"])
@pytest.mark.parametrize(
    ("metric", "told"),
    [
        (lambda gold, pred, trace=None: pred.colour, r"failed on every answer: AttributeError.*colour"),
        # in per cent, though some answers get nothing
        (lambda gold, pred, trace=None: 0.0 if "Alba" in gold.question else 90.0, r"from 0 to 1; .* gave 90"),
    ],
)
def test_a_metric_of_no_use_ends_the_compilation(
    name: str, metric: Callable[..., float], told: str, tmp_path: Path
) -> None:
    with pytest.raises(PolyqaError, match=told):
        compile(OneStep(), planned(name, metric=metric), tmp_path / "work")


def test_gepa_hears_the_users_own_feedback(reader: Reader) -> None:
    def judged(gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None) -> Any:
        return dspy.Prediction(score=0.5, feedback=f"Say the year in {pred_name}.")

    gold = EXAMPLES[0].copy(gold=as_question(EXAMPLES[0], "0"))
    told = PlainMetric(judged, {}, reader).with_feedback(gold, dspy.Prediction(answer="x"), None, "answer", None)
    assert (told.score, told.feedback) == (0.5, "Say the year in answer.")
    told = PlainMetric(lambda gold, pred, trace: 0.25, {}, reader).with_feedback(gold, dspy.Prediction(answer="x"))
    assert (told.score, told.feedback) == (0.25, "The metric gives this answer 0.25.")


def test_gepa_keeps_its_candidates_also_where_its_settings_say_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    class Noting(dspy.GEPA):
        def __init__(self, **settings: Any) -> None:
            given.update(settings)

        def compile(self, student: dspy.Module, *, trainset: Any, valset: Any) -> dspy.Module:
            return student

    monkeypatch.setattr(dspy, "GEPA", Noting)
    settings = {"auto": "light", "track_stats": False, "gepa_kwargs": None}
    run_teleprompter(OneStep(), planned(Recipe(name="own", optimizer="GEPA", settings=settings)))
    assert (given["track_stats"], given["gepa_kwargs"]) == (True, {"callbacks": []})


def test_mipro_takes_no_minibatches_of_more_questions_than_dev_has(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    class Noting(dspy.MIPROv2):
        def __init__(self, **settings: Any) -> None:
            pass

        def compile(self, student: dspy.Module, *, trainset: Any, valset: Any, minibatch: bool = True) -> dspy.Module:
            given["minibatch"] = minibatch
            return student

    monkeypatch.setattr(dspy, "MIPROv2", Noting)
    settings = {"num_candidates": 2, "num_trials": 2, "minibatch": True}
    run_teleprompter(OneStep(), planned(Recipe(name="own", optimizer="MIPROv2", settings=settings)))
    assert given == {"minibatch": False}


def test_demos_of_any_type_are_saved(tmp_path: Path) -> None:
    class Dated(dspy.Signature):
        question: str = dspy.InputField()
        answer: str = dspy.OutputField()
        when: datetime.date = dspy.OutputField()

    class Own(OneStep):
        def __init__(self) -> None:
            super().__init__()
            self.answer = dspy.Predict(Dated)

    def told(prompt: Any) -> dict[str, object]:
        return {**reply(prompt), "when": "2026-11-29"}

    made = compile(Own(), planned("bootstrap-few-shot", tell=told), tmp_path / "work")
    assert {demo["when"] for demo in made.program.answer.demos} == {"2026-11-29"}


def test_a_program_without_readings_is_not_compiled_by_readings_alone(reader: Reader, tmp_path: Path) -> None:
    by_readings = AnswerMetric(reader, measure="f1_answer")
    with pytest.raises(PolyqaError, match=r"gave no readings .* Take the measure disambig_f1, or a metric of your own"):
        compile(OneStep(), replace(planned("bootstrap-few-shot"), metric=by_readings), tmp_path / "work")


class Failing(OneStep):
    """Fails on every third question of dev."""

    def forward(self, question: str) -> dspy.Prediction:
        number = question.split()[-1].rstrip("?")
        if number.isdecimal() and int(number) % 3 == 0:
            raise RuntimeError("context window exceeded")
        return super().forward(question)


def test_questions_that_fail_end_no_optimizer(tmp_path: Path) -> None:
    settings = {"num_candidate_programs": 1, "max_bootstrapped_demos": 1}
    search = Recipe(name="search", optimizer="BootstrapFewShotWithRandomSearch", settings=settings)
    made = compile(Failing(), planned(search, dev=36), tmp_path / "work")
    assert made.before.failed == made.after.failed == 12
    # A program of short answers has no D-F1 to speak of: what it was compiled by is told, of every candidate alike.
    assert [one.score for one in made.trials] == pytest.approx([2 / 3] * 5, abs=1e-3)
    assert made.comparison.headline == "metric"
    assert made.comparison.metrics["metric"].b == pytest.approx(200 / 3)


@pytest.mark.parametrize("optimizer", ["BootstrapFewShot", "BootstrapFewShotWithRandomSearch"])
def test_no_demo_is_a_question_without_an_answer(optimizer: Any, tmp_path: Path) -> None:
    searching = {"num_candidate_programs": 1} if optimizer != "BootstrapFewShot" else {}
    own = Recipe(name="own", optimizer=optimizer, settings={"max_bootstrapped_demos": 1, **searching})
    made = compile(OneStep(), planned(own), tmp_path / "work")
    assert all(demo.get("answer") for demo in made.program.answer.demos)
    assert {one.demos.get("answer", 0) for one in made.trials} <= {0, 1}
    assert recipe("miprov2").settings["max_labeled_demos"] == 0


class Handing(dspy.Module):
    """Hands a predictor the whole prediction of another."""

    def __init__(self) -> None:
        super().__init__()
        self.first = dspy.Predict("question -> context")
        self.answer = dspy.Predict("question, context -> answer")

    def forward(self, question: str) -> dspy.Prediction:
        return self.answer(question=question, context=self.first(question=question))


def test_what_json_lacks_is_text_in_a_demo(tmp_path: Path) -> None:
    own = Recipe(name="own", optimizer="own-runs")
    made = compile(Handing(), planned(own, tell=lambda prompt: {"context": "sky", "answer": "blue"}), tmp_path / "work")
    assert [demo["context"] for demo in made.program.answer.demos] == ["Prediction(\n    context='sky'\n)"] * 3


class Halved(dspy.LM):
    """Replies with half a character, as a server may that cuts a reply inside an emoji."""

    def forward(self, prompt: Any = None, messages: Any = None, **settings: Any) -> Any:
        message = {"content": "[[ ## answer ## ]]\nblue \ud83d\n\n[[ ## completed ## ]]"}
        return dspy.Prediction(
            choices=[dspy.Prediction(message=dspy.Prediction(**message), finish_reason="stop")], usage={}, model="none"
        )


@pytest.mark.parametrize("optimizer", ["own-runs", "BootstrapFewShot", "BootstrapFewShotWithRandomSearch"])
def test_half_a_character_ends_no_compilation(optimizer: Any, tmp_path: Path) -> None:
    searching = {"num_candidate_programs": 1} if "Search" in optimizer else {}
    own = Recipe(name="own", optimizer=optimizer, settings=searching)
    made = compile(OneStep(), planned(own, lm=Halved("tests/halved")), tmp_path / "work")
    assert {demo["answer"] for demo in made.program.answer.demos} <= {"blue \ufffd"}
    assert bool(made.program.answer.demos) == (not searching)


class Form(BaseModel):
    colour: str


def test_a_language_model_may_be_asked_with_what_is_no_json(tmp_path: Path) -> None:
    plan = planned("bootstrap-few-shot", prompt_lm=dspy.LM("openai/writer", response_format=Form))
    assert compile(OneStep(), plan, tmp_path / "work").program.answer.demos
    assert compile(OneStep(), plan, tmp_path / "work").program.answer.demos, "the same goes on"


@pytest.mark.parametrize(
    ("optimizer", "settings", "told"),
    [
        ("GEPA", {}, "needs exactly one of the settings auto, max_full_evals and max_metric_calls"),
        ("GEPA", {"auto": "light", "max_metric_calls": 9}, "needs exactly one of the settings"),
        ("GEPA", {"auto": "huge"}, "has auto='huge'; it is light, medium or heavy"),
        ("MIPROv2", {"num_candidates": 2}, "needs either the setting auto, such as auto='light', or both num_cand"),
        ("MIPROv2", {"num_trials": 2}, "needs either the setting auto"),
        ("MIPROv2", {"auto": None}, "needs either the setting auto"),
        ("BootstrapFewShot", {"flavour": 3}, "has the setting 'flavour', which its optimizer lacks; Boot.*max_rounds"),
        ("COPRO", {"dept": 3}, "has the setting 'dept', which its optimizer lacks; COPRO takes breadth, depth, init"),
        ("MIPROv2", {"num_threads": 3}, "has the setting 'num_threads'"),
        ("InferRules", {"num_rule": 3}, "has the setting 'num_rule', .*num_rules"),
        ("labels", {"k": 3}, "has the setting 'k', .*; labels takes none"),
        ("MIPROv2", {"minibatch_size": "4"}, "has minibatch_size='4'; it is a whole number from 1 on"),
        ("InferRules", {"num_rules": 0}, "has num_rules=0; it is a whole"),
        ("SIMBA", {"bsize": 2.5}, "has bsize=2.5; it is a whole"),
        ("SIMBA", {"max_steps": True}, "has max_steps=True; it is a whole number from 0 on"),
        ("COPRO", {"breadth": 1}, "has breadth=1; it is a whole number from 2 on"),
        ("COPRO", {"depth": 0}, "has depth=0; it is a whole number from 1 on"),
        ("BootstrapFewShot", {"max_bootstrapped_demos": "4"}, "has max_bootstrapped_demos='4'; it is a whole"),
    ],
)
def test_settings_that_are_of_no_use_cost_no_call(
    optimizer: Any, settings: dict[str, Any], told: str, tmp_path: Path
) -> None:
    engine = ScriptedEngine(reply)
    chosen, lm = Recipe(name="own", optimizer=optimizer, settings=settings), scripted_lm(engine)
    with pytest.raises(PolyqaError, match=f"The recipe 'own' {told}"):
        compile(OneStep(), replace(planned("knn", lm=lm), recipe=chosen), tmp_path / "work")
    assert not engine.seen


def test_a_program_that_takes_no_question_or_can_only_be_awaited_costs_no_call(tmp_path: Path) -> None:
    class Awaited(dspy.Module):
        async def aforward(self, question: str) -> dspy.Prediction:
            raise AssertionError(question)

    class Own(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.answer = dspy.Predict("query -> answer")

        def forward(self, query: str) -> dspy.Prediction:
            return self.answer(query=query)

    engine = ScriptedEngine(reply)
    with pytest.raises(PolyqaError, match=r"Own cannot be asked as program\(question=…\): missing a required argument"):
        compile(Own(), planned("bootstrap-few-shot", lm=scripted_lm(engine)), tmp_path / "work")
    with pytest.raises(PolyqaError, match=r"no attribute 'forward'\. Have its forward take one input"):
        compile(Awaited(), planned("bootstrap-few-shot", lm=scripted_lm(engine)), tmp_path / "work")
    assert not engine.seen


def test_no_question_at_once_is_refused() -> None:
    for make in (
        lambda: planned("knn", threads=0),
        lambda: polyqa.Budget(threads=0),
        lambda: polyqa.build_questions("homonyms", threads=0),
    ):
        with pytest.raises(PolyqaError, match="threads is at least 1, not 0"):
            make()


def test_a_seed_below_0_is_refused_before_anything_is_paid() -> None:
    for make in (lambda: planned("miprov2", seed=-1), lambda: polyqa.Budget(seed=-1)):
        with pytest.raises(PolyqaError, match="seed is a whole number from 0 on, not -1"):
            make()


def test_a_program_that_comes_out_otherwise_after_a_stop_is_scored_anew(tmp_path: Path) -> None:
    away = True

    def tell(prompt: Any) -> dict[str, object]:
        if away and "Alba" in prompt.question:
            raise ConnectionError("the server is away")
        return reply(prompt)

    own = planned(Recipe(name="own", optimizer="own-runs"), dev=2, tell=tell)
    with pytest.raises(PolyqaError, match=r"the limit \(--max-calls\) is 6"):
        compile(OneStep(), own, tmp_path / "work", max_calls=6)  # on dev, on train, and one of the two on dev again
    assert (tmp_path / "work" / "after").exists()
    away = False
    made = compile(OneStep(), own, tmp_path / "work")
    assert [demo["question"] for demo in made.program.answer.demos] == [one.question for one in EXAMPLES[:3]]
    assert made.after.failed == 0


def test_what_is_reported_takes_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, score = 0.0, compiler._score

    def slow_on_test(program: dspy.Module, plan: Plan, folder: Path) -> Run:
        nonlocal now
        now += 60 * folder.name.startswith("test")
        return score(program, plan, folder)

    monkeypatch.setattr(calls, "time", SimpleNamespace(perf_counter=lambda: now))
    monkeypatch.setattr(compiler, "_score", slow_on_test)
    asked = [dspy.Example(question="What colour is Erfurt?", answer="Erfurt is red").with_inputs("question")]
    made = compile(OneStep(), planned("bootstrap-few-shot", testset=asked), tmp_path / "work")
    assert [run.summarized()["metric"].value for run in made.test_runs] == [100, 100]
    assert (made.spent.calls, made.spent.seconds, now) == (1 + 3 + 1, 0, 120)
    with pytest.raises(PolyqaError, match="train and test share a question"):
        compile(OneStep(), planned("bootstrap-few-shot", testset=EXAMPLES[:1]), tmp_path / "other")
