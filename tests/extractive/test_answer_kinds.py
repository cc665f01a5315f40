import pytest

from polyqa.extractive.answer_kinds import AnswerKind, answer_kind, asks_yes_or_no, fits_kind, years


def test_years() -> None:
    assert years("From 1066 to 2024, not 3000, 999, 12345 or 1998a.") == ["1066", "2024"]


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When did Titanic come out?", "time"),
        ("What year did Titanic come out?", "time"),
        ("In which year was it?", "time"),
        ("What date is the final?", "time"),
        ("What time does it start?", "time"),
        ("How many people live in Paris?", "number"),
        ("how much does it cost", "number"),
        ("How long is the river?", "number"),
        ("How old was he when he died?", "number"),
        ("How tall is the tower?", "number"),
        ("What percentage of people voted?", "number"),
        ("What number is on his shirt?", "number"),
        ("Who won the cup?", "person"),
        ("Whose book is it?", "person"),
        ("To whom was it given?", "person"),
        ("WHO SANG IT", "person"),
        ("Where was it filmed?", "place"),
        ("What country won the cup?", "place"),
        ("Which city is the capital?", "place"),
        ("Which river flows through it?", "place"),
        ("What is the name of the song?", "other"),
        ("Why did it sink?", "other"),
        ("What does the whole anywhere somewhen mean?", "other"),
        ("", "other"),
        ("Who is Francis Bacon?", "other"),
        ("Who was Alexander the Great?", "other"),
        ("Who is the Pope?", "person"),
        ("Who is it?", "person"),
        ("Who is Johnny Depp married to?", "person"),
        # A "when" inside asks for no time.
        ("Who was king when the war began?", "person"),
        ("Where did they live when it was founded?", "place"),
    ],
)
def test_answer_kind(question: str, kind: AnswerKind) -> None:
    assert answer_kind(question) == kind


@pytest.mark.parametrize(
    ("answer", "kind", "fits"),
    [
        ("April 16, 1953", "time", True),
        ("the 19th century", "time", True),
        ("the summer of love", "time", True),
        ("Today", "time", True),
        ("on weekdays after noon", "time", True),
        ("twice a year", "time", True),
        ("James Cameron", "time", False),
        ("42", "number", True),
        ("about two million", "number", True),
        ("Twice", "number", True),
        ("nobody", "number", False),
        ("the bone", "number", False),
        ("James Cameron", "person", True),
        ("the director", "person", False),
        ("1953", "person", False),
        ("in Paris", "place", True),
        ("by the sea", "place", True),
        ("anything", "other", True),
        ("", "other", True),
        ("", "time", False),
        ("", "number", False),
        ("", "person", False),
    ],
)
def test_fits_kind(answer: str, kind: AnswerKind, fits: bool) -> None:
    assert fits_kind(answer, kind) is fits


@pytest.mark.parametrize(
    ("question", "yes_or_no"),
    [
        ("Is Curium radioactive?", True),
        ("Will the mill be repaired?", True),
        ("Won't it be repaired?", True),
        ("Can’t it be repaired?", True),
        ("Hasn't it been repaired?", True),
        ("Can you borrow a drill on Sundays?", True),
        ("Will Smith films", False),
        ("Can you tell me when it was repaired?", False),
        ("Could you please name the capital of France?", False),
        ("Do you know the capital of France?", False),
    ],
)
def test_a_question_that_wants_a_yes_or_a_no(question: str, yes_or_no: bool) -> None:
    assert asks_yes_or_no(question) is yes_or_no
