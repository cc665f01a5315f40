import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from solaris import QUESTION, predict

from polyqa.base.values import AmbiguityType
from polyqa.extractive.ambiguity import Insertion, apply, insertions, is_general
from polyqa.signatures import InferPseudoInterpretations, RewriteQuery, TypeAmbiguity

VOCABULARY = ["when", "did", "the", "film", "titanic", "come", "out", "who", "won", "cup", "in", "1998"]
WORDS = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=8)
DISTINCT_WORDS = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=8, unique=True)


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


def test_pseudo_interpretations_apply_the_rewritings_of_demos() -> None:
    demos = [
        dspy.Example(
            question="When did Dune come out?",
            reason="It may be the novel or the film.",
            pseudo_interpretations=["When did the novel Dune come out?", "When did the board game Dune come out?"],
        )
    ]
    plain = predict(InferPseudoInterpretations, reason="[AmbObj] …").pseudo_interpretations
    taught = predict(InferPseudoInterpretations, reason="[AmbObj] …", demos=demos).pseudo_interpretations
    assert taught[:2] == ["When did the novel Solaris come out?", "When did the board game Solaris come out?"]
    assert "When did the board game Solaris come out?" not in plain
    unambiguous = predict(InferPseudoInterpretations, reason="[N/A] one plain meaning")
    assert unambiguous.pseudo_interpretations == [QUESTION]


@pytest.mark.parametrize(
    ("question", "rewritten", "expected"),
    [
        ("Who won the cup?", "Who won the cup?", []),
        ("Who won the cup?", "who won the CUP", []),
        ("When did it open?", "When did it open in cinemas?", [Insertion("in cinemas", "open", "")]),
        (
            "When did Titanic come out?",
            "When did the 1953 film Titanic come out?",
            [Insertion("the 1953 film", "did", "titanic")],
        ),
        ("Who won the cup?", "In 1998, who won the cup?", [Insertion("In 1998,", "", "who")]),
        ("Who won the cup?", "Who lost the cup?", [Insertion("lost", "who", "the")]),
        (
            "Who won the cup?",
            "Who first won the cup in France?",
            [Insertion("first", "who", "won"), Insertion("in France", "cup", "")],
        ),
        ("Who won the football cup?", "Who won the cup?", []),
    ],
)
def test_insertions(question: str, rewritten: str, expected: list[Insertion]) -> None:
    assert insertions(question, rewritten) == expected


@given(DISTINCT_WORDS, WORDS, st.data())
def test_added_words_are_found_as_they_are_written(question: list[str], added: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(question)))
    shown = [word.upper() + "X" for word in added]
    rewritten = " ".join([*question[:at], *shown, *question[at:]])
    (found,) = insertions(" ".join(question) + "?", rewritten + "?")
    assert found == Insertion(
        " ".join(shown), question[at - 1] if at else "", question[at] if at < len(question) else ""
    )


@pytest.mark.parametrize(
    ("question", "insertion", "expected"),
    [
        # before the same content word
        ("Who won the final cup?", Insertion("first", "", "final"), "Who won the first final cup?"),
        ("Who opened the final?", Insertion("grand", "opened", "final"), "Who opened the grand final?"),
        # else behind the same word
        ("When did it open in Paris?", Insertion("first", "open", "in"), "When did it open first in Paris?"),
        ("When did it open in Paris?", Insertion("first", "open", "and"), "When did it open first in Paris?"),
        ("Where is the song from?", Insertion("1998", "the", "film"), "Where is the 1998 song from?"),
        # at the end, where it stood in the demo
        ("When did the band play?", Insertion("in cinemas", "open", ""), "When did the band play in cinemas?"),
        ("When did it open in Paris?", Insertion("first", "open", ""), "When did it open in Paris first?"),
        ("Who won the CUP ?", Insertion("in France", "cup", ""), "Who won the CUP in France?"),
        # at the end, as the question has neither neighbour
        ("Who won", Insertion("in France", "cup", "again"), "Who won in France?"),
        ("Who won the cup?", Insertion("once", "", "the"), "Who won the cup once?"),
    ],
)
def test_apply(question: str, insertion: Insertion, expected: str) -> None:
    assert apply(question, insertion) == expected


@given(WORDS, WORDS, st.sampled_from(["", "the", "film", "cup", "missing"]), st.sampled_from(["", "out", "won"]))
def test_apply_adds_the_words_and_keeps_the_others(
    question: list[str], added: list[str], before: str, after: str
) -> None:
    text = " ".join(question) + "?"
    applied = apply(text, Insertion(" ".join(added), before, after))
    assert applied.endswith("?")
    result = applied.rstrip("?").split()
    size = len(added)
    places = [at for at in range(len(result) - size + 1) if result[at : at + size] == added]
    assert any(result[:at] + result[at + size :] == question for at in places)


@pytest.mark.parametrize(
    ("added", "question", "general"),
    [
        ("in cinemas", "When did it open?", True),
        ("first", "Who scored?", True),
        ("in the men's tournament", "Who won?", True),
        ("in France", "Who won?", False),
        ("the 1933 film", "When did it open?", False),
        ("that I like", "Who won?", True),
        ("in the tournament of men", "Who won?", False),
        ("", "Who won?", False),
        ("of the", "Who won?", False),
        ("the film", "When did the film open?", False),
    ],
)
def test_is_general(added: str, question: str, general: bool) -> None:
    assert is_general(added, question) is general


@pytest.mark.parametrize(
    ("question", "query"),
    [("When did the film Titanic come out?", "film Titanic come out"), ("Who was it?", "Who was it?")],
)
def test_a_query_keeps_the_words_that_carry_meaning(question: str, query: str) -> None:
    assert predict(RewriteQuery, question=question).search_query == query
