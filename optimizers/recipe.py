"""A recipe: which optimizer, with which settings, on which predictors."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from polyqa.signatures import PolyqaError

Optimizer = Literal[
    "labels",
    "bootstrap",
    "few-shot",
    "few-shot-search",
    "copro",
    "mipro",
    "simba",
    "gepa",
    "chain",
]
# These write new instructions, for which the language model must be able to write.
WRITING: frozenset[str] = frozenset({"copro", "mipro", "simba", "gepa"})
# These take runs on the trainset for demos if the metric accepts them: from the threshold on.
GATHERING: frozenset[str] = frozenset({"bootstrap", "few-shot", "few-shot-search", "mipro"})


class Recipe(BaseModel):
    """How a program is compiled, as data: it is saved in the artifact's card.

    Attributes
    ----------
    name, summary
        For people.
    optimizer
        ``labels``: demos from the trainset's own labels, with the passages that the program retrieves;
        ``bootstrap``: demos from the program's own runs that the metric accepts, as a pool;
        ``few-shot``, ``few-shot-search``, ``copro``, ``mipro``, ``simba``, ``gepa``: DSPy's optimizers;
        ``chain``: the recipes of ``steps``, one after the other.
    k
        For ``labels`` and ``bootstrap``: how many demos of the pool a call shows, picked by kNN;
        ``None`` shows ``shown`` of them, always the same, drawn with the seed.
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

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    summary: str = ""
    optimizer: Optimizer
    k: int | None = Field(default=None, ge=1)
    shown: int = Field(default=5, ge=1)
    predictors: tuple[str, ...] = ()
    settings: dict[str, JsonValue] = {}
    threshold: float = Field(default=0.5, ge=0.0, le=1.0)
    steps: tuple["Recipe", ...] = ()

    @property
    def writes(self) -> bool:
        """Whether a language model has to write instructions."""
        return self.optimizer in WRITING or any(step.writes for step in self.steps)

    @property
    def gathers(self) -> bool:
        """Whether runs on the trainset become demos, for which the threshold counts."""
        return self.optimizer in GATHERING or any(step.gathers for step in self.steps)

    @property
    def runs_train(self) -> bool:
        """Whether the program is run and scored on the trainset."""
        return any(step.runs_train for step in self.steps) if self.steps else self.optimizer != "labels"

    @property
    def parts(self) -> tuple["Recipe", ...]:
        """The steps of a chain as they are run: with its predictors, if it names any."""
        return tuple(step.with_options(predictors=self.predictors) for step in self.steps)

    def number(self, setting: str, default: int) -> int:
        """Return a setting that is a number; the default if it is not given."""
        value = self.settings.get(setting)
        return int(value) if isinstance(value, (int, float)) else default

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
        changes: dict[str, Any] = {}
        if threshold is not None:
            _check_threshold(self, threshold)
            changes["threshold"] = threshold
        if predictors:
            changes["predictors"] = tuple(predictors)
        if not changes:
            return self
        steps = [
            step.with_options(threshold=threshold if step.gathers else None, predictors=predictors)
            for step in self.steps
        ]
        return self.model_copy(update={**changes, "steps": tuple(steps)})


def _check_threshold(recipe: Recipe, threshold: float) -> None:
    if not 0.0 <= threshold <= 1.0:
        raise PolyqaError(f"A threshold lies between 0 and 1, not at {threshold:g}.")
    if not recipe.gathers:
        raise PolyqaError(
            f"The recipe {recipe.name!r} makes no demos from runs, so it has no use for a threshold (--threshold); "
            "leave it out, or take knn-bootstrap, knn-then-bootstrap, bootstrap, bootstrap-search or mipro."
        )
