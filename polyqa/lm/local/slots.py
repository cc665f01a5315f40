"""Which slot of llama.cpp's server a call gets: that which has read most of its prompt."""

import threading
from os.path import commonprefix


class Slots:
    """The slots of a server. Each has read the prompt of its last call, and does not read again how the next begins.

    llama.cpp chooses by the same rule, but among all slots, and would take what was read with added weights
    (`polyqa.models.gguf.lora_files`) for a call without them. Calls with them share a slot of their own, the last one,
    so they are computed one after the other. The others are at least as many as calls that are computed at once.
    """

    def __init__(self, count: int) -> None:
        self.read = [""] * count  # the prompt of the last call of each, without that of added weights
        self._free = list(range(count))  # the last one was used last
        self._lock = threading.Lock()

    def take(self, prompt: str, *, lora: bool = False) -> int:
        """Return the number of a slot that is free, now that of a call with this prompt, or with added weights.

        >>> slots = Slots(2)
        >>> first, other = slots.take("Say Yes or No. Is it old?"), slots.take("Tell a story.")
        >>> slots.give(first), slots.give(other)
        (None, None)
        >>> slots.take("Say Yes or No. Is it new?") == first
        True
        """
        if lora:
            return len(self.read)
        with self._lock:
            known = {free: len(commonprefix([prompt, self.read[free]])) for free in self._free}  # noqa: RUF071 - texts
            slot = max(self._free, key=known.__getitem__)
            self._free.remove(slot)
            self.read[slot] = prompt
            return slot

    def give(self, slot: int) -> None:
        """Say that a call has ended."""
        with self._lock:
            if slot < len(self.read):
                self._free.append(slot)
