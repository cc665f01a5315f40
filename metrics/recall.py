"""Answer recall of retrieval, recall@k."""

from collections.abc import Sequence

from .answer_coverage import answer_coverage
from .answer_match import Match, has_answer
from .text import check_lists, normalize_answer


def recall(answers: Sequence[Sequence[str]], texts: Sequence[str], k: int, *, match: Match = has_answer) -> float:
    """Return the share of a question's distinct answers that the first k passages mention.

        recall@k = |{a ∈ A : some passage among the first k holds an alias of a}| / |A|

    Parameters
    ----------
    answers
        One list of aliases per answer. Lists that share a normalised alias are one answer of A:
        unlike AC@k, which counts disambiguated questions.
    texts
        The retrieved passages' texts, best first; fewer than k are allowed.
    k
        At least 1.
    match
        Decides whether a passage holds an answer, see `answer_match.covered_answers`.

    Returns
    -------
    float
        In [0, 1]; with a single answer it is DPR's top-k accuracy. The corpus value is the mean over
        questions (SIXPAQ, table 2; DIVA, table 6).

    Raises
    ------
    ValueError
        If there is no answer, or k is below 1.
    """
    return answer_coverage(distinct_answers(answers), texts, k, match=match)


def distinct_answers(answers: Sequence[Sequence[str]]) -> list[list[str]]:
    """Merge the answers that share an alias after normalisation; order of first appearance.

    >>> distinct_answers([["Turin", "Torino"], ["Oslo"], ["torino"]])
    [['Turin', 'Torino', 'torino'], ['Oslo']]
    """
    check_lists(answers, 2)
    groups: list[tuple[list[str], set[str]]] = []
    for aliases in answers:
        alias_keys = {normalize_answer(alias) for alias in aliases}
        touching = [group for group in groups if group[1] & alias_keys]
        place = groups.index(touching[0]) if touching else len(groups)
        names = [name for group, _ in touching for name in group] + list(aliases)
        groups = [group for group in groups if group not in touching]
        groups.insert(place, (list(dict.fromkeys(names)), alias_keys.union(*(keys for _, keys in touching))))
    return [names for names, _ in groups]
