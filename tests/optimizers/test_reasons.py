import pytest

from polyqa.base.values import AmbiguityType
from polyqa.metrics.gold import Question, Reading
from polyqa.optimizers.labels.reasons import reason_of


def asked(question: str, *readings: str, reason: str = "") -> Question:
    return Question(
        id="1",
        question=question,
        readings=tuple(Reading(question=one, short_answers=("x",)) for one in readings),
        reason=reason or None,
    )


FILMS = asked("When did Titanic come out?", "When did the film Titanic of 1953 come out?", "When did Titanic come out?")
CUP = "Who won the world cup?"
EDITIONS = asked(CUP, "Who won the world cup in 1998?", "Who won the world cup in 2002?", CUP)


@pytest.mark.parametrize(
    ("question", "kind", "reason"),
    [
        (EDITIONS, AmbiguityType.TIME, "The answer depends on the time that is meant: “in 1998” or “in 2002”."),
        (EDITIONS, None, "The question leaves open what is meant: “in 1998” or “in 2002”."),
        (FILMS, AmbiguityType.SUBJECT, "It is unclear who or what is meant."),
        (asked("Who is it?", "Who is it?"), AmbiguityType.NONE, "The question has one plain meaning."),
        (asked("Who is it?", "Who?", reason="Nobody knows."), AmbiguityType.TIME, "Nobody knows."),
        # A phrase ends with a word that says something.
        (
            asked("When does the finale air?", "When does season 1 of the finale air?", "When does the 2 finale air?"),
            None,
            "The question leaves open what is meant: “season 1” or “2”.",
        ),
    ],
)
def test_a_reason_names_what_the_readings_settle(question: Question, kind: AmbiguityType | None, reason: str) -> None:
    assert reason_of(question, kind) == reason
