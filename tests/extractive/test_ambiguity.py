import dspy
import pytest
from solaris import QUESTION, predict

from polyqa.base.values import AmbiguityType
from polyqa.signatures import InferPseudoInterpretations, RewriteQuery, TypeAmbiguity


def classify(question: str, **more: object) -> list[AmbiguityType]:
    return list(predict(TypeAmbiguity, question=question, **more).ambiguity_types)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who won the last World Cup?", AmbiguityType.TIME),
        ("When did the bridge open and when was it founded?", AmbiguityType.PREDICATE),
        ("What is the legal drinking age and the national capital?", AmbiguityType.LOCATION),
    ],
)
def test_typing_by_cue_words(question: str, kind: AmbiguityType) -> None:
    assert classify(question) == [kind]


def test_typing_follows_the_nearest_demo() -> None:
    question = "Who was the fastest runner at the school fair?"
    for label in ("AmbLoc", "AmbPred"):
        demos = [
            dspy.Example(
                question="Who was the quickest runner at the school fair?", reason="…", ambiguity_types=[label]
            ),
            dspy.Example(question="What do snails eat?", reason="…", ambiguity_types=["AmbSub"]),
        ]
        assert classify(question, demos=demos) == [label]


def test_pseudo_interpretations_are_the_usual_ones_of_a_kind() -> None:
    assert predict(InferPseudoInterpretations, reason="[AmbObj] …").pseudo_interpretations == [
        f"When did Solaris come out, the {kind}?" for kind in ("film", "novel", "album", "television series")
    ]
    unambiguous = predict(InferPseudoInterpretations, reason="[N/A] one plain meaning")
    assert unambiguous.pseudo_interpretations == [QUESTION]


@pytest.mark.parametrize(
    ("question", "query"),
    [("When did the film Titanic come out?", "film Titanic come out"), ("Who was it?", "Who was it?")],
)
def test_a_query_keeps_the_words_that_carry_meaning(question: str, query: str) -> None:
    assert predict(RewriteQuery, question=question).search_query == query
