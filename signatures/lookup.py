"""Finds what is kept for a signature by the fields of a call, whatever its name and instructions are."""

from collections.abc import Collection, Mapping
from typing import TypeVar

import dspy

Kept = TypeVar("Kept")


def find_by_fields(
    known: Mapping[type[dspy.Signature], Kept],
    inputs: Collection[str],
    outputs: Collection[str],
    *,
    exact: bool = False,
) -> Kept | None:
    """Return what is kept for the signature that a call follows, as far as its fields tell.

    A user's program or an optimizer may give a signature another name, other instructions and more fields. So of
    the signatures all of whose fields the call has, the one with the most fields counts; among equals the first.

    Parameters
    ----------
    known
        What is kept for each signature.
    inputs, outputs
        The names of the call's fields.
    exact
        Whether the call must have the signature's output fields and no other.

    Returns
    -------
    object or None
        ``None`` if no known signature has its fields among the call's.

    >>> from polyqa.signatures import AnswerClosedBook, AnswerRefined
    >>> known = {AnswerClosedBook: "from memory", AnswerRefined: "from readings"}
    >>> find_by_fields(known, ["question", "refinements"], ["reasoning", "answer"])
    'from readings'
    >>> find_by_fields(known, ["text"], ["summary"])
    """

    def fits(signature: type[dspy.Signature]) -> bool:
        field_names = set(signature.output_fields)
        outputs_fit = field_names == set(outputs) if exact else field_names <= set(outputs)
        return outputs_fit and set(signature.input_fields) <= set(inputs)

    best = max(filter(fits, known), key=lambda signature: len(signature.fields), default=None)
    return None if best is None else known[best]
