"""Notices that whatever answers has gone, whenever that happens: the last things that were done have failed alike."""

import threading
from collections import deque

from polyqa.base.errors import PolyqaError

AT_ONCE = 8
"""So many failures of a kind, one after the other, are an outage: at the start, or where no reply came at all."""
WINDOW = 20
"""So many are one at any time, even of replies that came and could not be used."""
HOW_TO_GO_ON = "What is finished is kept. Mend the cause and start the same command again: what failed is asked again."
_REPLIED = frozenset({"AdapterParseError", "JudgeError"})


class Outage:
    """Watches what ends, in the order in which it ends.

    One question in two may fail and the run still goes on: that eight fail in a row then happens once in 256 times. It
    would stop a run over a thousand questions, so that many count only where nothing has come of a server; of replies
    that cannot be read, or a judge that fails, it takes twenty.

    Parameters
    ----------
    things
        What is done, in the plural.
    at_once
        How many failures in a row stop it.
    """

    def __init__(self, things: str, at_once: int = AT_ONCE) -> None:
        self._things = things
        self._at_once = at_once
        self._recent: deque[tuple[str, str]] = deque(maxlen=max(at_once, WINDOW))
        self._ended = 0
        self._lock = threading.Lock()

    def ended(self, failure: str = "", kind: str = "") -> None:
        """Note that a thing has ended.

        Parameters
        ----------
        failure
            Why it failed, in a line; empty if it did not.
        kind
            The class of its error.
        """
        with self._lock:
            self._recent.append((failure, kind))
            self._ended += 1

    @property
    def last(self) -> str:
        """Why the last thing failed, if there is an outage; else empty."""
        with self._lock:
            recent = list(self._recent)
            first = self._ended == len(recent)
        if not recent or not recent[-1][0]:
            return ""
        failure, kind = recent[-1]
        alike = 0
        for why, other in reversed(recent):
            if not why or other != kind:
                break
            alike += 1
        enough = self._at_once if kind not in _REPLIED or (first and alike == len(recent)) else WINDOW
        return failure if alike >= enough else ""

    def check(self) -> None:
        """Check that it is worth going on.

        Raises
        ------
        PolyqaError
            If the last things have all failed, for reasons of one kind.
        """
        if failure := self.last:
            raise PolyqaError(f"Stopped, as {self._things} fail one after the other: {failure} {HOW_TO_GO_ON}")
