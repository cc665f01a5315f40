"""A question that four passages answer in three ways, for tests of the extractive engine."""

from typing import Any

import dspy

from polyqa.base.values import Interpretation
from polyqa.signatures import ExtractInterpretations

NOVEL = (
    "Solaris (novel) | Solaris is a science-fiction novel by Stanisław Lem. It was published in Poland in 1961 and is "
    "set on a station above an ocean that thinks."
)
FILM = (
    "Solaris (1972 film) | Andrei Tarkovsky directed this Soviet film of the novel. It came out in May 1972, at "
    "the Cannes Film Festival, and won the Grand Prix there."
)
REMAKE = (
    "Solaris (2002 film) | Steven Soderbergh wrote and directed the American version, with George Clooney as the "
    "psychologist. It came out in the United States on 27 November 2002."
)
LINER = "Ocean liner | An ocean liner is a passenger ship that runs on a schedule between ports."
FESTIVAL = "Cannes 1972 | At the festival of May 1972 the film Solaris came out, and the Grand Prix was given to it."
PASSAGES = [NOVEL, FILM, REMAKE, LINER]
QUESTION = "When did Solaris come out?"


def predict(signature: type[dspy.Signature], **inputs: Any) -> dspy.Prediction:
    """Return what the configured language model says, by default to `QUESTION`."""
    return dspy.Predict(signature)(**{"question": QUESTION, **inputs})


def extract(**more: Any) -> list[Interpretation]:
    """Return the readings of `QUESTION` that `PASSAGES` answer."""
    return list(predict(ExtractInterpretations, **{"passages": PASSAGES, **more}).interpretations)
