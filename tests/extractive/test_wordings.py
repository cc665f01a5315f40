"""How readings are asked."""

import pytest

from polyqa.extractive.evidence import Evidence
from polyqa.extractive.prompt import PromptPassage
from polyqa.extractive.wordings import phrase, readings_of
from polyqa.models import Span

QUESTION = "When did Marrow come out?"
FILM = PromptPassage(1, "Marrow (1953 film)", "Marrow is a film by Orla Venn. It was first shown on 4 May 1953.")
SONG = PromptPassage(2, "Songs of Tarnville", "The song Marrow was released as a single on 9 June 1971 by Piet Holm.")


def evidence(passage: PromptPassage, answer: str) -> Evidence:
    start = passage.text.index(answer)
    span = Span(answer, start, start + len(answer), 1.0)
    return Evidence(passage, span, answer, 0.5)


FOUND = [evidence(FILM, "4 May 1953"), evidence(SONG, "9 June 1971")]


def test_a_lone_reading_keeps_the_question() -> None:
    assert phrase(QUESTION, FOUND[:1]) == [(FOUND[0], QUESTION)]
    assert phrase(QUESTION, []) == []


def test_a_title_says_what_is_meant_in_the_place_of_the_name_or_behind_the_question() -> None:
    assert [text for _, text in phrase(QUESTION, FOUND)] == [
        "When did the 1953 film Marrow come out?",
        "When did Marrow come out (Songs of Tarnville)?",
    ]
    assert phrase(QUESTION, FOUND[::-1]) == phrase(QUESTION, FOUND)[::-1]


def test_a_second_answer_of_a_passage_is_not_worded_as_that_of_another() -> None:
    fair = PromptPassage(3, "Spring fair", "The fair is on 15 May, at 17:00.")
    found = [*FOUND, evidence(fair, "15 May"), evidence(fair, "17:00")]
    assert [text for _, text in phrase(QUESTION, found)][2:] == ["When did Marrow come out (Spring fair)?"] * 2


def test_the_thing_that_a_question_names_in_full_keeps_the_question() -> None:
    found = [
        evidence(PromptPassage(at, title, "She beat Piet Holm in Tarnville."), "Piet Holm")
        for at, title in enumerate(("Ada B. Moe", "Ada Moe"), 1)
    ]
    asked = "Who did Ada Moe beat?"
    assert [told for _, told in phrase(asked, found)] == ["Who did Ada B. Moe beat?", asked]


def test_of_one_passage_readings_are_told_apart_by_a_place_beside_the_answer_or_not_at_all() -> None:
    text = "The ferry was sold in Tarnville by Orla Venn. It was sold in Marrow by Piet Holm. It was sold by Ida Berg."
    ferry = PromptPassage(1, "Ferry", text)
    found = [evidence(ferry, name) for name in ("Orla Venn", "Piet Holm", "Ida Berg")]
    asked = "Who sold the ferry?"
    assert [told for _, told in phrase(asked, found)] == [asked, "Who sold the ferry in Marrow?", asked]


def test_sections_of_one_name_are_told_apart_by_where_they_stand() -> None:
    text = "It stands on the first floor and seats 12 people."
    titles = ["Old Wing › Blue Room", "New Wing › Blue Room", "Old Wing › Red Room"]
    found = [evidence(PromptPassage(at, title, text), "12") for at, title in enumerate(titles, 1)]
    asked = "How many people does the Blue Room seat?"
    told = [text for _, text in phrase(asked, found[:2])]
    assert told == [f"{asked[:-1]} (Old Wing)?", f"{asked[:-1]} (New Wing)?"]
    assert f"{asked[:-1]} (Old Wing)?" not in [text for _, text in phrase(asked, found[::2])]


def test_passages_without_titles_are_told_apart_by_names_in_their_sentences() -> None:
    found = [
        evidence(PromptPassage(at, "", f"The mill of {place} in Kent was opened in {year} by Ann Lee."), year)
        for at, (place, year) in enumerate({"Old Perth": "1911", "Kiel": "1902"}.items(), 1)
    ]
    asked = [text for _, text in phrase("When was the mill opened?", found)]
    assert asked == ["When was the mill opened (Old Perth)?", "When was the mill opened (Kiel)?"]
    found[1] = evidence(PromptPassage(2, "", "Bread came to Rome when Piet Holm had it built in 1902."), "1902")
    assert [text for _, text in phrase("When was the mill opened?", found)] == ["When was the mill opened?"] * 2


def test_namesakes_in_one_document_are_told_apart_by_their_names() -> None:
    titles = ["Fleet › Aurora (car ferry)", "Fleet › Aurora (pilot boat)"]
    found = [evidence(PromptPassage(at, title, "She was built in 1998."), "1998") for at, title in enumerate(titles, 1)]
    assert [text for _, text in phrase("When was the Aurora built?", found)] == [
        "When was the Aurora (car ferry) built?",
        "When was the Aurora (pilot boat) built?",
    ]


@pytest.mark.parametrize(
    ("text", "answer", "wordings"),
    [
        ("The ferry was sold in Tarnville by Orla Venn.", "Orla Venn", ["Who sold the ferry in Tarnville?"]),
        ("The ferry was sold in the Tarnville colony by Orla Venn.", "Orla Venn", []),
        ("The ferry was sold at Béal na Bláth by Orla Venn.", "Orla Venn", []),
        ("The ferry was sold in the Venns' 27–14 win by Orla Venn.", "Orla Venn", []),
        ("The ferry was sold in 1911 by Orla Venn.", "Orla Venn", ["Who sold the ferry in 1911?"]),
    ],
)
def test_a_detail_is_a_whole_phrase(text: str, answer: str, wordings: list[str]) -> None:
    assert readings_of("Who sold the ferry?", evidence(PromptPassage(1, "", text), answer)) == wordings


def test_a_time_tells_no_times_apart() -> None:
    found = evidence(PromptPassage(1, "", "In Tarnville it left on 4 May 1911, and in 1923 in Marrow."), "4 May 1911")
    assert readings_of("When did it leave?", found) == ["When did it leave in Marrow?"]
