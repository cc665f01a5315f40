"""The scores of an artifact's card question by question, so that a later run can be compared with them in pairs.

``scores.json`` has ids and numbers only: neither questions nor answers, so that test questions stay unseen.
"""

import json
from typing import Annotated

from pydantic import BaseModel, Field, ValidationError, model_validator

from polyqa.base.errors import PolyqaError

from .store import SCORES, Artifact, read_json

_Values = dict[Annotated[str, Field(max_length=100)], list[float | None]]


class SetScores(BaseModel, extra="forbid", frozen=True):
    """One set's scores.

    Attributes
    ----------
    ids
        Of the questions.
    before, after
        By the name of a score the values of the uncompiled and the compiled program, in [0, 1], one for each id;
        ``None`` where a question has none.
    """

    ids: list[str]
    before: _Values
    after: _Values

    @model_validator(mode="after")
    def _of_one_length(self) -> "SetScores":
        lengths = {len(values) for side in (self.before, self.after) for values in side.values()}
        if lengths - {len(self.ids)} or self.before.keys() != self.after.keys():
            raise ValueError("the scores are not one for each question")
        return self


class QuestionScores(BaseModel, extra="forbid", frozen=True):
    """The scores that the measure of a card is made of, on its dev and its test questions."""

    dev: SetScores | None = None
    test: SetScores | None = None

    def to_text(self) -> str:
        """Return what ``scores.json`` holds."""
        return json.dumps(self.model_dump(exclude_none=True), ensure_ascii=False, separators=(",", ":")) + "\n"


def read_scores(artifact: Artifact) -> QuestionScores | None:
    """Return the scores of an artifact's questions; ``None`` if it keeps none.

    Raises
    ------
    PolyqaError
        If the file is damaged.
    """
    path = artifact.path / SCORES
    if not path.exists():
        return None
    try:
        return QuestionScores.model_validate(read_json(path))
    except ValidationError as error:
        raise PolyqaError(
            f"{path} is damaged: {error.errors()[0]['msg']}. Remove it; the card's figures stay."
        ) from error
