"""Which slot of llama.cpp's server a call gets: that which has read most of its prompt."""

import threading

from polyqa.base.text import in_common


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

    def take(self, prompt: str, *, lora: bool = False) -> tuple[int, str]:
        """Return the number of a slot that is free, now that of a call with this prompt, and what it had read before.

        Of one with added weights it is not known.

        >>> slots = Slots(2)
        >>> (first, _), (other, _) = slots.take("Say Yes or No. Is it old?"), slots.take("Tell a story.")
        >>> slots.give(first), slots.give(other)
        (None, None)
        >>> slots.take("Say Yes or No. Is it new?") == (first, "Say Yes or No. Is it old?")
        True
        """
        if lora:
            return len(self.read), ""
        with self._lock:
            common = {free: in_common(prompt, self.read[free]) for free in self._free}
            slot = max(self._free, key=common.__getitem__)
            self._free.remove(slot)
            before, self.read[slot] = self.read[slot], prompt
            return slot, before

    def idle(self) -> list[tuple[int, str]]:
        """Return the slots that no call has now, each with what it has read."""
        with self._lock:
            return [(slot, self.read[slot]) for slot in self._free]

    def give(self, slot: int) -> None:
        """Say that a call has ended."""
        with self._lock:
            if slot < len(self.read):
                self._free.append(slot)
