import itertools
from collections.abc import Callable

import pytest
from data_files import golden
from hypothesis import given
from hypothesis import strategies as st

from polyqa.metrics.text import (
    content_words,
    holds,
    normalize_answer,
    normalize_words,
    sentence_at,
    sentences,
    sentences_by_shape,
    split_title,
    without_marks,
    words,
)
from polyqa.metrics.token_f1 import token_f1

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
        ("大桥于1957年建成，位于武汉！电影于1962年上映。", ["大桥于1957年建成，位于武汉！", "电影于1962年上映。"]),
        ("他说「去吧。」她走了。真的吗？！是的。", ["他说「去吧。」", "她走了。", "真的吗？！", "是的。"]),
        ("橋は1957年に完成した。全長は1670メートルである。", ["橋は1957年に完成した。", "全長は1670メートルである。"]),
        ("متى بني الجسر؟ بني عام 1957. وعرض الفيلم.", ["متى بني الجسر؟", "بني عام 1957.", "وعرض الفيلم."]),
        ("पुल 1957 में बना। फ़िल्म 1962 में आई।", ["पुल 1957 में बना।", "फ़िल्म 1962 में आई।"]),
        ("¿Cuándo? El puente es azul. Él lo vio.", ["¿Cuándo?", "El puente es azul.", "Él lo vio."]),
        ("Мост построен в 1957 г. Москва. Он длинный.", ["Мост построен в 1957 г.", "Москва.", "Он длинный."]),
        ("다리는 1957년에 완공되었다. 길이는 길다.", ["다리는 1957년에 완공되었다.", "길이는 길다."]),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert [sentence.text for sentence in sentences(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("J. R. Smith met Dr. Who. It was 1963!", ["J. R. Smith met Dr. Who.", "It was 1963!"]),
        ("She played Jo. It was a hit.", ["She played Jo. It was a hit."]),
        ("King Kong vs. Godzilla. It was a hit.", ["King Kong vs.", "Godzilla.", "It was a hit."]),
    ],
)
def test_sentences_by_shape_know_short_names_but_no_abbreviations(text: str, expected: list[str]) -> None:
    assert [sentence.text for sentence in sentences_by_shape(text)] == expected


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
    assert any(one.start <= sentence.start <= sentence.end <= one.end for one in sentences(text))
    assert sentence.start <= position < sentence.end


def test_where_a_gap_between_paragraphs_begins_is_in_a_sentence_too() -> None:
    assert sentence_at("It rained.\n\nShe left.", 10).end > 10


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


@pytest.mark.parametrize("normalize", [normalize_answer, normalize_words])
@pytest.mark.parametrize("case", golden("normalize_answer")["cases"], ids=lambda case: repr(case["input"]))
def test_normal_forms_agree_with_the_official_scorer(case: dict[str, str], normalize: Callable[[str], str]) -> None:
    assert normalize(case["input"]) == case["output"]


@pytest.mark.parametrize("normalize", [normalize_words, without_marks])
@given(text=st.text())
def test_normalising_twice_changes_nothing(normalize: Callable[[str], str], text: str) -> None:
    assert normalize(normalize(text)) == normalize(text)


@pytest.mark.parametrize(
    ("text", "answer", "words", "marks"),
    [
        ("the ancestor—a bacterium", "ancestor— bacterium", "ancestor—a bacterium", "the ancestor a bacterium"),
        ("“The Wall”", "“ wall”", "“the wall”", "the wall"),
        ("the U.S.A.’s rock-n-roll", "usa’s rocknroll", "usa’s rocknroll", "the u s a s rock n roll"),
    ],
)
def test_normal_forms_differ_beside_marks(text: str, answer: str, words: str, marks: str) -> None:
    assert (normalize_answer(text), normalize_words(text), without_marks(text)) == (answer, words, marks)


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


@pytest.mark.parametrize(("text", "answer"), [("a rock-n-roll song", "rock n roll"), ("The “Wall”", "the wall")])
def test_holds_in_another_normal_form(text: str, answer: str) -> None:
    assert holds(text, answer, without_marks)
    assert not holds(text, answer)


@pytest.mark.parametrize(
    ("title", "expected", "with_commas"),
    [
        ("Titanic (1953 film)", ("Titanic", "1953 film"), ("Titanic", "1953 film")),
        ("Titanic  ( film ) ", ("Titanic", "film"), ("Titanic", "film")),
        ("Titanic ( )", ("Titanic", ""), ("Titanic", "")),
        ("Titanic", ("Titanic", ""), ("Titanic", "")),
        ("(500) Days of Summer", ("(500) Days of Summer", ""), ("(500) Days of Summer", "")),
        ("Live (Paris) (album)", ("Live (Paris)", "album"), ("Live (Paris)", "album")),
        ("Titanic (film) soundtrack", ("Titanic (film) soundtrack", ""), ("Titanic (film) soundtrack", "")),
        ("(film)", ("(film)", ""), ("(film)", "")),
        ("Paris, Texas (film)", ("Paris, Texas", "film"), ("Paris, Texas", "film")),
    ],
)
def test_split_title(title: str, expected: tuple[str, str], with_commas: tuple[str, str]) -> None:
    assert split_title(title) == expected
    assert split_title(title, commas=True) == with_commas


@pytest.mark.parametrize(
    ("text", "answer", "held"),
    [
        ("大桥于1957年建成。", "1957年", True),
        ("大桥于1957年建成。", "957年", False),
        ("电影由李明执导", "李明", True),
        ("橋は武漢に完成した", "武漢", True),
        ("بُني الجسر عام 1957.", "بني الجسر", True),
        ("पुल 1957 में बना।", "1957 में", True),
        ("पुल 1957 में बना।", "957", False),
        ("สะพานสร้างในปี 1957", "สร้าง", True),
    ],
)
def test_words_are_not_only_what_stands_between_spaces(text: str, answer: str, held: bool) -> None:
    assert [holds(text, answer, normal) for normal in (normalize_words, normalize_answer, without_marks)] == [held] * 3


def test_other_scripts_are_counted_by_character_and_english_as_squad_does() -> None:
    assert words("长江大桥1957") == [*"长江大桥", "1957"]
    assert words("पुल बना") == ["पुल", "बना"]
    assert token_f1("长江大桥", ["长江二桥"]) == 0.75
    assert normalize_answer("The “Café” – a naïve U.S. co-op (2019)!") == "“café” – naïve us coop 2019"
