"""A second set of replies, written for another parser: each is read rightly or refused, and few are refused."""

from collections import Counter
from functools import cache

import pytest
from dressed_replies import KINDS, PARSERS, Outcome, outcome, replies, tally

from polyqa.replies import parse_yes_no

SEED = 17
MORE_SEEDS = (3, 4)  # once read wrongly
LEAST_READ = 0.93
# More may be refused where a reply can be taken in two ways: a semicolon within a question or between two, a verdict
# beside a remark that goes the other way, a number word that counts.
DISPUTABLE = {
    "questions: one line": 0.85,
    "readings: one line": 0.9,
    "verdicts: in other words": 0.9,
    "numbers": 0.88,
    "numbers: counted": 0.8,
    "numbers: in words": 0.8,
}


@cache
def outcomes() -> tuple[Outcome, ...]:
    return tuple(outcome(reply) for reply in replies(12_000, SEED))


def test_there_are_enough_of_every_kind_and_a_seed_makes_them_again() -> None:
    counts = Counter(one.reply.kind for one in outcomes())
    assert counts.keys() == set(KINDS)
    assert min(counts.values()) >= 300
    assert counts.total() == 12_000
    assert list(replies(200, SEED)) == [one.reply for one in outcomes()[:200]] != list(replies(200, SEED + 1))


@pytest.mark.parametrize("kind", KINDS)
def test_none_is_read_wrongly_and_most_are_read(kind: str) -> None:
    wrong = [(one.reply.text, one.found) for one in outcomes() if one.reply.kind == kind and one.outcome == "wrong"]
    assert not wrong, wrong[0]
    counts = tally(iter(outcomes()))[kind]
    assert counts["read"] >= DISPUTABLE.get(kind, LEAST_READ) * counts.total()


@pytest.mark.parametrize("seed", MORE_SEEDS)
def test_none_is_read_wrongly_at_other_seeds(seed: int) -> None:
    wrong = [one for reply in replies(12_000, seed) if (one := outcome(reply)).outcome == "wrong"]
    assert not wrong, (wrong[0].reply.text, wrong[0].found)


def test_a_parser_that_takes_the_first_word_and_one_that_refuses_all_are_found_out() -> None:
    def first_word(text: str) -> str:
        return parse_yes_no(text.split()[0])

    def refuses(text: str) -> str:
        raise ValueError(text)

    concluded = [one.reply for one in outcomes() if one.reply.kind == "verdicts: concluded"]
    assert any(outcome(reply, {**PARSERS, "verdict": first_word}).outcome == "wrong" for reply in concluded)
    assert all(outcome(reply, {**PARSERS, "verdict": refuses}).outcome == "refused" for reply in concluded)
