"""polyqa's packages have common names: say so when somebody else's folder hides one of them."""

from importlib.util import find_spec
from pathlib import Path

PACKAGES = (
    "benchmarks",
    "colbert_index",
    "embedded_models",
    "engines",
    "metrics",
    "optimizers",
    "programs",
    "question_db",
    "signatures",
)


def check_packages(home: Path | None = None) -> None:
    """Check that every package of the project resolves to the project's own folder.

    Raises
    ------
    ImportError
        With the path that shadows a package, and what to do.
    """
    home = (home or Path(__file__).resolve().parents[1]).resolve()
    for name in PACKAGES:
        spec = find_spec(name)
        places = list(spec.submodule_search_locations or [spec.origin or ""]) if spec else []
        if any(Path(place).resolve() == home / name for place in places):
            continue
        if not places:
            raise ImportError(f"polyqa's package {name!r} is missing; install polyqa again.", name=name)
        raise ImportError(
            f"polyqa's package {name!r} is shadowed by {places[0]}: rename that, or start Python elsewhere, "
            f"so that `import {name}` finds {home / name}.",
            name=name,
        )
