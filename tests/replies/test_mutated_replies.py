"""Replies whose right reading is known, mutated by a seed: each is read rightly or refused, never read wrongly."""

from functools import cache

import pytest

from lab.replies import EACH, Reply, Share, outcome, plain, replies, shares
from lab.reply_forms import FORMS, REFUSED
from polyqa.replies import parse_interpretations

# The least share of a category's replies that must be read; where a reply may be ambiguous, refusing it is right.
LEAST_READ = 0.97
AMBIGUOUS = {
    "readings: reading | answer, all on one line": 0.9,  # semicolons in questions and between readings
    "readings: none at all": 0.9,  # some are cut off after their thoughts
}


@cache
def found() -> dict[str, Share]:
    return shares(replies(), examples=3)


def test_ten_thousand_replies_are_made_and_a_seed_makes_them_again() -> None:
    made = list(replies(each=5))
    assert len(FORMS) * EACH >= 10_000
    assert {reply.category for reply in made} == {f"{kind}: {form}" for kind, form in FORMS}
    assert made == list(replies(each=5)) != list(replies(each=5, seed=2))


@pytest.mark.parametrize("category", [f"{kind}: {form}" for kind, form in FORMS])
def test_replies_are_read_rightly_or_refused(category: str) -> None:
    share = found()[category]
    assert share.n == EACH
    assert share.wrong == 0, "\n".join(share.examples)
    assert share.read / share.n >= AMBIGUOUS.get(category, LEAST_READ), "\n".join(share.examples)


@pytest.mark.parametrize(
    ("meant", "text", "became"),
    [
        ([("Who won?", "Jones", None)], "1. Who won? | Jones", "read"),
        ([("Who won?", "Jones", "3")], "1. Who won? | Jones", "wrong"),
        ([("Who won?", "Jones", None)], "Who knows", "refused"),
        (REFUSED, "Who knows", "read"),
        (REFUSED, "1. Who won? | Jones", "wrong"),
    ],
)
def test_outcomes_are_told_apart(meant: object, text: str, became: str) -> None:
    assert outcome(Reply("any", "readings", meant, text), parse_interpretations)[0] == became


def test_a_parser_that_refuses_everything_and_one_that_takes_everything_are_found_out() -> None:
    def refuses(text: str) -> object:
        raise ValueError(text)

    of_long_answers = [reply for reply in replies(each=20) if reply.kind == "long answer"]
    refused = shares(iter(of_long_answers), {"long answer": refuses})
    assert refused["long answer: text"].refused == 20
    taken = shares(iter(of_long_answers), {"long answer": str}, examples=1)
    assert taken["long answer: refusal, or empty"].wrong == 20
    assert "wrong: " in taken["long answer: refusal, or empty"].examples[0]


def test_what_is_found_is_compared_as_plain_strings() -> None:
    twice = parse_interpretations('1. "Who won?" | Jones [3]\n2. Who won? | Jones')
    assert plain("readings", twice) == [("Who won?", "Jones", None), ("Who won?", "Jones", "3")]
