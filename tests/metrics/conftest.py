import pytest

from polyqa.metrics.gold import Question, Reading


@pytest.fixture(scope="session")
def titanic() -> Question:
    """A question with two readings and two reference answers."""
    return Question(
        id="titanic",
        question="When did Titanic come out?",
        readings=(
            Reading("When did the 1997 film Titanic come out?", ("December 1997", "1997")),
            Reading("When did the 1953 film Titanic come out?", ("April 1953", "1953")),
        ),
        long_answers=(
            "Two films are called Titanic. One came out in December 1997, the other in April 1953.",
            "The film of James Cameron came out in 1997. An older one had come out in 1953.",
        ),
        ambiguity="subject",
        reason="Two films share the name.",
    )
