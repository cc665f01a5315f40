"""What the models that run in this process share: a memory of results, and pickles that bring no weights."""

import hashlib
import inspect
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Generic, TypeVar

from polyqa.base.copies import Shared

Item = TypeVar("Item")
Result = TypeVar("Result")


_OTHERS = 256
"""How many items of others a thread makes with its own at most, so that it does not wait for long."""


class Memory(Generic[Result]):
    """The latest results; may be used by many threads.

    What several threads want at the same time is made together: while one call of the model runs, the others' items
    wait, and the next call takes all of them. What two want at the same time is made once.

    Parameters
    ----------
    size
        How many results to keep; the oldest are forgotten first.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._results: OrderedDict[bytes, Result] = OrderedDict()
        self._wanted: OrderedDict[bytes, _Wanted] = OrderedDict()
        self._lock = threading.RLock()
        self._making = threading.Lock()

    def get(
        self,
        items: Sequence[Item],
        make: Callable[[list[Item]], Sequence[Result]],
        *,
        kind: Hashable = None,
    ) -> list[Result]:
        """Return the result of every item, in order; those that are not kept are made in one call.

        Parameters
        ----------
        items
            Texts, or tuples and dataclasses of them: each is known by a hash of what it shows itself as.
        make
            Makes the results of some items, in order.
        kind
            Items of one kind may be made together, whoever wants them: ``make`` does the same for all of them.
        """
        keys = [hashlib.blake2b(repr((kind, item)).encode(), digest_size=16).digest() for item in items]
        with self._lock:
            results = {key: self._results[key] for key in keys if key in self._results}
            lacking = {key: item for key, item in zip(keys, items, strict=True) if key not in results}
            awaited = {key: self._wanted.setdefault(key, _Wanted(item, kind)) for key, item in lacking.items()}
        if awaited:
            with self._making:
                self._make(awaited, make, kind)
            results |= {key: entry.result for key, entry in awaited.items()}
        return [results[key] for key in keys]

    def _make(
        self, awaited: Mapping[bytes, "_Wanted"], make: Callable[[list[Any]], Sequence[Result]], kind: Hashable
    ) -> None:
        """Make what is wanted of some items and is not made yet, and what others of their kind wait for."""
        missing = {key: entry for key, entry in awaited.items() if not entry.done}
        if not missing:
            return
        with self._lock:
            other_keys = (key for key, its in self._wanted.items() if its.kind == kind and key not in missing)
            other_entries = {key: self._wanted[key] for key in islice(other_keys, _OTHERS)}
        try:
            self._make_now({**missing, **other_entries}, make)
        except Exception:
            if not other_entries:
                raise
            self._make_now(missing, make)  # whose fault it is cannot be known: the others make theirs themselves
        finally:
            self._forget(missing)

    def _make_now(self, entries: Mapping[bytes, "_Wanted"], make: Callable[[list[Any]], Sequence[Result]]) -> None:
        results = make([entry.item for entry in entries.values()])
        for entry, result in zip(entries.values(), results, strict=True):
            entry.result, entry.done = result, True
        with self._lock:
            self._results.update(zip(entries, results, strict=True))
            while len(self._results) > self.size:
                self._results.popitem(last=False)
        self._forget(entries)

    def _forget(self, entries: Mapping[bytes, "_Wanted"]) -> None:
        with self._lock:
            for key, entry in entries.items():
                if self._wanted.get(key) is entry:
                    del self._wanted[key]


@dataclass(eq=False)
class _Wanted:
    """An item that somebody waits for, and what came of it."""

    item: Any
    kind: Hashable
    done: bool = False
    result: Any = None


class locked_property(cached_property[Result]):
    """A `cached_property` that one thread makes while the others wait, by the ``_lock`` of its object."""

    def __get__(self, instance: Any, owner: type | None = None) -> Result:  # type: ignore[override]
        if instance is None:
            return self  # type: ignore[return-value]
        with instance._lock:
            return super().__get__(instance, owner)


class SharedModel(Shared):
    """A model that a pickle makes again from its constructor's arguments, which are attributes of the same names."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]
