"""What the models that run in this process share: a memory of results, and copies that bring no weights."""

import inspect
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Generic, Self, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Memory(Generic[Result]):
    """The latest results by their keys; may be used by many threads.

    Parameters
    ----------
    size
        How many results to keep; the oldest are forgotten first.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._kept: OrderedDict[bytes, Result] = OrderedDict()
        self._lock = threading.RLock()

    def get(
        self, keys: Sequence[bytes], items: Sequence[Item], make: Callable[[list[Item]], Sequence[Result]]
    ) -> list[Result]:
        """Return the result of every item, in order; those that are not kept are made in one call."""
        with self._lock:
            missing = {key: item for key, item in zip(keys, items, strict=True) if key not in self._kept}
            fresh = dict(zip(missing, make(list(missing.values())), strict=True)) if missing else {}
            found = [fresh[key] if key in fresh else self._kept[key] for key in keys]
            self.put(fresh)
        return found

    def put(self, results: dict[bytes, Result]) -> None:
        """Keep results that were made elsewhere."""
        with self._lock:
            self._kept.update(results)
            while len(self._kept) > self.size:
                self._kept.popitem(last=False)


class Shared:
    """What a deep copy shares: optimizers copy programs, and models and indexes are large and only read."""

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self


class SharedModel(Shared):
    """A model that a pickle makes again from its constructor's arguments.

    Each of them is an attribute of the same name, but ``memory``, the size of the memory.
    """

    _memory: Memory[Any]

    def __getstate__(self) -> dict[str, Any]:
        names = inspect.signature(type(self)).parameters
        return {name: self._memory.size if name == "memory" else getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]
