"""What a program shows its predictors of a training question, and which gold readings that answers."""

import random
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import dspy

from polyqa.base.values import Interpretation, Passage, as_passages
from polyqa.metrics.exact_presence import exact_presence
from polyqa.metrics.gold import Question, Reading
from polyqa.programs.sixpaq import candidate_readings
from polyqa.programs.spanwise import Finding

Demo = dict[str, Any]
Held = tuple[Reading, int, str]
"""A reading, the number of the passage that answers it, and the alias that stands there."""

_SHOWN = 5  # passages of a demo, for programs that have no K of their own


class Shown:
    """What a program finds for a question before any call, as it would show it; looked up at most once, when needed.

    A program says what it finds by these methods; what it does not offer is empty here.

    - ``retrieve`` returns its passages, of which a prompt shows the first ``passages`` (an attribute; else 5);
    - ``shortlisted`` returns the passages that a predictor chooses from;
    - ``similar_questions`` returns the generated questions (`polyqa.questions.FoundQuestion`) that one chooses from;
    - ``mark``, given the passages too, returns the findings (`programs.spanwise.Finding`) that one judges.
    """

    def __init__(self, program: dspy.Module, question: str) -> None:
        self._program = program
        self._question = question
        count = getattr(program, "passages", None)
        self.count: int = count if isinstance(count, int) else _SHOWN

    @cached_property
    def retrieved(self) -> list[Passage]:
        """All passages that the program retrieves, for predictors that see one at a time."""
        return _retrieved(self._find("retrieve"))

    @property
    def passages(self) -> list[Passage]:
        """The passages of a prompt that shows several."""
        return self.retrieved[: self.count]

    @cached_property
    def shortlist(self) -> list[Passage]:
        """The passages from which ``count`` are chosen."""
        return _retrieved(self._find("shortlisted"))

    @cached_property
    def candidates(self) -> list[Interpretation]:
        """The generated questions with their answers, as candidates for readings."""
        return candidate_readings(self._find("similar_questions"))

    @cached_property
    def findings(self) -> list[Finding]:
        """The short pieces of the passages that may answer."""
        return self._find("mark", self.retrieved)

    def _find(self, method: str, *arguments: Any) -> Any:
        find = getattr(self._program, method, None)
        return [] if find is None else find(self._question, *arguments)


def _retrieved(result: Any) -> list[Passage]:
    """Return what a program retrieves: passages, one text or several, rows with a text, a prediction of these."""
    listed = result.get("passages") if isinstance(result, dspy.Prediction) else result
    if listed is None or isinstance(listed, str):
        listed = [listed] if listed else []
    texts = (one["text"] if isinstance(one, Mapping) and "text" in one else one for one in listed)
    return list(as_passages([one if isinstance(one, Passage) else str(one) for one in texts]))


def held_readings(question: Question, passages: Sequence[Passage]) -> list[Held]:
    """Return the readings that passages answer, with the passage's number and the alias that stands there."""
    texts = [passage.render() for passage in passages]
    citations = []
    for reading in question.readings:
        places = [number for number, text in enumerate(texts, 1) if exact_presence(reading.short_answers, text)]
        if not places:
            continue
        place = next((number for number in places if passages[number - 1].pid == reading.pid), places[0])
        alias = next(one for one in reading.short_answers if exact_presence([one], texts[place - 1]))
        citations.append((reading, place, alias))
    return citations


def cut(
    passages: Sequence[Passage], citations: Sequence[Held], *, spare: int, mixed_by: str = ""
) -> tuple[list[Passage], list[Held]]:
    """Return the passages that the readings cite and a few others, and the readings with the new numbers.

    A demo with all the passages of its prompt costs as much as the prompt, and five of them five times as
    much. What a model learns from, is the passages that are cited, and that some are not.

    Parameters
    ----------
    spare
        How many passages that no reading cites are kept, the best ones.
    mixed_by
        Passages come in an order that is drawn by this text; in their own if it is empty. Best first, what no
        reading cites stands last nearly always, and a model learns that the last passage never counts.
    """
    cited = {number for _, number, _ in citations}
    uncited = [number for number in range(1, len(passages) + 1) if number not in cited][:spare]
    numbers = sorted([*cited, *uncited])
    if mixed_by:
        random.Random(mixed_by).shuffle(numbers)
    return (
        [passages[number - 1] for number in numbers],
        [(reading, numbers.index(number) + 1, alias) for reading, number, alias in citations],
    )


def first_empty(question: Question, passages: Sequence[Passage]) -> Passage | None:
    """Return the best passage that holds no gold answer."""
    answers = [answer for reading in question.readings for answer in reading.short_answers]
    return next((passage for passage in passages if not exact_presence(answers, passage.render())), None)
