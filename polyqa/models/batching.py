"""Batches of texts of one padded length."""

from collections.abc import Iterator, Sequence


def by_padded_length(
    lengths: Sequence[int], batch_size: int, *, step: int, longest: int
) -> Iterator[tuple[list[int], int]]:
    """Yield positions that share a batch, and the length that all of them are padded to.

    A text is padded to the same length whatever else is there: what bfloat16 makes of it would change with the
    padding, and near ties with it. It also keeps the number of shapes small; oneDNN compiles a kernel for each.

    Parameters
    ----------
    lengths
        Tokens per text.
    batch_size
        Texts per batch at most.
    step, longest
        Lengths are rounded up to a multiple of ``step``, at most ``longest``.

    >>> list(by_padded_length([5, 30, 7, 31], 2, step=8, longest=31))
    [([0, 2], 8), ([1, 3], 31)]
    """
    groups: dict[int, list[int]] = {}
    for position, length in enumerate(lengths):
        groups.setdefault(min(-(-length // step) * step, longest), []).append(position)
    for padded in sorted(groups):
        own = groups[padded]
        for begin in range(0, len(own), batch_size):
            yield own[begin : begin + batch_size], padded
