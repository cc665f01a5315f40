"""Recipes: which optimizer, with which settings, on which predictors; as data, and by name."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

from pydantic import BaseModel, Field, JsonValue, model_validator

from polyqa.base.errors import PolyqaError

Optimizer = Literal[
    "labels",
    "own-runs",
    "clauses",
    "BootstrapFewShot",
    "BootstrapFewShotWithRandomSearch",
    "COPRO",
    "MIPROv2",
    "SIMBA",
    "GEPA",
    "InferRules",
    "chain",
]
# These write new instructions, for which the language model must be able to write.
WRITING: frozenset[str] = frozenset({"COPRO", "MIPROv2", "SIMBA", "GEPA", "InferRules"})
# These take runs on the trainset for demos if the metric accepts them: from the threshold on.
GATHERING: frozenset[str] = frozenset({"own-runs", "BootstrapFewShot", "BootstrapFewShotWithRandomSearch", "MIPROv2"})

NUMBERS: Mapping[str, int] = {
    **dict.fromkeys(("rounds", "start", "challengers", "num_candidates", "num_rules", "minibatch_size", "bsize"), 1),
    **dict.fromkeys(("depth", "max_rounds", "num_trials", "max_full_evals", "max_metric_calls"), 1),
    **dict.fromkeys(("max_steps", "max_demos", "max_bootstrapped_demos", "max_labeled_demos"), 0),
    "num_candidate_programs": 0,
    "breadth": 2,
}
"""Settings that are whole numbers, and the least of each: DSPy fails on others only when runs were paid for."""
MINIBATCH = 35
"""Questions of MIPROv2's minibatches, if the recipe says nothing else."""


class Recipe(BaseModel, extra="forbid", frozen=True):
    """How a program is compiled, as data: it is saved in the artifact's card.

    Attributes
    ----------
    name, summary
        For people.
    optimizer
        The class of DSPy's optimizer (`dspy.GEPA` is ``GEPA``), or one of polyqa's own. ``labels``: demos from the
        trainset's labels, with the passages that the program retrieves; ``own-runs``: demos from the program's own runs
        that the metric accepts, as a pool; ``clauses``: clauses of `clauses.LIBRARY` that are added to instructions
        where they gain; ``chain``: the recipes of ``steps``, one after the other.
    k
        For ``labels`` and ``own-runs``: how many demos of the pool a call shows, picked by kNN; ``None`` shows
        ``shown`` of them, always the same, drawn with the seed (`compiler.drawn_demos`).
    shown
        See ``k``.
    predictors
        The predictors that get demos or instructions, the others stay as they are; all if empty. Those of a
        chain hold for its steps.
    settings
        What else the optimizer takes, by DSPy's names.
    threshold
        From which score on a run becomes a demo, in [0, 1], where runs do. The steps of a chain have their own.
    steps
        Of a chain.
    """

    name: str
    summary: str = ""
    optimizer: Optimizer
    k: int | None = Field(default=None, ge=1)
    shown: int = Field(default=5, ge=1)
    predictors: tuple[str, ...] = ()
    settings: dict[str, JsonValue] = {}
    threshold: float = Field(default=0.5, ge=0.0, le=1.0)
    steps: tuple["Recipe", ...] = ()

    @model_validator(mode="after")
    def _steps_of_a_chain(self) -> "Recipe":
        if (self.optimizer == "chain") != bool(self.steps):
            raise ValueError("a chain has steps, and no other recipe has")
        return self

    @property
    def parts(self) -> tuple["Recipe", ...]:
        """The steps of a chain as they are run, with its predictors if it names any, those of chains in it unfolded.

        Of any other recipe itself.
        """
        if self.optimizer != "chain":
            return (self,)
        return tuple(part for step in self.steps for part in step.with_options(predictors=self.predictors).parts)

    @property
    def writes(self) -> bool:
        """Whether a language model has to write instructions."""
        return any(part.optimizer in WRITING for part in self.parts)

    @property
    def gathers(self) -> bool:
        """Whether runs on the trainset become demos, for which the threshold counts."""
        return any(part.optimizer in GATHERING for part in self.parts)

    @property
    def demo_threshold(self) -> float:
        """The threshold of the step whose runs are the demos in the end: a chain's own counts for nothing."""
        return next((part.threshold for part in reversed(self.parts) if part.gathers), self.threshold)

    @property
    def shows_demos(self) -> bool:
        """Whether prompts get demos, which make them longer."""
        return any(part.optimizer in GATHERING | {"labels", "SIMBA"} for part in self.parts)

    @property
    def runs_train(self) -> bool:
        """Whether the program is run and scored on the trainset."""
        return any(part.optimizer != "labels" for part in self.parts)

    @property
    def searches(self) -> tuple[str, ...]:
        """The optimizers that decide themselves how often they run the program."""
        return tuple(part.optimizer for part in self.parts if part.optimizer not in ("labels", "own-runs"))

    def runs(self, train: int) -> int:
        """Return how often the program is run on a trainset, without the runs of what `searches`."""
        return train * sum(part.optimizer == "own-runs" for part in self.parts)

    def number(self, setting: str, default: int) -> int:
        """Return a setting of `NUMBERS`, or the default; raise `PolyqaError` if it is no such number."""
        value = self.settings.get(setting)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or value < NUMBERS[setting]:
            least = NUMBERS[setting]
            raise PolyqaError(
                f"The recipe {self.name!r} has {setting}={value!r:.40}; it is a whole number from {least} on."
            )
        return value

    @property
    def auto(self) -> str | None:
        """How much MIPROv2 tries: ``light``, ``medium`` or ``heavy``; ``None`` where numbers in the settings say it."""
        value = self.settings.get("auto", None if "num_candidates" in self.settings else "light")
        return None if value is None else str(value)

    def with_options(self, *, threshold: float | None = None, predictors: Sequence[str] | None = None) -> "Recipe":
        """Return the recipe with another threshold or other predictors, in all its steps.

        Parameters
        ----------
        threshold, predictors
            Unchanged if not given.

        Raises
        ------
        PolyqaError
            If a threshold is given and the recipe has no use for one, or it is not in [0, 1].
        """
        if threshold is None and not predictors:
            return self
        if threshold is not None and not 0.0 <= threshold <= 1.0:
            raise PolyqaError(f"A threshold lies between 0 and 1, not at {threshold:g}.")
        if threshold is not None and not self.gathers:
            raise PolyqaError(
                f"The recipe {self.name!r} makes no demos from runs, so it has no use for a threshold (--threshold); "
                f"leave it out, or take {recipe_names(lambda one: one.gathers)}."
            )
        changes = {
            "threshold": self.threshold if threshold is None else threshold,
            "predictors": tuple(predictors or self.predictors),
            "steps": tuple(
                step.with_options(threshold=threshold if step.gathers else None, predictors=predictors)
                for step in self.steps
            ),
        }
        return self.model_copy(update=changes)


def _recipe(name: str, optimizer: Optimizer, summary: str, **fields: Any) -> Recipe:
    return Recipe(name=name, optimizer=optimizer, summary=summary, **fields)


_SHORT_DEMOS: dict[str, JsonValue] = {"max_bootstrapped_demos": 4, "max_labeled_demos": 0}
_KNN = _recipe("knn", "labels", "the five labelled demos nearest to the question (Tree of Clarifications, DIVA)", k=5)
_KNN_BOOTSTRAP = _recipe(
    "knn-bootstrap", "own-runs", "all good runs on train become demos, each call shows the five nearest", k=5
)
_CLAUSES = _recipe(
    "clauses", "clauses", "plain sentences are added to the instructions if they also gain on held-out questions"
)
_GEPA = _recipe("gepa", "GEPA", "DSPy's GEPA: instructions evolved from feedback in words", settings={"auto": "light"})
_ALL = (
    _recipe(
        "labeled-few-shot", "labels", "five labelled demos, the same for every question; four have several readings"
    ),
    _KNN,
    _recipe(
        "bootstrap-few-shot",
        "BootstrapFewShot",
        "DSPy's BootstrapFewShot: demos from the program's own good runs",
        settings=_SHORT_DEMOS,
    ),
    _recipe(
        "bootstrap-random-search",
        "BootstrapFewShotWithRandomSearch",
        "DSPy's BootstrapFewShotWithRandomSearch: of several such sets of demos the best on dev",
        settings={**_SHORT_DEMOS, "num_candidate_programs": 6},
    ),
    _KNN_BOOTSTRAP,
    _CLAUSES,
    _recipe("clauses-then-knn", "chain", "first clauses, then the five nearest labelled demos", steps=(_CLAUSES, _KNN)),
    _recipe("copro", "COPRO", "DSPy's COPRO: coordinate ascent over instructions", settings={"breadth": 5, "depth": 2}),
    _recipe(
        "miprov2",
        "MIPROv2",
        "DSPy's MIPROv2: instructions and demos by Bayesian search",
        settings={**_SHORT_DEMOS, "auto": "light"},
    ),
    _recipe(
        "simba",
        "SIMBA",
        "DSPy's SIMBA: rules and demos from the runs that vary most",
        settings={"bsize": 32, "num_candidates": 4, "max_steps": 4, "max_demos": 4},
    ),
    _recipe(
        "infer-rules",
        "InferRules",
        "DSPy's InferRules: rules that labelled examples follow; of several lists the best on dev",
        settings={"num_candidates": 4, "num_rules": 5},
    ),
    _GEPA,
    _recipe(
        "gepa-then-knn", "chain", "instructions by GEPA, then the five nearest labelled demos", steps=(_GEPA, _KNN)
    ),
    _recipe(
        "knn-then-bootstrap",
        "chain",
        "run with kNN labelled demos, keep the good runs, show the five nearest of them",
        steps=(_KNN, _KNN_BOOTSTRAP),
    ),
)
RECIPES: Mapping[str, Recipe] = MappingProxyType({one.name: one for one in _ALL})


def recipe_names(fits: Callable[[Recipe], bool]) -> str:
    """Return the names of the recipes of a kind, for an error message."""
    *names, last = [name for name, one in RECIPES.items() if fits(one)]
    return f"{', '.join(names)} or {last}"


def recipe(name: str) -> Recipe:
    """Return a recipe by name; raise `PolyqaError` with the known names if there is none."""
    if name not in RECIPES:
        raise PolyqaError(f"There is no recipe {name!r}; there are {', '.join(RECIPES)}.")
    return RECIPES[name]
