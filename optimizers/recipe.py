"""A recipe: which optimizer, with which settings, on which predictors."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

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
        The predictors that get demos; all if empty.
    settings
        What else the optimizer takes, by DSPy's names.
    threshold
        From which score on a run becomes a demo, in [0, 1].
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
