"""What an answer makes of noise and of planted answers among its passages, beside strict exact match."""

from collections.abc import Sequence

from polyqa.base.values import Interpretation, Sources

from .agreement import agree
from .gold import Document


def noise_cited(pids: Sequence[str], documents: Sequence[Document]) -> float:
    """Return the share of cited passages that give no answer to the question.

        noise cited = |{p cited : p is noise}| / |{p cited}|

    Parameters
    ----------
    pids
        The passages that the readings cite.
    documents
        Those of the question, see `gold.Document`. A passage that is none of them came with another question of the
        data set, and is noise for this one.

    Returns
    -------
    float
        In [0, 1]; NaN if nothing is cited. The corpus value is the mean over the questions that cite something.

    >>> noise_cited(["a", "b", "a"], [Document("a", "correct", "1902"), Document("b", "noise")])
    0.5
    """
    cited = set(pids)
    telling = {document.pid for document in documents if document.kind != "noise"}
    return len(cited - telling) / len(cited) if cited else float("nan")


def conflicts_shown(
    readings: Sequence[Interpretation],
    sources: Sequence[Sources],
    answers: Sequence[Sequence[str]],
    wrong: Sequence[str],
) -> float:
    """Return the share of the wrong answers that are shown as what other sources say about the same thing.

        conflicts shown = |{w : a reading with a right answer has w among its other answers, or the other way}| / |W|

    Parameters
    ----------
    readings, sources
        The readings, and for each which passages say otherwise; answers are compared by `agreement.agree`.
    answers, wrong
        One list of aliases per right answer, and W, the wrong ones.

    Returns
    -------
    float
        In [0, 1]; NaN without a wrong answer, or where all are right ones as well. The corpus value is the mean over
        the questions that have some. Retrieval limits it: an answer whose document is not read cannot be shown.
    """
    right = [alias for aliases in answers for alias in aliases]
    planted = [answer for answer in wrong if answer not in right]
    pairs = [(r.answer, other.answer) for r, one in zip(readings, sources, strict=False) for other in one.otherwise]
    pairs += [(there, here) for here, there in pairs]
    conflicts = [answer for answer in planted if any(agree(a, right) and agree(b, [answer]) for a, b in pairs)]
    return len(conflicts) / len(planted) if planted else float("nan")
