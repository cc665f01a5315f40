import pytest

from polyqa.models.writer import source_tokenizer
from polyqa.models.writing import LONGEST_SOURCE, Task, as_text, read_tasks

TOKENIZER = source_tokenizer()
TEXT = (
    "The SS Marrow was a coastal steamer. The ship was launched at St. Piet's yard on 4 May 1911 by Orla O'Venn, and "
    "it sank in 1923."
)


def task(answer: str, text: str = TEXT, **more: str) -> Task:
    start = text.index(answer)
    return Task(text, start, start + len(answer), **more)


def tokens(text: str) -> list[int]:
    ids: list[int] = TOKENIZER.encode(text, add_special_tokens=False).ids
    return ids


def test_a_source_marks_the_answer_and_parts_question_and_passage() -> None:
    (source,) = read_tasks([task("4 May 1911", title="Marrow (ship)", question="When did Marrow come out?")], TOKENIZER)
    pieces = [TOKENIZER.id_to_token(token) for token in source.ids]
    begin, end = pieces.index("[unused1]"), pieces.index("[unused2]")
    assert [source.surface[place] for place in range(begin + 1, end)] == ["4", "May", "1911"]
    assert pieces[0] == "[CLS]"
    assert pieces[-1] == "[SEP]"
    first = pieces.index("[SEP]")
    assert set(source.types[: first + 1]) == {0}
    assert set(source.types[first + 1 :]) == {1}
    assert pieces[1:first] == ["when", "did", "marrow", "come", "out", "?"]


def test_a_long_passage_is_cut_around_its_answer() -> None:
    text = "Nothing is told here. " * 40 + TEXT + " Nothing is told there." * 40
    (source,) = read_tasks([task("4 May 1911", text, title="Marrow")], TOKENIZER)
    shown = " ".join(source.surface)
    assert len(source.ids) == LONGEST_SOURCE
    assert "4 May 1911" in shown
    assert "launched" in shown
    assert "sank in 1923" in shown


def test_an_answer_at_either_end_uses_the_whole_room() -> None:
    text = "Anna came first. " + "Nothing is told here. " * 60 + "Paul came last."
    for answer in ("Anna", "Paul"):
        (source,) = read_tasks([task(answer, text)], TOKENIZER)
        assert len(source.ids) == LONGEST_SOURCE
        assert answer in source.surface


def test_what_is_copied_keeps_its_capitals_and_marks() -> None:
    (source,) = read_tasks([task("4 May 1911", title="Marrow (ship)")], TOKENIZER)
    for wanted in (
        "When was the ship Marrow launched by Orla O'Venn?",
        "Who was at St. Piet's yard?",
        "What sank in 1923?",
        "When was the SS Marrow launched?",
    ):
        assert as_text(tokens(wanted), source, TOKENIZER) == wanted


def test_what_is_not_in_the_source_is_written_plainly() -> None:
    (source,) = read_tasks([task("1923")], TOKENIZER)
    assert as_text(tokens("when did it founder"), source, TOKENIZER) == "When did it founder?"
    assert as_text(tokens('what is called " unsinkability " ?'), source, TOKENIZER) == 'What is called "unsinkability"?'
    assert as_text(tokens("what is it's crew's name"), source, TOKENIZER) == "What is it's crew's name?"
    assert as_text([], source, TOKENIZER) == ""


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("who led it from 1971 to 1971", "Who led it in 1971?"),
        ("who led it from 1971 to 1972", "Who led it from 1971 to 1972?"),
        ("when does the 2018 - 2018 season start", "When does the 2018 season start?"),
        ("where did it play from 1999 - 1999", "Where did it play in 1999?"),
    ],
)
def test_a_period_of_one_year_is_that_year(written: str, told: str) -> None:
    (source,) = read_tasks([task("1923")], TOKENIZER)
    assert as_text(tokens(written), source, TOKENIZER) == told


def test_a_word_that_only_opens_a_sentence_loses_its_capital_a_name_does_not() -> None:
    text = "Marrow sank in 1923. Originally Tarnville built her. Orla Venn led the yard, Tarnville paid."
    (source,) = read_tasks([task("1923", text, title="Marrow")], TOKENIZER)
    for written, shown in (
        ("who originally led it ?", "Who originally led it?"),
        ("who was orla venn ?", "Who was Orla Venn?"),
        ("what did tarnville do ?", "What did Tarnville do?"),
        ("when did marrow sink ?", "When did Marrow sink?"),
    ):
        assert as_text(tokens(written), source, TOKENIZER) == shown
