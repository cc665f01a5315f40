"""How readings are asked. What the writer writes is checked before it is shown."""

import dataclasses
from typing import Any

import pytest
from scripted_writer import ScriptedWriter

from polyqa.extractive.evidence import Evidence, Models
from polyqa.extractive.prompt import PromptPassage
from polyqa.extractive.wordings import is_fit, phrase, readings_of, wordings, written_for
from polyqa.models import Encoder, Reader, Span

QUESTION = "When did Marrow come out?"
FILM = PromptPassage(1, "Marrow (1953 film)", "Marrow is a film by Orla Venn. It was first shown on 4 May 1953.")
SONG = PromptPassage(2, "Songs of Tarnville", "The song Marrow was released as a single on 9 June 1971 by Piet Holm.")


def evidence(passage: PromptPassage, answer: str) -> Evidence:
    start = passage.text.index(answer)
    span = Span(answer, start, start + len(answer), 1.0)
    return Evidence(passage, span, answer, 0.5)


def writer(*written: str) -> Any:
    """A writer that writes what it is given, and finds all natural but what has "Tarnville" in it."""
    questions = iter(written)
    return ScriptedWriter(lambda task: next(questions), lambda task, text: -3.0 if "Tarnville" in text else -0.1)


def models(*written: str) -> Models:
    return Models(Encoder(), Reader(), writer(*written))


FOUND = [evidence(FILM, "4 May 1953"), evidence(SONG, "9 June 1971")]


def test_a_lone_reading_keeps_the_question() -> None:
    assert phrase(QUESTION, FOUND[:1], models()) == [(FOUND[0], QUESTION)]
    assert phrase(QUESTION, [], models()) == []


def test_a_title_says_what_is_meant_else_the_writer_does() -> None:
    told = phrase(QUESTION, FOUND, models("When did the song Marrow come out as a single?"))
    assert [text for _, text in told] == [
        "When did the 1953 film Marrow come out?",
        "When did the song Marrow come out as a single?",
    ]


def test_what_nothing_else_tells_from_another_is_named_by_its_title_or_as_it_was_asked() -> None:
    text = "It came out on 9 June 1971."
    titled, untitled = (evidence(PromptPassage(3, title, text), "9 June 1971") for title in ("Tarnville", ""))
    assert [asked for _, asked in phrase(QUESTION, [FOUND[0], titled, untitled], models("", "", ""))] == [
        "When did the 1953 film Marrow come out?",
        "When did Marrow come out (Tarnville)?",
        QUESTION,
    ]


def test_what_the_writer_holds_to_be_unnatural_is_left_out() -> None:
    text = "The ferry was sold in Tarnville by Orla Venn. It was sold in Marrow by Piet Holm."
    ferry = PromptPassage(1, "Boats", text)
    found = [evidence(ferry, "Orla Venn"), evidence(ferry, "Piet Holm")]
    told = phrase("Who sold the ferry?", found, models("", ""))
    assert [text for _, text in told] == ["Who sold the ferry?", "Who sold the ferry in Marrow?"]


def test_of_natural_wordings_the_likeliest_is_taken() -> None:
    choosy: Any = ScriptedWriter(
        lambda task: "When did the song Marrow come out?", lambda task, text: -0.9 if "song" in text else -0.2
    )
    song = evidence(dataclasses.replace(SONG, text="It came out in Tarnville on 9 June 1971."), "9 June 1971")
    made = Models(Encoder(), Reader(), choosy)
    ((best, *_),) = wordings("When did marrow come out?", [song], made)
    assert best == "When did marrow come out in Tarnville?"


def test_sections_of_one_name_are_told_apart_by_where_they_stand() -> None:
    text = "It stands on the first floor and seats 12 people."
    titles = ["Old Wing › Blue Room", "New Wing › Blue Room", "Old Wing › Red Room"]
    found = [evidence(PromptPassage(at, title, text), "12") for at, title in enumerate(titles, 1)]
    asked = "How many people does the Blue Room seat?"
    told = [text for _, text in phrase(asked, found[:2], models("", ""))]
    assert told == [f"{asked[:-1]} (Old Wing)?", f"{asked[:-1]} (New Wing)?"]
    assert f"{asked[:-1]} (Old Wing)?" not in [text for _, text in phrase(asked, found[::2], models("", ""))]


def test_a_written_question_is_shown_only_if_it_leads_to_the_same_answer() -> None:
    wrong = "Who released the song Marrow as a single?"
    assert written_for("Who released Marrow?", [evidence(SONG, "9 June 1971")], writer(wrong), Reader()) == [None]


@pytest.mark.parametrize(
    ("text", "answer", "wordings"),
    [
        ("The ferry was sold in Tarnville by Orla Venn.", "Orla Venn", ["Who sold the ferry in Tarnville?"]),
        ("The ferry was sold in the Tarnville colony by Orla Venn.", "Orla Venn", []),
        ("The ferry was sold at Béal na Bláth by Orla Venn.", "Orla Venn", []),
        ("The ferry was sold in 1911 by Orla Venn.", "Orla Venn", ["Who sold the ferry in 1911?"]),
    ],
)
def test_a_detail_is_a_whole_phrase(text: str, answer: str, wordings: list[str]) -> None:
    assert readings_of("Who sold the ferry?", evidence(PromptPassage(1, "", text), answer)) == wordings


def test_a_time_tells_no_times_apart() -> None:
    found = evidence(PromptPassage(1, "", "In Tarnville it left on 4 May 1911, and in 1923 in Marrow."), "4 May 1911")
    assert readings_of("When did it leave?", found) == ["When did it leave in Marrow?"]


@pytest.mark.parametrize(
    ("written", "fit"),
    [
        ("When did the song Marrow come out?", True),
        ("In what year did the song Marrow come out?", True),
        ("When did Marrow come out?", False),
        ("When did the song Marrow come out on 9 June 1971?", False),
        ("The song Marrow did come out when?", False),
        ("When did the song the song Marrow come out?", False),
        ("When did the ferry leave?", False),
        ("When did Marrow come out as the song Marrow?", False),
        ("When did the song Marrow appear?", False),
        ("When did the song Marrow, Marrow come out?", False),
        ("When did the song Marrow come out" + " again" * 30 + "?", False),
        ("", False),
    ],
)
def test_what_is_fit_to_be_shown(written: str, fit: bool) -> None:
    assert is_fit(written, QUESTION, "9 June 1971") is fit
