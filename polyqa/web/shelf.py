"""What a server has loaded: programs over indexes, each once, shared by all who ask."""

import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, TypeVar

import dspy

from polyqa.artifacts.store import CARD, artifact_names, find_artifact, read_artifact
from polyqa.asking import check_question
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex
from polyqa.colbert_index.store import index_names
from polyqa.lm.assigned import give_helper, helping_predictors
from polyqa.loading import DEFAULT_INDEX, default_program, load, open_index, over, warm_up
from polyqa.programs import PROGRAMS
from polyqa.programs.registry import REGISTRY, Entry
from polyqa.questions import questions_path
from polyqa.questions.families import families, named

from .errors import WebError

_SMALL = 20_000  # passages: names of a larger index would take seconds to find
_SHARED = 6  # names that are listed
_FILTERED = 64  # conditions whose passages are remembered, a byte each
_T = TypeVar("_T")


@dataclass(frozen=True)
class Offered:
    """A program that clients may name: what `polyqa.load` is given, and what `/programs` says of it.

    ``index`` is the name of the one that it was compiled over; ``None`` for programs that are not compiled. The source
    of a user's own program is what makes it over an index.
    """

    name: str
    source: str | Path | Callable[[ColBERTIndex], dspy.Module]
    index: str | None
    about: Mapping[str, Any]


class Shelf:
    """Programs and indexes by the names that clients may use: a client names no path.

    Parameters
    ----------
    lm, helper_lm
        What answers, and what helps the programs that have something for it to do, see `polyqa.load`.
    indexes
        Names or paths of the indexes that are offered, or opened ones, each under its folder's name; all that are in
        the home of indexes if none is given, but for damaged ones, which a warning names. The first is the default; if
        none is given, the index that was built last, and ``homonyms`` if there is no other.
    programs
        Names, or folders of compiled programs, that are offered, or ``module:function``, which returns a program of the
        user's own for an index; if none is given all that can answer over an index, the shipped compiled ones, and
        those in the folder ``compiled`` where the server was started, but for those that cannot be read. The first is
        the default, else ``auto``, or ``spanwise`` of a model on this machine.

    Raises
    ------
    PolyqaError
        If one of them is not there, or two have one name.
    """

    def __init__(
        self,
        lm: dspy.LM,
        *,
        helper_lm: dspy.LM | None = None,
        indexes: Sequence[str | Path | ColBERTIndex] = (),
        programs: Sequence[str | Path] = (),
    ) -> None:
        self.lm = lm
        self._helper_lm = helper_lm
        opened = _each(open_index, indexes or index_names(), named=bool(indexes))
        if not opened:
            raise PolyqaError("There is no index to serve. Run `polyqa setup`, or name one with --index.")
        self.indexes = _by_name(opened, "indexes")
        usable = programs or [*_usable(opened), *artifact_names(), *_made_here()]
        offered = _each(_offered, usable, named=bool(programs))
        self.programs = _by_name(offered, "programs")
        self.default_index = opened[0].name if indexes else _latest(opened).name
        self.default_program = default_program(lm) if not programs else next(iter(self.programs))
        self._loaded: dict[tuple[str, str], dspy.Module] = {}
        self._locks = {(program, index): threading.Lock() for program in self.programs for index in self.indexes}
        self._filtered = lru_cache(_FILTERED)(lambda index, where: self.indexes[index].where(where))
        self.shared_names = cache(self._shared_names)

    def _shared_names(self, index: str) -> list[str]:
        """Return some names that titles of an index share, those of most titles first; none of a large index."""
        opened = self.indexes[index]
        passages = opened.passages if len(opened) <= _SMALL else []
        shared = families(passages, named(passages))
        return sorted(shared, key=lambda name: -len(shared[name]))[:_SHARED]

    def names(self, program: str | None, index: str | None) -> tuple[str, str]:
        """Return the names of a program and an index, by default the server's; a `WebError` says that there is none."""
        program = program or self.default_program
        if program not in self.programs:
            raise _unknown("program", program, self.programs)
        compiled_over = self.programs[program].index
        index = index or (compiled_over if compiled_over in self.indexes else self.default_index)
        if index not in self.indexes:
            raise _unknown("index", index, self.indexes)
        return program, index

    def index(self, name: str | None, where: str | None = None) -> ColBERTIndex:
        """Return an index by its name, by default the default one, or what of it fulfils a condition. Blocks.

        Raises
        ------
        WebError
            If there is none of that name, or the condition cannot be used.
        """
        index = self.names(None, name or self.default_index)[1]
        try:
            return self.indexes[index] if where is None else self._filtered(index, where)
        except PolyqaError as error:
            raise WebError("bad_request", str(error)) from None

    def search(self, query: str, k: int, index: str | None, where: str | None) -> list[Passage]:
        """Return the best passages of an index for a query; a `WebError` says what of it cannot be. Blocks."""
        opened = self.index(index, where)
        try:
            checked = check_question(query)
        except PolyqaError as error:
            raise WebError("bad_request", str(error).replace("The question", "The query", 1)) from None
        return opened.search(checked, k)

    def program(self, name: str, index: str, where: str | None = None) -> dspy.Module:
        """Return a program over an index, loaded and warm; names are those of `names`. Blocks while it loads.

        With a condition it is a copy over the passages that fulfil it.

        Raises
        ------
        PolyqaError
            If it cannot be loaded.
        """
        source, opened = self.programs[name].source, self.index(index, where)
        if where is not None:
            return self._made(name, opened) if callable(source) else over(self.program(name, index), opened)
        key = (name, index)
        with self._locks[key]:
            if key not in self._loaded:
                program = self._made(name, opened)
                warm_up(program, self.lm)
                self._loaded[key] = program
        return self._loaded[key]

    def _made(self, name: str, index: ColBERTIndex) -> dspy.Module:
        """Return a program over an index, with the helper if that has a call to make; one that is alone has to."""
        source = self.programs[name].source
        program = source(index) if callable(source) else load(source, index=index)
        if not isinstance(program, dspy.Module):
            raise PolyqaError(f"{name} returned {program!r:.80} for an index; it has to return a dspy.Module.")
        if self._helper_lm is not None and (len(self.programs) == 1 or helping_predictors(program)):
            give_helper(program, self._helper_lm)
        return program


def _each(opened: Callable[[Any], _T], names: Iterable[str | Path | ColBERTIndex], *, named: bool) -> list[_T]:
    """Return what is opened; what cannot be is left out with a warning, unless the user has named it."""
    served: list[_T] = []
    for name in names:
        try:
            served.append(opened(name))
        except (OSError, PolyqaError) as error:
            if named:
                raise
            warnings.warn(f"Not served: {error}", stacklevel=3)
    return served


def _usable(indexes: Iterable[ColBERTIndex]) -> list[str]:
    """Return the programs that can answer over some indexes: ``sixpaq`` wants one that has a database of questions."""
    has_questions = any(questions_path(index).is_dir() for index in indexes)
    return [name for name, entry in REGISTRY.items() if has_questions or "questions" not in entry.needs]


def _latest(indexes: Sequence[ColBERTIndex]) -> ColBERTIndex:
    """Return the user's index that was built last; the shipped one if there is no other."""
    return max(indexes, key=lambda index: (index.name != DEFAULT_INDEX, index.path.stat().st_mtime))


def _made_here() -> list[Path]:
    """Return the folders of compiled programs in ``compiled``, where `polyqa adapt` and `compile` are told to put them.

    In a checkout that folder is the shipped one.
    """
    here = [card.parent for card in sorted(Path("compiled").glob(f"*/{CARD}"))]
    return [folder for folder in here if folder.name not in {*artifact_names(), *PROGRAMS}]


def _by_name(things: Sequence[Any], what: str) -> dict[str, Any]:
    by_name: dict[str, Any] = {}
    for thing in things:
        if thing.name in by_name:
            raise PolyqaError(f"Two {what} are called {thing.name}; a server offers each under its folder's name.")
        by_name[thing.name] = thing
    return by_name


def _offered(program: str | Path) -> Offered:
    if program in PROGRAMS:
        return Offered(str(program), str(program), None, _about(REGISTRY[str(program)], compiled=False))
    if re.fullmatch(r"[\w.]+:\w+", str(program)):
        return _own(str(program))
    folder = find_artifact(program)
    card = read_artifact(program).card  # says what is there if there is no such program
    assert folder is not None
    over = f" on {card.index.name}" if card.index else ""
    summary = f"{card.program}, compiled with the recipe {card.recipe.get('name', '?')}{over}"
    about = {**_about(REGISTRY.get(card.program), compiled=True), "summary": summary}
    return Offered(folder.resolve().name, folder, card.index.name if card.index else None, about)


def _own(name: str) -> Offered:
    """Return a program of the user's own by the function that makes it; its module may lie where the server starts."""
    sys.path.append(str(Path.cwd()))
    try:
        make = resolve_name(name)
    except Exception as error:  # whatever the user's module does when it is imported
        raise PolyqaError(f"The program {name} cannot be imported ({type(error).__name__}: {error}).") from error
    if not callable(make) or isinstance(make, dspy.Module):
        raise PolyqaError(
            f"{name} is {type(make).__name__}, made already; a server makes a program for each index: name a function "
            "that takes an index and returns the program."
        )
    summary, *_ = (make.__doc__ or "").strip().splitlines() or [""]
    return Offered(name.partition(":")[2], make, None, {**_about(None, compiled=False), "summary": summary})


def _about(entry: Entry | None, *, compiled: bool) -> dict[str, Any]:
    names = ("summary", "paper", "url", "calls")
    return {**{name: getattr(entry, name, "") for name in names}, "compiled": compiled}


def _unknown(what: str, name: str, things: Mapping[str, Any]) -> WebError:
    there = ", ".join(things)
    return WebError("unknown", f"There is no {what} {name!r:.80}; there are {there}.")
