"""How the embedded engine makes questions: by its writer, or not at all."""

from collections.abc import Iterator

import dspy
import pytest
from scripted_writer import ScriptedWriter

from polyqa.extractive import ExtractiveEngine, embedded_lm
from polyqa.extractive.prompt import PromptPassage
from polyqa.extractive.question_making import written_questions
from polyqa.models import Task, Writer
from polyqa.signatures import AskOfPassage, DetectAnswers, GenerateQuestion, ReviseQuestion
from polyqa.signatures.sixpaq import detecting

TOWER = (
    "Tower Bridge (London) | It was designed by the architect Horace Jones and was opened on 30 June 1894. John Barry "
    "was the engineer of the bridge. It is 244 metres long. The bascules were raised by steam until 1976."
)


@pytest.fixture(autouse=True)
def configured() -> Iterator[None]:
    silent = ExtractiveEngine(writer=ScriptedWriter())  # type: ignore[arg-type]
    with dspy.context(lm=embedded_lm(silent)):
        yield


def ask(title: str, text: str, answer: str) -> str:
    return str(dspy.Predict(GenerateQuestion)(passage=f"{title} | {text}", answer=answer).question)


def test_answers_are_dates_numbers_and_names_but_not_the_title() -> None:
    answers = dspy.Predict(DetectAnswers)(passage=TOWER).answers
    assert answers == ["Horace Jones", "30 June 1894", "John Barry", "244 metres", "1976"]


def test_of_a_passage_without_a_text_nothing_is_asked() -> None:
    assert dspy.Predict(DetectAnswers)(passage="").answers == []
    assert dspy.Predict(ReviseQuestion)(passage="", question="Who built it?", answer="Ada").revised_question == (
        "Who built it?"
    )


@pytest.mark.parametrize("most", [None, 1, 14])
def test_as_many_answers_as_the_prompt_asks_for_those_that_lead_to_a_question_first(most: int | None) -> None:
    def write(task: Task) -> str:
        return "When was Old Pier opened?" if task.context[task.start : task.end] == "1902" else ""

    engine = ExtractiveEngine(writer=ScriptedWriter(write))  # type: ignore[arg-type]
    crowd = ", then ".join(f"Max {letter}oe" for letter in "ABCDEFGHIJKLMNOP")
    with dspy.context(lm=embedded_lm(engine)):
        predict = dspy.Predict(DetectAnswers if most is None else detecting(most))
        answers = predict(passage=f"Old Pier | People saw {crowd}. It was opened in 1902.").answers
    assert len(answers) == (most or 8)
    assert answers[0] == "1902"


def test_all_of_a_passage_is_asked_at_once_and_revised() -> None:
    def write(task: Task) -> str:
        questions = {
            "30 June 1894": "When was Tower Bridge opened?",
            "John Barry": "Who was the engineer of Tower Bridge?",
        }
        return questions.get(task.context[task.start : task.end], "")

    engine = ExtractiveEngine(writer=ScriptedWriter(write))  # type: ignore[arg-type]
    with dspy.context(lm=embedded_lm(engine)):
        asked = dspy.Predict(AskOfPassage)(passage=TOWER).questions
        assert dspy.Predict(AskOfPassage)(passage="").questions == []
    assert {(pair.question, pair.answer) for pair in asked} == {
        ("When was Tower Bridge (London) opened?", "30 June 1894"),
        ("Who was the engineer of Tower Bridge (London)?", "John Barry"),
    }


def test_names_joined_by_and_are_one_answer() -> None:
    passage = "Alpha Canal | It was designed by Ida Berg, Max Moe and Eva Lind in May 1901. It has nine old locks."
    assert dspy.Predict(DetectAnswers)(passage=passage).answers == [
        "Ida Berg, Max Moe and Eva Lind",
        "May 1901",
        "nine",
    ]


def revise(question: str, answer: str, passage: str = TOWER) -> str:
    return str(dspy.Predict(ReviseQuestion)(passage=passage, question=question, answer=answer).revised_question)


def test_revision_names_the_subject_then_adds_the_qualifier_then_rests() -> None:
    first = revise("When was it opened?", "30 June 1894")
    assert first == "When was Tower Bridge opened?"
    second = revise(first, "30 June 1894")
    assert second == "When was Tower Bridge (London) opened?"
    assert revise(second, "30 June 1894") == second
    assert revise("When was the bridge opened?", "30 June 1894") == first


@pytest.mark.parametrize(
    ("question", "revised"),
    [
        ("Who opened the office in Oslo?", "Who opened the office in Oslo?"),
        ("Who opened the office?", "Who opened the Office in Oslo?"),
        ("Who wrote the guide?", "Who wrote the Staff guide?"),
        ("Who opened it?", "Who opened the Office in Oslo?"),
    ],
)
def test_revision_names_the_heading_or_the_document_of_a_section(question: str, revised: str) -> None:
    passage = "Staff guide › Office in Oslo | The office in Oslo was opened by Ida Berg. The staff guide tells more."
    assert revise(question, "Ida Berg", passage) == revised


def test_revision_never_tells_the_answer() -> None:
    passage = "Cape Light (1803) | It was lit in 1803."
    assert revise("When was Cape Light lit?", "1803", passage) == "When was Cape Light lit?"


def test_the_writer_writes() -> None:
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


def test_a_number_is_asked_for_where_it_stands_alone() -> None:
    text = "Built in 1945, the Harrow Bridge has 5 arches."
    asked: list[Task] = []
    writer = ScriptedWriter(lambda task: asked.append(task) or "How many arches has the Harrow Bridge?")  # type: ignore[func-returns-value]
    written_questions(PromptPassage(1, "Harrow Bridge", text), ["5"], writer)  # type: ignore[arg-type]
    assert [text[one.start : one.end + 7] for one in asked] == ["5 arches"]


def test_the_embedded_writer_asks_for_what_it_is_given() -> None:
    text = "The bridge was designed by the architect Horace Jones and was opened on 30 June 1894."
    task = Task(text, text.index("Horace"), text.index("Jones") + 5, "Tower Bridge")
    (made,) = Writer().write([task])
    assert made.question.startswith("Who")


def test_a_question_that_the_writer_is_not_sure_of_is_none() -> None:
    passage = PromptPassage(1, "Old Pier", "It was opened in 1902.")
    for score, kept in ((-0.5, ["1902"]), (-0.6, [])):
        writer = ScriptedWriter(lambda task: "When was Old Pier opened?", score=score)
        assert list(written_questions(passage, ["1902"], writer)) == kept  # type: ignore[arg-type]
