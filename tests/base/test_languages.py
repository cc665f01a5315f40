import json
from pathlib import Path

import pytest

import polyqa
from polyqa.base.languages import corpus_language, foreign_language

HOMONYMS = Path(polyqa.__file__).parent / "evaluation" / "homonyms"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("¿Cuándo se construyó el Puente Azul?", "Spanish"),
        ("Quand est sorti le film Titanic ?", "French"),
        ("Quem construiu a ponte velha?", "Portuguese"),
        ("Chi ha diretto La vita è bella?", "Italian"),
        ("Wie hoch ist der Eiffelturm?", "German"),
        ("Köprü ne zaman inşa edildi?", "Turkish"),
        ("متى بني جسر النهر؟", "Arabic"),
        ("पुल कब बना?", "Hindi"),
        ("橋はいつ完成した？", "Japanese"),
        ("大桥何时建成？", "Chinese"),
        ("다리는 언제 완공되었나?", "Korean"),
        ("Πότε χτίστηκε;", "Greek"),
        ("Who directed Das Leben der Anderen?", None),
        ("When did La vita è bella come out?", None),
        ("Who is 李明?", None),
        ("Who is Лев Толстой?", None),
        (
            "披头士（The Beatles）是一支来自英国利物浦的摇滚乐队，" * 3
            + "成立于一九六〇年，成员有约翰列侬和保罗麦卡特尼。",
            "Chinese",
        ),
        ("Julio César Chávez Gonzalez record", None),
        ("Gabriel García Márquez Nobel Prize year", None),
        ("Cristiano Ronaldo dos Santos Aveiro wife", None),
        ("Ludwig van Beethoven birthplace", None),
        ("Titanic", None),
        ("", None),
        ("1957?", None),
    ],
)
def test_a_language_is_told_where_it_is_sure(text: str, language: str | None) -> None:
    assert foreign_language(text) == language


def test_no_english_question_or_passage_is_taken_for_another() -> None:
    asked = [
        reading["question"]
        for name in ("train", "dev", "test")
        for part in json.loads((HOMONYMS / f"{name}.json").read_text(encoding="utf-8")).values()
        for question in part.values()
        for reading in (*question["qa_pairs"], {"question": question["ambiguous_question"]})
    ]
    passages = [json.loads(line) for line in (HOMONYMS / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    texts = [*asked, *(passage["text"] for passage in passages)]
    assert len(texts) > 900
    assert [text for text in texts if foreign_language(text)] == []


def test_a_corpus_is_of_the_language_of_most_of_its_passages() -> None:
    spanish = ["El puente se construyó en 1950 y mide ochocientos metros."] * 60
    english = ["The bridge was built in 1950 and is 800 metres long."] * 59
    assert corpus_language(spanish) == "Spanish"
    assert corpus_language([*english, *spanish[:20]]) is None
    assert corpus_language([]) is None
