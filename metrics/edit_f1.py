"""AmbigQA's EDIT-F1: whether rewritten questions make the right changes to the ambiguous one."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from polyqa.base.values import Interpretation

from .exact_match import exact_match
from .gold import Reading
from .text import normalize_answer

# What Stanford's tokenizer makes of typographic marks and currencies, as far as normalisation leaves it.
_MARKS = str.maketrans({**dict.fromkeys("–—£€\u200b", " "), **dict.fromkeys("‘’", "'"), **dict.fromkeys("“”", '"')})


@lru_cache(maxsize=50_000)
def question_tokens(question: str) -> tuple[str, ...]:
    """Return the tokens that EDIT-F1 compares: Treebank tokens without case, punctuation and articles.

    >>> question_tokens("Who won the Cup (1999)?")
    ('who', 'won', 'cup', 'lrb', '1999', 'rrb')
    """
    from nltk.tokenize import TreebankWordTokenizer

    parts = TreebankWordTokenizer().tokenize(question.translate(_MARKS), convert_parentheses=True)
    return tuple(normalize_answer(" ".join(parts)).split())


def edits(source: Sequence[str], target: Sequence[str]) -> Counter[tuple[str, str]]:
    """Return the bag of ``("added", token)`` and ``("deleted", token)`` that turn source into target."""
    before, after = Counter(source), Counter(target)
    changed = {("added", token): count for token, count in (after - before).items()}
    changed |= {("deleted", token): count for token, count in (before - after).items()}
    return Counter(changed)


def question_edit_f1(prompt: Sequence[str], predicted: Sequence[str], gold: Sequence[str]) -> float:
    """Return the F1 of the edits of one rewritten question, over tokens.

    Two questions without edits agree (1.0); if only one has none, 0.0.
    """
    gold_edits, predicted_edits = edits(prompt, gold), edits(prompt, predicted)
    if not gold_edits or not predicted_edits:
        return float(not gold_edits and not predicted_edits)
    common = (gold_edits & predicted_edits).total()
    return 2 * common / (gold_edits.total() + predicted_edits.total())


def edit_f1(question: str, predictions: Sequence[Interpretation], annotations: Sequence[Sequence[Reading]]) -> float:
    """Return EDIT-F1 of the readings found for one ambiguous question, maximum over annotators.

        EDIT-F1 = 2 Σ f / (n + m)

    where n gold and m predicted readings are paired greedily, best f first, and f is
    `question_edit_f1` of a pair whose answers match exactly (0 for other pairs); of a gold reading that is asked
    in several ways, the way with the best f counts.

    Parameters
    ----------
    question
        The ambiguous question.
    predictions
        Rewritten questions with their answers.
    annotations
        Per annotator the gold readings. An annotator with a single reading saw no ambiguity: there
        only the answer is compared, f is 1.

    Returns
    -------
    float
        In [0, 1]. The corpus value is the mean over the questions for which every annotator has
        several readings.

    Raises
    ------
    ValueError
        If there is no annotation.

    Notes
    -----
    Source: AmbigQA's official script (Min et al., 2020). It tokenises with Stanford's PTBTokenizer
    (Java); `question_tokens` gives the same tokens for 3,974 of the 3,976 questions of AmbigNQ's dev set.
    """
    if not annotations:
        raise ValueError("EDIT-F1 without an annotation is undefined")
    return max(_paired(question, predictions, readings) for readings in annotations)


def _paired(question: str, predictions: Sequence[Interpretation], readings: Sequence[Reading]) -> float:
    if not predictions or not readings:
        return 0.0
    prompt = question_tokens(question)
    scores = sorted(
        (
            (_pair(prompt, prediction, gold, plain=len(readings) == 1), row, column)
            for row, prediction in enumerate(predictions)
            for column, gold in enumerate(readings)
        ),
        key=lambda scored: -scored[0],
    )
    total, rows, columns = 0.0, set[int](), set[int]()
    for score, row, column in scores:
        if row not in rows and column not in columns:
            total += score
            rows.add(row)
            columns.add(column)
    return 2 * total / (len(predictions) + len(readings))


def _pair(prompt: Sequence[str], prediction: Interpretation, gold: Reading, *, plain: bool) -> float:
    if not exact_match(prediction.answer, gold.short_answers):
        return 0.0
    tokens = question_tokens(prediction.question)
    return 1.0 if plain else max(question_edit_f1(prompt, tokens, question_tokens(way)) for way in gold.questions)
