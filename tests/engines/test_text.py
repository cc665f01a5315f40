import itertools

import pytest
from data_files import golden
from hypothesis import given
from hypothesis import strategies as st

from polyqa.engines.extractive.text import (
    STOPWORDS,
    AnswerKind,
    answer_kind,
    content_words,
    fits_kind,
    holds,
    normalize,
    sentence_at,
    sentences,
    words,
    years,
)

GOLDEN = golden("normalize_answer")

PROSE = st.text(alphabet="ab AB.?!\"')(1 \n", max_size=60)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It rained. She left.", ["It rained.", "She left."]),
        ("Did it rain? Yes! It did.", ["Did it rain?", "Yes!", "It did."]),
        ("Dr. Smith met Mrs. Jones. They talked.", ["Dr. Smith met Mrs. Jones.", "They talked."]),
        ("J. R. R. Tolkien wrote it. It is long.", ["J. R. R. Tolkien wrote it.", "It is long."]),
        ("George W. Bush won. He was 54.", ["George W. Bush won.", "He was 54."]),
        ("It opened on Sept. 3 in St. Louis. Few came.", ["It opened on Sept. 3 in St. Louis.", "Few came."]),
        ("The U.S. Army came. It left.", ["The U.S. Army came.", "It left."]),
        (
            "It began at 5 p.m. Eastern time. It ended late.",
            ["It began at 5 p.m. Eastern time.", "It ended late."],
        ),
        ("See No. 5 and Vol. 2 of it. They differ.", ["See No. 5 and Vol. 2 of it.", "They differ."]),
        ("It was made by Fox Inc. Films of old.", ["It was made by Fox Inc. Films of old."]),
        ("It cost 1.5 million. 300 people came.", ["It cost 1.5 million.", "300 people came."]),
        ('He said "Go." She went.', ['He said "Go."', "She went."]),
        ('She asked why. "Because," he said.', ["She asked why.", '"Because," he said.']),
        ("It rained (a lot.) We left.", ["It rained (a lot.)", "We left."]),
        ("No end", ["No end"]),
        ("it rained. she left.", ["it rained. she left."]),
        ("First line.\n\nSecond line.", ["First line.", "Second line."]),
        ("", []),
        ("  \n ", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert [sentence.text for sentence in sentences(text)] == expected


@given(PROSE)
def test_sentences_cover_the_text_without_overlap(text: str) -> None:
    found = sentences(text)
    if not text.strip():
        assert found == []
        return
    assert (found[0].start, found[-1].end) == (0, len(text))
    assert all(left.end == right.start for left, right in itertools.pairwise(found))
    assert [text[sentence.start : sentence.end].strip() for sentence in found] == [s.text for s in found]
    assert all(sentence.text for sentence in found)


@given(PROSE.filter(str.strip), st.data())
def test_every_position_has_its_sentence(text: str, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(text) - 1))
    sentence = sentence_at(text, position)
    assert sentence in sentences(text)
    assert sentence.start <= position < sentence.end


def test_the_sentence_at_the_end_of_a_text_is_the_last() -> None:
    text = "It rained. She left."
    assert sentence_at(text, 0).text == "It rained."
    assert sentence_at(text, text.index("left")).text == "She left."
    assert sentence_at(text, len(text)).text == "She left."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Who won the 1998 cup?", ["Who", "won", "the", "1998", "cup"]),
        ("The dog's bone isn't mine", ["The", "dog's", "bone", "isn't", "mine"]),
        ("state-of-the-art, U.S.A.", ["state-of-the-art", "U.S.A"]),
        ("1.5 million in São Paulo", ["1.5", "million", "in", "São", "Paulo"]),
        ("snake_case -- !", ["snake", "case"]),
        ("", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_content_words_leave_out_what_carries_no_meaning() -> None:
    assert content_words("When did the film Titanic come out in the U.S.?") == [
        "film",
        "titanic",
        "come",
        "out",
        "u.s",
    ]
    assert content_words("Who was it?") == []


@given(st.lists(st.sampled_from(["the", "Titanic", "of", "Film", "WHO", "1998"])))
def test_content_words_are_lower_case_and_no_stopwords(parts: list[str]) -> None:
    found = content_words(" ".join(parts))
    assert found == [part.lower() for part in parts if part.lower() not in STOPWORDS]


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: repr(case["input"]))
def test_normalize_agrees_with_the_released_scorer(case: dict[str, str]) -> None:
    assert normalize(case["input"]) == case["output"]


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalize(normalize(text)) == normalize(text)


@pytest.mark.parametrize(
    ("text", "answer", "held"),
    [
        ("It came out on April 16, 1953.", "april 16 1953", True),
        ("It came out on April 16, 1953.", "1953", True),
        ("It came out on April 16, 1953.", "195", False),
        ("The Beatles sang it.", "Beatles", True),
        ("Beatles sang it.", "the Beatles", True),
        ("They sang the song of a lark.", "song of lark", True),
        ("Nagano hosted.", "Nagano, Japan", False),
        ("Nagano hosted.", "", False),
        ("Nagano hosted.", "the", False),
        ("", "Nagano", False),
    ],
)
def test_holds(text: str, answer: str, held: bool) -> None:
    assert holds(text, answer) is held


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
    ],
)
def test_answer_kind(question: str, kind: AnswerKind) -> None:
    assert answer_kind(question) == kind


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who was king when the war began?", "person"),
        ("Where did they live when it was founded?", "place"),
    ],
)
def test_a_when_inside_the_question_does_not_ask_for_a_time(question: str, kind: AnswerKind) -> None:
    assert answer_kind(question) == kind


@pytest.mark.parametrize(
    ("answer", "kind", "fits"),
    [
        ("April 16, 1953", "time", True),
        ("the 19th century", "time", True),
        ("the summer of love", "time", True),
        ("Today", "time", True),
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
        ("by the sea", "place", False),
        ("anything", "other", True),
        ("", "other", True),
        ("", "time", False),
        ("", "number", False),
        ("", "person", False),
        ("", "place", False),
    ],
)
def test_fits_kind(answer: str, kind: AnswerKind, fits: bool) -> None:
    assert fits_kind(answer, kind) is fits
