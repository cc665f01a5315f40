import pytest
from solaris import predict

from polyqa.signatures import RewriteQuery


@pytest.mark.parametrize(
    ("question", "query"),
    [("When did the film Titanic come out?", "film Titanic come out"), ("Who was it?", "Who was it?")],
)
def test_a_query_keeps_the_words_that_carry_meaning(question: str, query: str) -> None:
    assert predict(RewriteQuery, question=question).search_query == query
