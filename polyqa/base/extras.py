"""Optional packages: checked before they are imported, so that a missing one is one line that names its extra."""

from importlib.util import find_spec

from .errors import PolyqaError


def missing(package: str, *, extra: str, for_: str) -> str | None:
    """Return the line that says how to install an optional package with an extra, or ``None`` if it is there.

    The package is named as it is imported; ``for_`` is what needs it, as the beginning of a sentence.
    """
    if find_spec(package) is not None:
        return None
    return f"{for_} needs {package}, which is not installed: pip install 'polyqa[{extra}]'"


def needs(package: str, *, extra: str, for_: str) -> None:
    """Check that an optional package is there; the parameters are those of `missing`.

    Raises
    ------
    PolyqaError
        If it is not, with the command that installs it.
    """
    if line := missing(package, extra=extra, for_=for_):
        raise PolyqaError(line)
