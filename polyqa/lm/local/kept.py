"""What llama.cpp has read of prompts, in files: a prompt that begins like one of them is read on from there."""

import hashlib
import json
import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from polyqa.base.files import write_atomically
from polyqa.base.text import in_common
from polyqa.models.gguf import kept_files, kept_folder

_WORTH = 400  # characters, some 100 tokens: to read them takes seconds, to restore what was read milliseconds
_EARLIER = 32  # prompts of which is known how they began


class KeptPrompts:
    """Prompts that left their slot, so that a program whose prompts outnumber the slots pays once for its demos.

    Parameters
    ----------
    path, context
        The model's file, and the tokens of a slot's context: what was read with others cannot be restored.
    limit
        Bytes that the files of this model may have together; those not used for longest are deleted. With 0 nothing
        is kept.
    ask
        Has a slot save or restore what it has read, in a file of `kept_folder`, and returns whether it did.
    """

    def __init__(self, path: Path, context: int, limit: int, ask: Callable[[int, str, str], bool]) -> None:
        self._path, self._limit, self._ask = path, limit, ask
        state = path.stat()
        parts = [str(path), state.st_size, state.st_mtime_ns, context, version("xllamacpp")]
        self._stem = f"{path.stem}-{_short_hash(json.dumps(parts))}"
        self._earlier: deque[str] = deque(maxlen=_EARLIER)
        self._kept: dict[str, str] = {}  # by the name of its file
        self._lock = threading.Lock()
        if limit:
            with suppress(OSError):  # where nothing can be written, nothing is kept; the files show prompts
                kept_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
            for file in kept_files(path):
                if file.name.startswith(f"{self._stem}.") and file.suffix == ".txt":
                    with suppress(OSError, ValueError):
                        self._kept[file.stem] = file.read_text("utf-8")

    def turn(self, slot: int, before: str, prompt: str) -> None:
        """Have a slot, free so far, read on from what is kept; first keep what it has read.

        Parameters
        ----------
        slot
            Its number.
        before, prompt
            What it has read, and what it is to read now.
        """
        here = in_common(before, prompt)
        with self._lock:
            common, name = self._nearest(prompt)
            self.keep(slot, before, stays=here)
            self._earlier.append(prompt)
            if common - here <= _WORTH:
                return
            if not self._ask(slot, "restore", name):
                self._kept.pop(name, None)
                return
            with suppress(OSError):
                for file in self._files(name):
                    os.utime(file)  # used last

    def keep(self, slot: int, prompt: str, *, stays: int = 0) -> None:
        """Keep a prompt that a slot has read, unless how it and others begin is kept already.

        Its first ``stays`` characters stay in the slot.
        """
        covered = max(stays, self._nearest(prompt)[0])
        common = max((in_common(prompt, other) for other in self._earlier if other != prompt), default=0)
        if not self._limit or len(prompt) <= _WORTH or _WORTH <= covered >= common - _WORTH:
            return
        name = f"{self._stem}.{_short_hash(prompt)}"
        state, text = self._files(name)
        draft = state.with_name(f"{self._stem}.{os.getpid()}-{slot}")
        with suppress(OSError, ValueError):  # also where the model's file was removed, or a prompt has half a character
            try:
                if not self._ask(slot, "save", draft.name):
                    return
                draft.replace(state)
                write_atomically(text, prompt)
            finally:
                draft.unlink(missing_ok=True)
            self._kept[name] = prompt
            self._make_room()

    def _make_room(self) -> None:
        files = [(file, file.stat()) for file in kept_files(self._path)]
        size = sum(state.st_size for _, state in files)
        for file, state in sorted(files, key=lambda pair: pair[1].st_mtime_ns):
            if size <= self._limit:
                return
            file.unlink(missing_ok=True)
            size -= state.st_size
            self._kept.pop(file.name.removesuffix(".txt"), None)

    def _nearest(self, prompt: str) -> tuple[int, str]:
        """Return how much a kept prompt has in common with another at most, in characters, and its name."""
        return max(((in_common(prompt, text), name) for name, text in self._kept.items()), default=(0, ""))

    def _files(self, name: str) -> tuple[Path, Path]:
        return kept_folder() / name, kept_folder() / f"{name}.txt"


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]
