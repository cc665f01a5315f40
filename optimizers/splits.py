"""Training, development and test questions must not mix."""

from collections.abc import Mapping, Sequence

from polyqa.metrics.exact_presence import normalize_answer
from polyqa.metrics.gold import Question
from polyqa.signatures import PolyqaError


def check_disjoint(splits: Mapping[str, Sequence[Question]]) -> None:
    """Check that no question is in two splits, by id or by its words.

    Parameters
    ----------
    splits
        Name to questions.

    Raises
    ------
    PolyqaError
        That names the question and the two splits, or a split that repeats an id.
    """
    by_text: dict[str, str] = {}
    by_id: dict[str, str] = {}
    for name, questions in splits.items():
        own_ids: set[str] = set()
        for question in questions:
            if question.id in own_ids:
                raise PolyqaError(f"{name} holds the question {question.id!r} twice.")
            own_ids.add(question.id)
            for kind, key, known in (
                ("id", question.id, by_id),
                ("question", normalize_answer(question.question), by_text),
            ):
                if known.setdefault(key, name) != name:
                    raise PolyqaError(
                        f"{known[key]} and {name} share a question (same {kind}): {question.id!r}, "
                        f"{question.question!r}. What is learnt from must not be measured on."
                    )
