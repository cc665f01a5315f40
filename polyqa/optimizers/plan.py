"""What a compilation is given beside its program, and what can be said of it before its first call."""

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import InitVar, dataclass
from inspect import signature
from typing import Any

import dspy

from polyqa.base.errors import PolyqaError
from polyqa.base.extras import needs
from polyqa.extractive import MODEL_NAME
from polyqa.lm.assigned import own_lms
from polyqa.metrics.gold import Question, same_words
from polyqa.metrics.optimizing import MEASURES, AnswerMetric, Measure
from polyqa.models import Reader, SpanReader
from polyqa.programs.knn import check_picking

from .examples import PlainMetric, as_metric, as_question, example_key
from .recipes import NUMBERS, Optimizer, Recipe, recipe_names
from .recipes import recipe as named_recipe

_LONGEST_NUMBER = 7  # digits of a row's number; ids of data sets have more
_AUTO = (None, "light", "medium", "heavy")  # of DSPy's optimizers
_FROM_THE_PLAN = {"self", "student", "metric", "trainset", "valset", "teacher", "teacher_settings", "seed", "log_dir"}
_FROM_THE_PLAN |= {"num_threads", "prompt_model", "reflection_lm", "task_model", "eval_kwargs", "kwargs", "_kwargs"}
_OWN_SETTINGS: Mapping[str, set[str]] = {
    "labels": set(),
    "own-runs": set(),
    "clauses": {"rounds", "start", "challengers"},
    "InferRules": {"num_candidates", "num_rules"},
}
"""What optimizers of this house take."""
LEAST_FOR_CLAUSES = 12
"""With fewer training questions a search over clauses has nothing to choose by."""


@dataclass(frozen=True)
class Plan:
    """How a program is compiled.

    Attributes
    ----------
    trainset
        Demos come from here, and only from here. Questions, the examples that their ``to_example()`` gives, or examples
        with ``question`` and ``answer`` (or ``answers``).
    devset
        Likewise; shares no question with the trainset. It scores, and picks among candidates where the recipe does.
    testset
        Likewise; only reported, where there is one.
    recipe
        See `recipes.RECIPES`; by name, or as it is.
    metric
        What is optimized: an `AnswerMetric`, whose threshold is replaced by the recipe's, or a function
        ``(gold, pred, trace=None) -> float`` in [0, 1], given your examples as they are.
    lm
        Runs the program; by default what ``dspy.configure`` or ``dspy.context`` set.
    prompt_lm
        Writes instructions; ``lm`` if not given.
    teacher, teacher_lm
        What answers the training questions whose good runs become demos (`Recipe.gathers`), in place of the program
        and of ``lm``: a program that has the same predictors, and a language model.
    seed, threads
        Of every random choice (picking the nearest demos and COPRO make none), and questions at once.
    reader
        Of the Disambig-F1 that the runs before and after are scored by beside a function of yours; the embedded one if
        not given.

    Raises
    ------
    PolyqaError
        If an example or the metric cannot be used, there is no such recipe, or no language model.
    """

    trainset: Sequence[Question]
    devset: Sequence[Question]
    recipe: Recipe
    metric: AnswerMetric
    lm: dspy.LM
    prompt_lm: dspy.LM | None = None
    teacher: dspy.Module | None = None
    teacher_lm: dspy.LM | None = None
    seed: int = 0
    threads: int = 8
    testset: Sequence[Question] = ()
    reader: InitVar[SpanReader | None] = None

    def __post_init__(self, reader: SpanReader | None) -> None:
        """Take examples for questions, a function for a metric, and the name of a recipe."""
        if self.threads < 1:
            raise PolyqaError(f"threads is at least 1, not {self.threads}.")
        if self.seed < 0:
            raise PolyqaError(f"seed is a whole number from 0 on, not {self.seed}: MIPROv2 and SIMBA take no other.")
        examples: dict[Any, Any] = {}
        for name in ("trainset", "devset", "testset"):
            items = list(getattr(self, name))
            questions = [as_question(item, f"{name.removesuffix('set')}-{at}") for at, item in enumerate(items)]
            examples |= {example_key(question): item for question, item in zip(questions, items, strict=True)}
            object.__setattr__(self, name, questions)
        if not isinstance(self.metric, AnswerMetric):
            object.__setattr__(self, "metric", as_metric(self.metric, examples, reader or Reader()))
        if isinstance(self.recipe, str):
            object.__setattr__(self, "recipe", named_recipe(self.recipe))
        if self.lm is None:
            object.__setattr__(self, "lm", dspy.settings.lm)
        if self.lm is None:
            raise PolyqaError("No language model is given: pass lm=, or set one with dspy.configure(lm=…).")

    @property
    def column(self) -> str:
        """The column of `polyqa.evaluation.columns.COLUMNS` that has what is optimized."""
        return "metric" if isinstance(self.metric, PlainMetric) else self.metric.measure

    @property
    def writer(self) -> dspy.LM:
        """The language model that writes instructions."""
        return self.prompt_lm or self.lm

    @classmethod
    def of(
        cls,
        trainset: Sequence[Question | dspy.Example],
        devset: Sequence[Question | dspy.Example],
        metric: Callable[..., Any],
        *,
        recipe: Recipe | str = "knn",
        lm: dspy.LM | None = None,
        **attributes: Any,
    ) -> "Plan":
        """Return a plan with what need not be given left out; ``attributes`` are the other ones."""
        keywords: dict[str, Any] = {"recipe": recipe, "metric": metric, "lm": lm, **attributes}
        return cls(trainset, devset, **keywords)

    def metric_of_recipe(self) -> AnswerMetric:
        """Return the metric with the recipe's threshold."""
        metric = copy(self.metric)
        metric.threshold = self.recipe.threshold
        return metric


def check_plan(plan: Plan) -> None:
    """Raise `PolyqaError` for what can be told without the program."""
    sets = {"train": plan.trainset, "dev": plan.devset, "test": plan.testset}
    check_disjoint(sets)
    check_writer(plan.recipe, str(plan.writer.model))
    if not plan.trainset or not plan.devset:
        raise PolyqaError("Compiling needs training and development questions; one of the sets is empty.")
    searched = [step.name for step in plan.recipe.parts if step.optimizer == "clauses"]
    if searched and len(plan.trainset) < LEAST_FOR_CLAUSES:
        raise PolyqaError(
            f"The recipe {searched[0]!r} needs at least {LEAST_FOR_CLAUSES} training questions, there are "
            f"{len(plan.trainset)}: one half chooses clauses and the other confirms them."
        )
    scored = {name: questions for name, questions in sets.items() if name != "train" or plan.recipe.runs_train}
    check_measurable(plan.metric.measure, scored)


def check_teacher(plan: Plan, program: dspy.Module) -> None:
    """Raise `PolyqaError` if a teacher, where there is one, makes no demos for a program.

    The recipe takes none from runs, or the teacher's predictors are others; for DSPy's optimizers also if their
    instructions are.
    """
    if not plan.recipe.gathers and (plan.teacher is not None or plan.teacher_lm is not None):
        raise PolyqaError(
            f"The recipe {plan.recipe.name!r} makes no demos from runs, so it has no use for a teacher; leave it out, "
            f"or take {recipe_names(lambda one: one.gathers)}."
        )
    if plan.teacher is None:
        return
    student, taught = dict(program.named_predictors()), dict(plan.teacher.named_predictors())
    if list(student) != list(taught):
        raise PolyqaError(
            f"The teacher has the predictors {', '.join(taught)}, and {type(program).__name__} has "
            f"{', '.join(student)}: its runs make no demos for them. Take a compiled {type(program).__name__}."
        )
    dspys = [step.name for step in plan.recipe.parts if step.gathers and step.optimizer != "own-runs"]
    for name, predictor in student.items():
        if dspys and not predictor.signature.equals(taught[name].signature):
            raise PolyqaError(
                f"The teacher has other instructions for {name}, which DSPy's optimizer of {dspys[0]!r} refuses; take "
                "the recipe knn-bootstrap."
            )


def check_writer(recipe: Recipe, model: str) -> None:
    """Raise `PolyqaError` if a recipe writes instructions and the model is the embedded engine, which cannot."""
    if recipe.writes and model == MODEL_NAME:
        raise PolyqaError(
            f"The recipe {recipe.name!r} has a language model write instructions, and {model} cannot write. Name a "
            f"language model (--prompt-lm local), or take another recipe: {recipe_names(lambda one: not one.writes)}."
        )


def check_disjoint(splits: Mapping[str, Sequence[Question]]) -> None:
    """Raise `PolyqaError` if a question is in two splits, by its id or its words, or a split repeats an id."""
    split_of: dict[tuple[str, str], str] = {}
    for name, questions in splits.items():
        ids: set[str] = set()
        for question in questions:
            if question.id in ids:
                raise PolyqaError(
                    f"{name} holds the question {question.id!r} twice, {question.question!r:.80}; leave one out, or "
                    "give each an id of its own."
                )
            ids.add(question.id)
            keys = [("id", question.id), ("question", same_words(question.question))]
            if question.id.isdecimal() and len(question.id) <= _LONGEST_NUMBER:  # the number of a row is no id
                del keys[0]
            for key in keys:
                if (other := split_of.setdefault(key, name)) != name:
                    raise PolyqaError(
                        f"{other} and {name} share a question (same {key[0]}): {question.id!r}, "
                        f"{question.question!r}. What is learnt from must not be measured on."
                    )


def check_measurable(measure: Measure, sets: Mapping[str, Sequence[Question]]) -> None:
    """Raise `PolyqaError` if there is no such measure, or it is DR and a question to score has no reference answer."""
    if measure not in MEASURES:
        raise PolyqaError(f"The measure (--measure) is one of {', '.join(MEASURES)}, not {measure!r:.60}.")
    for name, questions in sets.items():
        bare = [question for question in questions if not question.long_answers]
        if measure == "dr" and bare:
            raise PolyqaError(
                f"{len(bare)} of {len(questions)} questions of {name} have no reference long answer, which the measure "
                f"dr needs, such as {bare[0].id!r}. Take the measure disambig_f1, which needs short answers only "
                "(polyqa compile --measure disambig_f1), or questions with long answers."
            )


def check_recipe(recipe: Recipe, program: dspy.Module) -> None:
    """Raise `PolyqaError` if a recipe, or a step of a chain, does not fit a program.

    It names a predictor that the program lacks, picks demos by similarity for one that cannot, has settings that its
    optimizer refuses, or wants an extra that is not installed. No recipe fits a program that takes no ``question``.
    """
    try:
        signature(type(program).forward).bind(program, question="")  # of an instance, DSPy warns of a direct call
    except (TypeError, AttributeError) as error:  # one that can only be awaited has no forward
        raise PolyqaError(
            f"{type(program).__name__} cannot be asked as program(question=…): {error}. Have its forward take one "
            "input, question."
        ) from error
    names = [name for name, _ in program.named_predictors()]
    for step in recipe.parts:
        if strange := sorted(set(step.predictors) - set(names)):
            raise PolyqaError(
                f"The recipe {step.name!r} names the predictor {strange[0]!r}; {type(program).__name__} has "
                f"{', '.join(names)}."
            )
        if step.k is not None and step.optimizer in ("labels", "own-runs"):
            check_picking(program, step.predictors or names)
            if step.optimizer == "own-runs":  # its demos have what the calls were given
                _check_questions(program, step.predictors or names)
        _check_names(step)
        _check_budget(step)
        if step.optimizer == "MIPROv2":
            needs("optuna", extra="mipro", for_=f"The recipe {step.name}")
        if step.optimizer == "SIMBA":
            _check_simba(program, step)


def _check_questions(program: dspy.Module, names: Collection[str]) -> None:
    """The nearest demos are picked by their question, and a program that cannot would be refused after all runs."""
    for name, predictor in program.named_predictors():
        if name in names and "question" not in predictor.signature.input_fields:
            raise PolyqaError(
                f"{type(program).__name__}.{name} has no input question, by which the nearest demos are picked: name "
                "other predictors (--predictors), or take the recipe bootstrap-few-shot."
            )


def parameters(optimizer: Optimizer) -> tuple[set[str], set[str]]:
    """Return the names of what one of DSPy's optimizers is given when it is made, and in its ``compile`` only."""
    kind = getattr(dspy, optimizer)
    of_making = {name for base in kind.__mro__[:-1] for name in signature(base.__init__).parameters}
    return of_making, signature(kind.compile).parameters.keys() - of_making


def _check_names(recipe: Recipe) -> None:
    """Raise `PolyqaError` for a setting that the optimizer lacks, that comes from the plan, or that is no number."""
    names = _OWN_SETTINGS.get(recipe.optimizer)
    if names is None:
        names = set[str]().union(*parameters(recipe.optimizer)) - _FROM_THE_PLAN
    if strange := sorted(recipe.settings.keys() - names):
        raise PolyqaError(
            f"The recipe {recipe.name!r} has the setting {strange[0]!r:.60}, which its optimizer lacks; "
            f"{recipe.optimizer} takes {', '.join(sorted(names)) or 'none'}."
        )
    for name in NUMBERS:
        recipe.number(name, 1)


def _check_budget(recipe: Recipe) -> None:
    """DSPy refuses such settings only when runs of the program were paid for."""
    setting_names = {name for name, value in recipe.settings.items() if value is not None}
    if recipe.optimizer == "GEPA" and len(setting_names & {"auto", "max_full_evals", "max_metric_calls"}) != 1:
        raise PolyqaError(
            f"The recipe {recipe.name!r} needs exactly one of the settings auto, max_full_evals and max_metric_calls, "
            "such as auto='light': they say how much GEPA tries."
        )
    numbers = setting_names & {"num_candidates", "num_trials"}
    if recipe.optimizer == "MIPROv2" and len(numbers) != (2 if recipe.auto is None else 0):
        raise PolyqaError(
            f"The recipe {recipe.name!r} needs either the setting auto, such as auto='light', or both num_candidates "
            "and num_trials: they say how much MIPROv2 tries."
        )
    if recipe.optimizer in ("GEPA", "MIPROv2") and (auto := recipe.settings.get("auto")) not in _AUTO:
        raise PolyqaError(f"The recipe {recipe.name!r} has auto={auto!r:.40}; it is light, medium or heavy.")


def _check_simba(program: dspy.Module, recipe: Recipe) -> None:
    """SIMBA gives the predictors that it works on copies of the program's language model."""
    helper_lms = own_lms(program)
    names = [name for name, _ in program.named_predictors()]
    if helped := [name for name in recipe.predictors or names if name in helper_lms]:
        raise PolyqaError(
            f"The recipe {recipe.name!r} works with one language model only, and {', '.join(helped)} of "
            f"{type(program).__name__} ask another one. Leave the helper out, or name the other predictors "
            f"(--predictors {','.join(name for name in names if name not in helper_lms)})."
        )
