"""What must hold of every metric whatever it is given."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from polyqa.base.values import Interpretation
from polyqa.metrics import answer_coverage, exact_presence, grounded, has_answer, mrecall, normalize_answer
from polyqa.metrics.answer_f1 import answer_f1
from polyqa.metrics.disambig_f1 import disambig_f1
from polyqa.metrics.edit_f1 import edit_f1, edits, question_edit_f1
from polyqa.metrics.exact_match import exact_match
from polyqa.metrics.f1_answer import f1_answer
from polyqa.metrics.gold import Reading
from polyqa.metrics.grounded import Judgement, Ratio
from polyqa.metrics.recall import distinct_answers, recall
from polyqa.metrics.rouge_l import rouge_l
from polyqa.metrics.str_em import str_em
from polyqa.metrics.token_f1 import token_f1

NEARLY = 1e-12
# Few words, so that texts share some; articles, punctuation, case and letters beyond ASCII.
WORDS = st.sampled_from(
    ["red", "Red", "green", "the", "a", "boat", "boats", "1997", "in", "Ålesund", "U.S.", "-", "σας"]
)
TEXT = st.lists(WORDS, max_size=6).map(" ".join) | st.text(max_size=12)
ALIASES = st.lists(TEXT, min_size=1, max_size=3)
ANSWERS = st.lists(ALIASES, min_size=1, max_size=4)
TOKENS = st.lists(st.sampled_from("abcd"), max_size=5)
QUESTION = st.lists(st.sampled_from(["who", "won", "cup", "in", "1998", "2002"]), min_size=1, max_size=5).map(" ".join)
FEW = st.sampled_from(["red", "green", "the red", "1997"])
READINGS = st.lists(
    st.builds(
        Reading,
        QUESTION,
        st.lists(FEW, min_size=1, max_size=2).map(tuple),
        other_questions=st.just(()) | st.tuples(QUESTION),
    ),
    min_size=1,
    max_size=4,
)
FOUND = st.lists(st.builds(Interpretation, question=QUESTION, answer=FEW), max_size=4)
RATIOS = st.lists(st.integers(0, 5).flatmap(lambda whole: st.builds(Ratio, st.integers(0, whole), st.just(whole))))
PROSE = st.lists(st.sampled_from(["the boats", "were", "winning", "in 1997.", "It", "is", "green."]), max_size=9).map(
    " ".join
)


@st.composite
def judgements(draw: st.DrawFn) -> Judgement:
    m, n = draw(st.integers(0, 4)), draw(st.integers(0, 4))

    def flags(size: int) -> tuple[bool, ...]:
        return tuple(draw(st.lists(st.booleans(), min_size=size, max_size=size)))

    groundable = flags(n)
    supported = tuple(good and cited for good, cited in zip(groundable, flags(n), strict=True))
    return Judgement(flags(m), flags(m), flags(n), groundable, supported, distinct=draw(st.integers(0, m)))


def in_unit(*values: float) -> bool:
    return all(0.0 <= value <= 1.0 + NEARLY for value in values)


# --- short answers -------------------------------------------------------------------------------


@given(TEXT, ALIASES)
def test_short_answers(prediction: str, aliases: list[str]) -> None:
    f1, em = token_f1(prediction, aliases), exact_match(prediction, aliases)
    assert in_unit(f1)
    assert em in (0.0, 1.0)
    assert f1 >= em  # what equals an alias has all its tokens
    assert token_f1(aliases[0], aliases) == exact_match(aliases[0], aliases) == 1.0
    assert token_f1(prediction, aliases[::-1]) == f1
    assert token_f1(prediction, [*aliases, "x"]) >= f1
    assert abs(token_f1(prediction, [aliases[0]]) - token_f1(aliases[0], [prediction])) < NEARLY


@given(st.lists(TEXT, max_size=4), ANSWERS)
def test_answer_f1(predictions: list[str], answers: list[list[str]]) -> None:
    values = answer_f1(predictions, answers)
    assert len(values) == len(predictions)
    assert in_unit(*values)
    assert answer_f1(predictions, answers[::-1]) == values
    assert answer_f1([aliases[0] for aliases in answers], answers) == [1.0] * len(answers)


@given(st.lists(FEW, max_size=4), st.lists(st.lists(st.lists(FEW, min_size=1, max_size=2), max_size=3), min_size=1))
def test_f1_answer(predictions: list[str], annotations: list[list[list[str]]]) -> None:
    value = f1_answer(predictions, annotations)
    assert in_unit(value)
    assert f1_answer(predictions, annotations[::-1]) == value
    assert f1_answer(predictions, [*annotations, [["none of these"]]]) == value
    for annotation in annotations:
        # Not with several aliases each: greedy matching may give an answer to the wrong one of two.
        plain = [aliases[:1] for aliases in annotation]
        if plain:
            assert f1_answer([alias for (alias,) in plain], [plain]) == 1.0


# --- long answers --------------------------------------------------------------------------------


@given(TEXT, ANSWERS, st.data())
def test_str_em_grows_with_right_answers(text: str, answers: list[list[str]], data: st.DataObject) -> None:
    value = str_em(text, answers)
    right = data.draw(st.sampled_from([alias for aliases in answers for alias in aliases]))
    assert in_unit(value)
    assert value <= str_em(f"{text} {right}", answers)
    assert value <= str_em(f"{right} {text}", answers)
    assert exact_presence([right], f"{text} {right}")
    everything = " ".join(aliases[0] for aliases in answers)
    assert str_em(everything, answers) == 1.0
    assert str_em(text, answers[::-1]) == value


@given(st.lists(st.tuples(TEXT, ALIASES), min_size=1, max_size=4))
def test_disambig_f1(pairs: list[tuple[str, list[str]]]) -> None:
    found, gold = [one for one, _ in pairs], [aliases for _, aliases in pairs]
    score = disambig_f1(found, gold)
    assert in_unit(score.f1, score.em)
    assert score.f1 >= score.em - NEARLY
    assert score.hit == float(score.em == 1.0)
    backwards = disambig_f1(found[::-1], gold[::-1])
    assert abs(backwards.f1 - score.f1) < NEARLY
    assert (backwards.em, backwards.hit) == (score.em, score.hit)
    assert disambig_f1([aliases[0] for aliases in gold], gold).f1 == 1.0


@given(PROSE, st.lists(PROSE, min_size=1, max_size=3))
@settings(max_examples=40)
def test_rouge_l(text: str, references: list[str]) -> None:
    value = rouge_l(text, references)
    assert in_unit(value)
    assert value == max(rouge_l(text, [reference]) for reference in references)
    assert rouge_l(text, references[::-1]) == value
    assert rouge_l(text.upper(), references) == value  # the pieces of PROSE are plain ASCII
    assert abs(rouge_l(text, [text]) - (1.0 if text.strip() else 0.0)) < NEARLY


# --- rewritten questions -------------------------------------------------------------------------


@given(TOKENS, TOKENS, TOKENS)
def test_question_edit_f1(prompt: list[str], one: list[str], other: list[str]) -> None:
    value = question_edit_f1(prompt, one, other)
    assert in_unit(value)
    assert question_edit_f1(prompt, other, one) == value
    assert question_edit_f1(prompt, one, one) == 1.0
    assert question_edit_f1(prompt[::-1], one[::-1], other) == value  # bags know no order
    made = edits(prompt, one)
    assert sum(1 if kind == "added" else -1 for kind, _ in made.elements()) == len(one) - len(prompt)


@given(QUESTION, FOUND, st.lists(READINGS, min_size=1, max_size=3))
def test_edit_f1(question: str, found: list[Interpretation], annotations: list[list[Reading]]) -> None:
    value = edit_f1(question, found, annotations)
    assert in_unit(value)
    assert edit_f1(question, found, annotations[::-1]) == value
    assert value == max(edit_f1(question, found, [readings]) for readings in annotations)
    answers = [[list(reading.short_answers) for reading in readings] for readings in annotations]
    if f1_answer([one.answer for one in found], answers) == 0.0:
        assert value == 0.0  # without a right answer no question counts
    # Of readings with answers of their own, the gold ones score 1.
    for readings in annotations:
        firsts = [normalize_answer(one.short_answers[0]) for one in readings]
        if len(set(firsts)) == len(readings):
            gold = [Interpretation(question=one.question, answer=one.short_answers[0]) for one in readings]
            own = [[Reading(one.question, one.short_answers[:1]) for one in readings]]
            assert edit_f1(question, gold, own) == 1.0


# --- retrieval -----------------------------------------------------------------------------------


@given(ANSWERS, st.lists(TEXT, max_size=5), TEXT, st.integers(1, 6), st.sampled_from([has_answer, exact_presence]))
def test_passages_only_add(answers: list[list[str]], texts: list[str], more: str, k: int, match: Any) -> None:
    for metric in (answer_coverage, recall, mrecall):
        value = metric(answers, texts, k, match=match)
        assert in_unit(value)
        assert value <= metric(answers, [*texts, more], k, match=match)
        assert metric(answers, texts, len(texts) + 1, match=match) == metric(
            answers, texts[::-1], len(texts) + 1, match=match
        )
        everything = [" ".join(aliases) for aliases in answers]
        assert metric(answers, everything, len(everything), match=match) == 1.0
    for metric in (answer_coverage, recall):
        assert metric(answers, texts, k, match=match) <= metric(answers, texts, k + 1, match=match)


@given(ANSWERS, st.lists(TEXT, max_size=5))
def test_recall_of_distinct_answers_is_answer_coverage(answers: list[list[str]], texts: list[str]) -> None:
    merged = distinct_answers(answers)
    assert recall(answers, texts, 5) == answer_coverage(merged, texts, 5)
    assert recall(merged, texts, 5) == recall(answers, texts, 5)


def groups(answers: Sequence[Sequence[str]]) -> set[frozenset[str]]:
    return {frozenset(map(normalize_answer, aliases)) for aliases in answers}


@given(st.lists(st.lists(FEW | st.sampled_from(["boat", "Boat", "ship"]), min_size=1, max_size=3), max_size=6))
def test_distinct_answers_are_the_connected_ones(answers: list[list[str]]) -> None:
    merged = distinct_answers(answers)
    names = [name for own in groups(merged) for name in own]
    assert len(names) == len(set(names))  # no alias stands in two
    assert {name for own in groups(answers) for name in own} == set(names)
    assert all(any(own <= group for group in groups(merged)) for own in groups(answers))
    assert groups(distinct_answers(answers[::-1])) == groups(merged)
    assert distinct_answers(merged) == merged
    # No group can be parted: each is reached from its first alias list.
    for group in groups(merged):
        reached: set[str] = set()
        inside = [own for own in groups(answers) if own <= group]
        while inside and (touching := [own for own in inside if not reached or own & reached]):
            reached |= touching[0]
            inside.remove(touching[0])
        assert reached == group


# --- grounded metrics ----------------------------------------------------------------------------


@given(judgements())
def test_ratios_of_a_judgement(one: Judgement) -> None:
    for ratio in (
        grounded.precision,
        grounded.gold_recall,
        grounded.grounded_precision,
        grounded.grounded_recall,
        grounded.released_grounded_recall,
    ):
        made = ratio(one)
        assert 0 <= made.part <= made.whole
        assert made.value is None or in_unit(made.value)
    assert one.additional <= grounded.grounded_precision(one).part
    assert one.additional + grounded.precision(one).part <= len(one.grounded)
    if not one.grounded:
        assert grounded.grounded_precision(one).value is None


@given(RATIOS, st.randoms(use_true_random=False))
def test_averages_do_not_depend_on_the_order(ratios: list[Ratio], random: Any) -> None:
    shuffled = list(ratios)
    random.shuffle(shuffled)
    values = [ratio.value for ratio in ratios if ratio.value is not None]
    for average in (grounded.macro, grounded.micro):
        assert abs(average(shuffled) - average(ratios)) < NEARLY
        assert min(values, default=0.0) - NEARLY <= average(ratios) <= max(values, default=0.0) + NEARLY
        assert abs(average([*ratios, Ratio(0, 0)]) - average(ratios)) < NEARLY
    assert abs(grounded.macro(ratios * 2) - grounded.macro(ratios)) < NEARLY
