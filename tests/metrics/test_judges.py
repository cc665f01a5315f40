from collections.abc import Collection, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from table_reader import TableReader

from polyqa.base.values import Interpretation, Passage
from polyqa.metrics.embedded_judge import EmbeddedJudge
from polyqa.metrics.gold import Question
from polyqa.metrics.gold import Reading as GoldReading
from polyqa.metrics.grounded import Ratio, grounded_recall
from polyqa.metrics.judges import Claim, judge_readings
from polyqa.models import Encoder, Reader


class TableJudge:
    """Supports the listed (question, pid) pairs; two readings are the same if they are spelt the same."""

    name = "table"

    def __init__(self, supports: Collection[tuple[str, str | None]] = ()) -> None:
        self.supports = supports
        self.calls: list[str] = []
        self.asked: list[tuple[Claim, str]] = []

    def covered(self, question: str, found: Sequence[Claim], wanted: Sequence[Claim]) -> list[bool]:
        self.calls.append("covered")
        return [any(one.question == other.question for other in found) for one in wanted]

    def supported(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[bool]:
        self.calls.append("supported")
        self.asked += [(claim, passage.pid) for claim, passage in pairs]
        return [(claim.question, passage.pid) in self.supports for claim, passage in pairs]

    def distinct(self, question: str, readings: Sequence[Claim]) -> list[bool]:
        self.calls.append("distinct")
        questions = [one.question for one in readings]
        return [question not in questions[:at] for at, question in enumerate(questions)]


GOLD = Question("1", "Who?", (GoldReading("Who first?", ("She", "Her")), GoldReading("Who last?", ("He",))))
TEXTS = [Passage(pid=pid, text=f"text of {pid}") for pid in ("a", "b", "c")]


def reading(question: str, pid: str | None = None, answer: str = "x") -> Interpretation:
    return Interpretation(question=question, answer=answer, pid=pid)


# --- what a judge is asked -----------------------------------------------------------------------


def named(texts: str) -> list[tuple[str, str | None]]:
    """Return (question, pid) of texts such as ``first-a``."""
    pairs = [text.split("-") for text in texts.split()]
    return [(f"Who {word}?", pid or None) for word, pid in pairs]


# What the judge supports; the interpretations; per interpretation whether it is grounded, and matched; per gold
# reading whether it is found, groundable, and supported by a cited passage; how many interpretations are distinct.
@pytest.mark.parametrize(
    ("supports", "given", "decisions", "distinct"),
    [
        ("first-a last-c else-b", "first-a else-b odd-b", "yyn|ynn|yn|yy|yn", 3),  # c is cited by nobody
        ("first-a", "first-b", "n|y|yn|yn|nn", 1),  # held against the cited passage only
        ("first-c", "first- odd-", "yn|yn|yn|yn|yn", 2),  # against all, and all count as cited
        ("first-c", "first-elsewhere odd-elsewhere", "yn|yn|yn|yn|yn", 2),
        ("first-a", "first-a first-a first-a", "yyy|yyy|yn|yn|yn", 1),
        ("last-b", "", "||nn|ny|nn", 0),  # only gold readings are judged
    ],
)
def test_every_decision_lands_where_it_belongs(supports: str, given: str, decisions: str, distinct: int) -> None:
    judge, found = TableJudge(named(supports)), [reading(*pair) for pair in named(given)]
    result = judge_readings(GOLD, found, TEXTS, judge)
    made = (result.grounded, result.matched, result.found, result.groundable, result.supported)
    assert "|".join("".join("ny"[mark] for mark in marks) for marks in made) == decisions
    assert result.distinct == distinct
    for one in found:
        asked = {pid for claim, pid in judge.asked if claim == Claim(one.question, ("x",))}
        assert asked == ({one.pid} if one.pid in ("a", "b", "c") else {"a", "b", "c"})
    assert found or judge.calls == ["supported"]


def test_a_system_does_not_gain_recall_by_giving_few_of_the_passages_that_it_retrieved() -> None:
    judge = TableJudge({("Who first?", "a"), ("Who last?", "c")})
    result = judge_readings(GOLD, [reading("Who first?", "a")], TEXTS[:1], judge, universe=TEXTS)
    assert result.groundable == (True, True)
    assert result.supported == (True, False)
    assert grounded_recall(result).value == 0.5


def test_a_shortened_passage_supports_what_is_left_of_it() -> None:
    class Texts(TableJudge):
        def supported(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[bool]:
            return ["whole" in passage.text for _, passage in pairs]

    shortened = [Passage(pid="a", text="cut")]
    whole = [Passage(pid="a", text="the whole text")]
    result = judge_readings(GOLD, [reading("Who first?", "a")], shortened, Texts(), universe=whole)
    assert result.grounded == (False,)
    assert result.groundable == (True, True)
    assert result.supported == (False, False)


def test_a_grounded_reading_that_repeats_an_ungroundable_gold_one_belongs_to_the_grounded_gold_set() -> None:
    class Generous(TableJudge):
        def supported(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[bool]:
            return [claim.answers == ("x",) for claim, _ in pairs]  # the generated ones, not the gold ones

    result = judge_readings(GOLD, [reading("Who first?", "a")], TEXTS, Generous())
    assert (result.grounded, result.matched, result.groundable) == ((True,), (True,), (False, False))
    assert result.repeated == (False,)
    assert grounded_recall(result) == Ratio(1, 1)


def test_claims_carry_the_answers_and_all_pairs_are_asked_about_at_once() -> None:
    judge = TableJudge()
    judge_readings(GOLD, [reading("Who first?", "a", "She"), reading("Who last?", answer=" ")], TEXTS, judge)
    assert judge.asked[:4] == [(Claim("Who first?", ("She",)), "a"), *((Claim("Who last?"), pid) for pid in "abc")]
    assert {claim for claim, _ in judge.asked[4:]} == {Claim("Who first?", ("She", "Her")), Claim("Who last?", ("He",))}
    assert len(judge.asked) == 1 + 3 + 2 * 3
    assert sorted(judge.calls) == ["covered", "covered", "distinct", "supported"]


@pytest.mark.parametrize("method", ["supported", "distinct"])
@pytest.mark.parametrize("decisions", [[True], [True] * 99])
def test_a_judge_with_too_few_or_too_many_decisions_is_refused(method: str, decisions: list[bool]) -> None:
    judge = TableJudge()
    setattr(judge, method, lambda *_: decisions)
    with pytest.raises(ValueError, match=r"zip\(\) argument 2"):
        judge_readings(GOLD, [reading("Who first?", "a"), reading("Who last?", "b")], TEXTS, judge)


def test_without_passages_nothing_is_grounded() -> None:
    result = judge_readings(GOLD, [reading("Who first?"), reading("Who last?", "a")], [], TableJudge())
    assert result.grounded == (False, False)
    assert result.groundable == result.supported == (False, False)
    assert result.found == (True, True)


# --- the embedded judge --------------------------------------------------------------------------

CAMERON = Passage(
    pid="cameron",
    title="Titanic (1997 film)",
    text="Titanic is an epic film that James Cameron wrote and directed. It was released in December 1997.",
)
NEGULESCO = Passage(
    pid="negulesco",
    title="Titanic (1953 film)",
    text="Titanic is a drama film that Jean Negulesco directed. It was released in April 1953.",
)
KETTLE = Passage(pid="kettle", title="Kettle", text="The kettle in the station kiosk is painted green.")
IN_1997 = Claim("When did the 1997 film Titanic come out?", ("1997",))
REWORDED = Claim("When was the Titanic film of 1997 released?", ("December 1997",))
IN_1953 = Claim("When did the 1953 film Titanic come out?", ("1953",))


@pytest.fixture(scope="module")
def judge(reader: Reader, encoder: Encoder) -> EmbeddedJudge:
    return EmbeddedJudge(reader, encoder)


def test_the_judge_is_named_after_its_models(judge: EmbeddedJudge) -> None:
    assert judge.name == "polyqa-minilm-reader + all-MiniLM-L6-v2"


@pytest.mark.parametrize(
    ("claim", "passage", "verdict"),
    [
        (IN_1997, CAMERON, True),
        (REWORDED, CAMERON, True),
        (IN_1997, NEGULESCO, False),  # a passage about the same name, another year
        (IN_1953, NEGULESCO, True),
        (IN_1953, CAMERON, False),
        (IN_1997, KETTLE, False),  # no answer at all
        (Claim("Who directed the 1953 film Titanic?", ("Negulesco", "Jean Negulesco")), NEGULESCO, True),
        (Claim("Who directed the 1953 film Titanic?", ("James Cameron",)), NEGULESCO, False),
        (Claim("What colour is the kettle?", ("green",)), KETTLE, True),
        (Claim("What colour is the kettle?", ("red",)), KETTLE, False),
        (Claim("What colour is the kettle?"), KETTLE, True),  # any answer will do
        (Claim("What colour is the kettle?"), CAMERON, False),
    ],
)
def test_a_passage_supports_a_claim_if_its_answer_stands_there(
    judge: EmbeddedJudge, claim: Claim, passage: Passage, verdict: bool
) -> None:
    assert judge.supported([(claim, passage)]) == [verdict]


@pytest.mark.parametrize(
    ("found", "covered"),
    [
        (IN_1997, True),
        (REWORDED, True),
        (IN_1953, False),
        (Claim(IN_1997.question, ("1953",)), False),  # the same words, another answer
        (Claim("How many medals did Norway win in 1997?", ("1997",)), False),  # the same answer, another subject
        (Claim(REWORDED.question), True),  # no answer to compare: the words must be nearly the same
        (Claim(IN_1953.question), False),
    ],
)
def test_a_reading_is_covered_however_it_is_worded(judge: EmbeddedJudge, found: Claim, covered: bool) -> None:
    assert judge.covered("When did Titanic come out?", [found], [IN_1997]) == [covered]
    assert judge.covered("When did Titanic come out?", [IN_1997], [found]) == [covered]


def test_one_of_the_found_readings_is_enough(judge: EmbeddedJudge) -> None:
    assert judge.covered("?", [IN_1953, REWORDED], [IN_1997, IN_1953, Claim("Who won?", ("1953",))]) == [
        True,
        True,
        False,
    ]


def test_of_repetitions_the_first_is_kept(judge: EmbeddedJudge) -> None:
    assert judge.distinct("?", [IN_1997, REWORDED, IN_1953, IN_1997]) == [True, False, True, False]
    assert judge.distinct("?", [REWORDED, IN_1997]) == [True, False]


def test_a_reading_is_compared_with_those_that_are_kept(reader: Reader) -> None:
    class Chain:
        name = "chain"

        def similarity(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
            return np.array([[1.0 - 0.2 * abs(ord(one) - ord(other)) for other in right] for one in left], np.float32)

    chained = [Claim(letter, ("x",)) for letter in "abc"]  # b is like a and like c, which are not alike
    assert EmbeddedJudge(reader, Chain()).distinct("?", chained) == [True, False, True]  # type: ignore[arg-type]


def test_titles_are_read_too(encoder: Encoder) -> None:
    read = TableReader({IN_1997.question: "1997"})
    assert EmbeddedJudge(read, encoder).supported([(IN_1997, CAMERON)]) == [True]
    assert read.batches == [[(IN_1997.question, f"Titanic (1997 film) | {CAMERON.text}")]]


def test_nothing_to_judge(judge: EmbeddedJudge) -> None:
    assert judge.supported([]) == []
    assert judge.distinct("?", []) == []
    assert judge.covered("?", [], [IN_1997]) == [False]
    assert judge.covered("?", [IN_1997], []) == []
