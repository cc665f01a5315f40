"""The recipes by name."""

from collections.abc import Mapping
from types import MappingProxyType

from polyqa.signatures import PolyqaError

from .recipe import Recipe

_LABELS = Recipe(
    name="labels",
    summary="five labelled demos, the same for every question",
    optimizer="labels",
)
_KNN = Recipe(
    name="knn",
    summary="the five labelled demos nearest to the question (Tree of Clarifications, DIVA)",
    optimizer="labels",
    k=5,
)
_BOOTSTRAP = Recipe(
    name="bootstrap",
    summary="DSPy's BootstrapFewShot: demos from the program's own good runs",
    optimizer="few-shot",
    settings={"max_bootstrapped_demos": 4, "max_labeled_demos": 0},
)
_SEARCH = Recipe(
    name="bootstrap-search",
    summary="DSPy's BootstrapFewShotWithRandomSearch: the best of several such sets on dev",
    optimizer="few-shot-search",
    settings={"max_bootstrapped_demos": 4, "max_labeled_demos": 0, "num_candidate_programs": 6},
)
_KNN_BOOTSTRAP = Recipe(
    name="knn-bootstrap",
    summary="all good runs on train are kept, each call shows the five nearest",
    optimizer="bootstrap",
    k=5,
)
_COPRO = Recipe(
    name="copro",
    summary="DSPy's COPRO: coordinate ascent over instructions",
    optimizer="copro",
    settings={"breadth": 5, "depth": 2},
)
_MIPRO = Recipe(
    name="mipro",
    summary="DSPy's MIPROv2: instructions and demos by Bayesian search",
    optimizer="mipro",
    settings={"auto": "light"},
)
_SIMBA = Recipe(
    name="simba",
    summary="DSPy's SIMBA: rules and demos from the runs that vary most",
    optimizer="simba",
    settings={"bsize": 32, "num_candidates": 4, "max_steps": 4, "max_demos": 4},
)
_GEPA = Recipe(
    name="gepa",
    summary="DSPy's GEPA: instructions evolved from feedback in words",
    optimizer="gepa",
    settings={"auto": "light"},
)
_ALL = (
    _LABELS,
    _KNN,
    _BOOTSTRAP,
    _SEARCH,
    _KNN_BOOTSTRAP,
    _COPRO,
    _MIPRO,
    _SIMBA,
    _GEPA,
    Recipe(
        name="gepa-then-knn",
        summary="instructions by GEPA, then the five nearest labelled demos",
        optimizer="chain",
        steps=(_GEPA, _KNN),
    ),
    Recipe(
        name="knn-then-bootstrap",
        summary="run with kNN labelled demos, keep the good runs, show the five nearest of them",
        optimizer="chain",
        steps=(_KNN, _KNN_BOOTSTRAP),
    ),
)
RECIPES: Mapping[str, Recipe] = MappingProxyType({one.name: one for one in _ALL})


def recipe(name: str) -> Recipe:
    """Return a recipe by name.

    Raises
    ------
    PolyqaError
        With the known names.
    """
    try:
        return RECIPES[name]
    except KeyError:
        raise PolyqaError(f"There is no recipe {name!r}; there are {', '.join(RECIPES)}.") from None
