"""How the embedded engine makes questions: by rule, else by the writer, or not at all."""

from collections.abc import Iterator

import dspy
import pytest
from scripted_writer import ScriptedWriter

from polyqa.extractive import ExtractiveEngine, embedded_lm
from polyqa.extractive.prompt import PromptPassage
from polyqa.extractive.question_making import written_questions
from polyqa.models import Task, Writer
from polyqa.signatures import DetectAnswers, GenerateQuestion, ReviseQuestion
from polyqa.signatures.sixpaq import detecting

TOWER = (
    "Tower Bridge (London) | It was designed by the architect Horace Jones and was opened on 30 June 1894. John Barry "
    "was the engineer of the bridge. It is 244 metres long. The bascules were raised by steam until 1976."
)


@pytest.fixture(autouse=True, params=["chat", "json"])
def configured(request: pytest.FixtureRequest) -> Iterator[None]:
    adapter = dspy.ChatAdapter() if request.param == "chat" else dspy.JSONAdapter()
    rules_only = ExtractiveEngine(writer=ScriptedWriter())  # type: ignore[arg-type]
    with dspy.context(lm=embedded_lm(rules_only), adapter=adapter):
        yield


def ask(title: str, text: str, answer: str) -> str:
    return str(dspy.Predict(GenerateQuestion)(passage=f"{title} | {text}", answer=answer).question)


def test_answers_are_dates_numbers_and_names_but_not_the_title() -> None:
    answers = dspy.Predict(DetectAnswers)(passage=TOWER).answers
    assert answers == ["Horace Jones", "30 June 1894", "John Barry", "244 metres", "1976"]


def test_answers_that_lead_to_a_question_come_first_and_eight_are_enough() -> None:
    crowd = ", then ".join(f"Max {letter}oe" for letter in "ABCDEFGH")
    answers = dspy.Predict(DetectAnswers)(passage=f"Old Pier | People saw {crowd}. It was opened in 1902.").answers
    assert len(answers) == 8
    assert answers[:2] == ["1902", "Max Aoe"]


@pytest.mark.parametrize("most", [1, 8, 14])
def test_as_many_answers_as_the_prompt_asks_for(most: int) -> None:
    crowd = ", then ".join(f"Max {letter}oe" for letter in "ABCDEFGHIJKLMNOP")
    answers = dspy.Predict(detecting(most))(passage=f"Old Pier | People saw {crowd}. It was opened in 1902.").answers
    assert len(answers) == most
    assert answers[0] == "1902"


def test_names_joined_by_and_are_one_answer() -> None:
    passage = "Alpha Canal | It was designed by Ida Berg, Max Moe and Eva Lind in May 1901. It has nine old locks."
    assert dspy.Predict(DetectAnswers)(passage=passage).answers == [
        "Ida Berg, Max Moe and Eva Lind",
        "nine",
        "May 1901",
    ]


@pytest.mark.parametrize(
    ("title", "text", "answer", "question"),
    [
        ("X Club", "X Club was founded in 1901 by Ida Berg.", "1901", "When was X Club founded?"),
        ("X Club", "X Club was founded in 1901 by Ida Berg.", "Ida Berg", "Who founded X Club?"),
        ("Solaris (novel)", "It was written by Stanisław Lem.", "Stanisław Lem", "Who wrote Solaris?"),
        ("Old Pier", "The pier collapsed in a storm on 3 May 1902.", "3 May 1902", "When did Old Pier collapse?"),
        ("Old Pier", "In May 1902 it was closed.", "May 1902", "When was Old Pier closed?"),
        ("Old Pier", "On 3 May 1902 the pier collapsed in a storm.", "3 May 1902", "When did Old Pier collapse?"),
        ("Old Pier", "Eva Lind was its owner.", "Eva Lind", "Who was the owner of Old Pier?"),
        ("Old Pier", "Designed by Max Moe, the pier stood for years.", "Max Moe", "Who designed Old Pier?"),
        ("Old Pier", "It lost the long deck in 1950.", "1950", "When did Old Pier lose the long deck?"),
        (
            "Old Pier",
            "Its first concert was held at Acme Hall on 3 May 1902.",
            "3 May 1902",
            "When was the first concert of Old Pier held?",
        ),
        ("Old Pier", "Construction began in 1899.", "1899", "When did construction of Old Pier begin?"),
        (
            "Old Pier",
            "The main deck was raised to nine feet in 1950.",
            "1950",
            "When was the main deck of Old Pier raised to nine feet?",
        ),
        ("Old Pier", "It is 120 metres long.", "120 metres", "How long is Old Pier?"),
        ("Old Pier", "It has 14 stone arches.", "14", "How many stone arches does Old Pier have?"),
        ("Old Pier", "Its chief engineer was Max Moe.", "Max Moe", "Who was the chief engineer of Old Pier?"),
        ("Old Pier", "Max Moe, a Swiss engineer, designed the first pier.", "Max Moe", "Who designed Old Pier?"),
        ("Old Pier", "It was sold to Eva Lind in 1968.", "Eva Lind", "Who was Old Pier sold to?"),
        ("Old Pier", "It was renamed the King's Pier in 1910.", "King's Pier", "What was Old Pier renamed?"),
        ("Ida Berg", "Ida Berg was a painter. She was born in Oslo in 1870.", "Oslo", "Where was Ida Berg born?"),
        ("Ida Berg", "Ida Berg was a painter. She died in 1920.", "1920", "When did Ida Berg die?"),
        (
            "Severn Tunnel",
            "Trains run through the Severn Tunnel. It was opened in 1886.",
            "1886",
            "When was the Severn Tunnel opened?",
        ),
    ],
)
def test_simple_clauses_are_turned_round(title: str, text: str, answer: str, question: str) -> None:
    assert ask(title, text, answer) == question


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Whoever saw it in 1900, when it rained, was glad.", "1900"),
        ("By 1932 nothing was left of it.", "1932"),
        ("A fire gutted the pier, and in March 1954 people wept.", "March 1954"),
        ("It was praised by the Acme glassworks.", "Acme"),
        ("Its mirror was cast by the Acme glassworks.", "Acme"),
        ("Max Moe, who had drawn it, left.", "Max Moe"),
        ("He was in charge until 1904.", "1904"),
        ("Its C-type won in 1951.", "1951"),
        ("Nothing like this.", "nowhere in it"),
    ],
)
def test_what_is_not_simple_makes_no_question(text: str, answer: str) -> None:
    assert ask("Old Pier", text, answer) == "None"


def revise(question: str, answer: str, passage: str = TOWER) -> str:
    return str(dspy.Predict(ReviseQuestion)(passage=passage, question=question, answer=answer).revised_question)


def test_revision_names_the_subject_then_adds_the_qualifier_then_rests() -> None:
    first = revise("When was it opened?", "30 June 1894")
    assert first == "When was Tower Bridge opened?"
    second = revise(first, "30 June 1894")
    assert second == "When was Tower Bridge (London) opened?"
    assert revise(second, "30 June 1894") == second
    assert revise("When was the bridge opened?", "30 June 1894") == first


def test_revision_never_tells_the_answer() -> None:
    passage = "Cape Light (1803) | It was lit in 1803."
    assert revise("When was Cape Light lit?", "1803", passage) == "When was Cape Light lit?"


def test_where_no_rule_fits_the_writer_writes() -> None:
    engine = ExtractiveEngine(writer=ScriptedWriter(lambda task: "Whose bakery burned in Tarnville?"))  # type: ignore[arg-type]
    text = "Flames from the bakery of Piet Holm ate half of Tarnville."
    with dspy.context(lm=embedded_lm(engine)):
        assert ask("Great Fire", text, "Piet Holm") == "Whose bakery burned in Tarnville?"
        assert "Piet Holm" in dspy.Predict(DetectAnswers)(passage=f"Great Fire | {text}").answers
    assert ask("Great Fire", text, "Piet Holm") == "None"


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("When was Old Pier opened?", True),
        ("When was it opened?", False),
        ("When was Old Pier lit by its owner?", True),
        ("When did they leave Old Pier?", False),
        ("When was the pier opened?", False),
        ("Old Pier was opened when?", False),
        ("When was Old Pier opened in 1902?", False),
    ],
)
def test_written_questions_are_well_formed_and_stand_alone(question: str, kept: bool) -> None:
    passage = PromptPassage(1, "Old Pier", "It was opened in 1902.")
    found = written_questions(passage, ["1902", "1903"], ScriptedWriter(lambda task: question))  # type: ignore[arg-type]
    assert list(found) == (["1902"] if kept else [])


def test_the_embedded_writer_asks_for_what_it_is_given() -> None:
    text = "The bridge was designed by the architect Horace Jones and was opened on 30 June 1894."
    task = Task(text, text.index("Horace"), text.index("Jones") + 5, "Tower Bridge")
    (made,) = Writer().write([task])
    assert made.question.startswith("Who")
    (likely,) = Writer().likelihood([task], ["Who designed the Tower Bridge?"])
    (unlikely,) = Writer().likelihood([task], ["When was the Tower Bridge opened?"])
    assert likely > unlikely


def test_a_question_that_the_writer_is_not_sure_of_is_none() -> None:
    passage = PromptPassage(1, "Old Pier", "It was opened in 1902.")
    for score, kept in ((-0.5, ["1902"]), (-0.6, [])):
        writer = ScriptedWriter(lambda task: "When was Old Pier opened?", score=score)
        assert list(written_questions(passage, ["1902"], writer)) == kept  # type: ignore[arg-type]
