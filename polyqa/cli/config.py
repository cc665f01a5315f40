"""polyqa.toml: defaults of options, from the user's own configuration folder and from a project's folder.

A project may be a stranger's checkout. Its file names what this machine does with what it has: it sends no prompt to a
server, names no path outside the project, and runs nothing. The user's own file may name a server.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from polyqa.base.errors import PolyqaError

FILE = "polyqa.toml"
_HERE = re.compile(r"polyqa/extractive|local(?:/(?!.*\.gguf$)[\w.-]+)?", re.I)  # a file of a model is no name


@dataclass(frozen=True)
class _Key:
    """A key: the types of its values, whether it is about the language model, and what a project may not say.

    ``refused`` returns why the value of a project's file is refused, by the value and the project's folder.
    """

    kinds: tuple[type, ...]
    of_lm: bool = False
    refused: Callable[[Any, Path], str | None] = lambda _, __: None


def _sends(value: str, _: Path) -> str | None:
    return None if _HERE.fullmatch(value) else "sends what you ask to a server, or opens a file"


def _outside(value: str, folder: Path) -> str | None:
    """Return why a name or a path is refused: a path has to stay in the project, links followed."""
    if not re.search(r"[/\\]|^~|^\.+$", value):
        return None
    inside = (folder / value).resolve().is_relative_to(folder.resolve())
    return None if inside and not value.startswith("~") else "names a place outside the project"


def _never(_: Any, __: Path) -> str:
    return "sends what you ask to a server, or loads a model"


_NUMBER = (int, float)
KEYS: Mapping[str, _Key] = {
    "program": _Key((str,), refused=_outside),
    "index": _Key((str,), refused=_outside),
    "passages": _Key((int,)),
    "threads": _Key((int,)),
    "lm": _Key((str,), of_lm=True, refused=_sends),
    "helper_lm": _Key((str,), of_lm=True, refused=_sends),
    "temperature": _Key(_NUMBER, of_lm=True),
    "max_tokens": _Key((int,), of_lm=True),
    "timeout": _Key(_NUMBER, of_lm=True),
    "retries": _Key((int,), of_lm=True),
    "requests_per_minute": _Key(_NUMBER, of_lm=True),
    "judge": _Key((str,), refused=_never),
    "reader": _Key((str,), refused=_never),
    "mlflow": _Key((str,), refused=_never),
}


def defaults(args: Iterable[str]) -> dict[str, Any]:
    """Return the defaults of options by the names of their parameters; a project's go before the user's own.

    What the files say about how a language model is asked is about theirs: it is left out where ``args`` name another,
    and a project that names one does without the user's own.

    Raises
    ------
    PolyqaError
        If a file cannot be read, or says what it may not.
    """
    found: dict[str, Any] = {}
    for file, project in ((home_file(), False), (project_file(Path.cwd()), True)):
        if file is not None and file.is_file():
            own = _read(file, project=project)
            found = (_without_lm(found) if "lm" in own else found) | own
    named = any(arg == "--lm" or arg.startswith("--lm=") for arg in args)
    return _without_lm(found) if named else found


def home_file() -> Path:
    """Return the place of the user's own file, in the configuration folder of the system."""
    return Path(typer.get_app_dir("polyqa")) / FILE


def project_file(folder: Path) -> Path | None:
    """Return the nearest file in a folder or, within one repository, above it."""
    above = [folder, *folder.parents]
    root = next((at for at, place in enumerate(above) if (place / ".git").exists()), 0)
    return next((place / FILE for place in above[: root + 1] if (place / FILE).is_file()), None)


def _without_lm(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if not KEYS[name].of_lm}


def _read(file: Path, *, project: bool) -> dict[str, Any]:
    import tomllib

    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise PolyqaError(f"{file} cannot be read: {error}.") from error
    found = {}
    for written, value in data.items():
        name = written.replace("-", "_")
        key = KEYS.get(name)
        if key is None:
            raise PolyqaError(f"{file} sets {written!r:.60}, which is none of {', '.join(KEYS)}.")
        if isinstance(value, bool) or not isinstance(value, key.kinds):
            wanted = "a text in quotes" if key.kinds == (str,) else "a number"
            raise PolyqaError(f"{file}: {name} is {wanted}, not {value!r:.60}.")
        if project and (why := key.refused(value, file.parent)):
            raise PolyqaError(
                f"{file} sets {name} = {value!r:.80}, which {why}: a project may not. Set it in {home_file()}, or with "
                f"--{name.replace('_', '-')}."
            )
        if project and key.refused is _outside and "/" in str(value):
            value = str(file.parent / str(value))
        found[name] = value
    return found
