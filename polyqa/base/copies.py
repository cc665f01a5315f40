"""What optimizers copy with a program."""

from typing import Self


class Shared:
    """What a deep copy shares: models and indexes, which are large and only read, and what has connections or files."""

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self
