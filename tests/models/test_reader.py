import copy
import itertools
import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.models import EMBEDDED_READER, Encoder, Reader, Reading
from polyqa.models.reader import EXCERPT_OVERLAP, EXCERPT_SIZE, MAX_LENGTH, MOST_EXCERPTS, excerpt_spans, excerpts

KETTLE = "The kettle in the station kiosk is painted green. It was bought in 1987 at a flea market in Tarnville."
FERRY = "The last ferry to the island leaves at seven in the evening. In winter it does not run at all."
PAIRS = [
    ("What colour is the kettle in the station kiosk?", KETTLE),
    ("When was the kettle bought?", KETTLE),
    ("When does the last ferry to the island leave?", FERRY),
    ("When does the last ferry to the island leave?", KETTLE),
    ("What colour is the kettle in the station kiosk?", FERRY),
]
BOATS = ("What colour is the boat?", "The first boat is red. The second boat is yellow. The third boat is black.")
FILLER = "The gravel path winds along the reed beds and past the boat sheds. "


def assert_same(found: list[Reading], expected: list[Reading]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert [(s.text, s.start, s.end) for s in one.spans] == [(s.text, s.start, s.end) for s in other.spans]
        assert [s.score for s in one.spans] == pytest.approx([s.score for s in other.spans], abs=1e-3)
        assert one.null_score == pytest.approx(other.null_score, abs=1e-3)


def test_embedded_is_short_for_the_shipped_reader() -> None:
    short = Reader("embedded")
    assert short.name == Reader().name == EMBEDDED_READER
    assert "green" in short.read([PAIRS[0]])[0].answer()
    assert Reader("some/reader").name == "some/reader"


@pytest.mark.parametrize(("pair", "answer"), [(0, "green"), (1, "1987"), (2, "seven in the evening")])
def test_a_context_with_the_answer(reader: Reader, pair: int, answer: str) -> None:
    reading = reader.read([PAIRS[pair]])[0]
    assert answer in reading.spans[0].text
    assert reading.answer() == reading.spans[0].text
    assert reading.margin > 0


@pytest.mark.parametrize(("with_answer", "without"), [(2, 3), (0, 4)])
def test_a_context_about_something_else_has_a_lower_margin(reader: Reader, with_answer: int, without: int) -> None:
    good, bad = reader.read([PAIRS[with_answer], PAIRS[without]])
    assert good.margin > bad.margin
    assert bad.answer() == ""


def test_spans_point_into_the_context(reader: Reader) -> None:
    context = "  Ünïcode first — then\tthe   kettle ☕ is painted\n\ngreen.  "
    for reading in reader.read([("What colour is the kettle?", context), *PAIRS], keep=5):
        assert reading.spans
    for span in reader.read([("What colour is the kettle?", context)], keep=5)[0].spans:
        assert context[span.start : span.end] == span.text


def test_a_batch_reads_like_one_by_one() -> None:
    alone = [Reader().read([pair], keep=3)[0] for pair in PAIRS]
    assert_same(Reader().read(PAIRS, keep=3), alone)
    assert_same(Reader(batch_size=2).read(PAIRS, keep=3), alone)
    assert_same(Reader().read(PAIRS[::-1], keep=3), alone[::-1])


def test_the_memory_gives_the_same_readings() -> None:
    reader = Reader(memory=2)
    first = reader.read(PAIRS)
    assert_same(reader.read([PAIRS[1], *PAIRS, PAIRS[1]]), [first[1], *first, first[1]])
    assert len(reader.read([BOATS])[0].spans) == 1
    assert len(reader.read([BOATS], keep=4)[0].spans) > 1  # not the one span of before
    assert reader.read([]) == []


@pytest.mark.parametrize(
    ("question", "context"), [("What?", ""), ("What?", " \n\t"), ("", KETTLE), ("  ", KETTLE), ("", "")]
)
def test_nothing_to_read(reader: Reader, question: str, context: str) -> None:
    reading, other = reader.read([(question, context), PAIRS[0]])
    assert reading == Reading((), 0.0)
    assert reading.answer(threshold=1e9) == ""
    assert other.spans


@pytest.mark.parametrize("context", ["\x00\x01", "\u200b\u200b"])
def test_a_context_without_a_word(reader: Reader, context: str) -> None:
    assert reader.read([("What colour is the kettle?", context)])[0].spans == ()


@pytest.mark.parametrize("before", [0, 40, 90])
def test_a_long_context_is_read_to_its_end(reader: Reader, before: int) -> None:
    context = FILLER * before + KETTLE + " " + FILLER * (90 - before)
    assert reader.count_tokens(context) > 3 * MAX_LENGTH
    span = reader.read([PAIRS[0]])[0].spans[0]
    found = reader.read([(PAIRS[0][0], context)])[0].spans[0]
    # A word before the answer may count as a part of it where more stands around.
    assert found.text.endswith(span.text)
    assert found.end == span.end + len(FILLER) * before
    assert context[found.start : found.end] == found.text


def test_keep_gives_other_places(reader: Reader) -> None:
    spans = reader.read([BOATS], keep=4)[0].spans
    assert 1 < len(spans) <= 4
    assert len(reader.read([BOATS], keep=3)[0].spans) == 3
    assert spans[:1] == reader.read([BOATS])[0].spans
    places = sorted((span.start, span.end) for span in spans)
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(places))
    assert [span.score for span in spans] == sorted((span.score for span in spans), reverse=True)


def test_tokens_are_counted_without_special_ones(reader: Reader) -> None:
    assert reader.count_tokens("") == 0
    assert reader.count_tokens("hello world") == 2
    assert reader.count_tokens("hello world " * 1000) == 2000


def test_a_deep_copy_is_the_model_itself(reader: Reader, encoder: Encoder) -> None:
    assert all(copy.deepcopy([model])[0] is model for model in (reader, encoder))


def test_pairs_are_told_apart_by_their_parts() -> None:
    pairs = [("Who owns it\x1fThe kite", "is red."), ("Who owns it", "The kite\x1fis red.")]
    together = Reader().read(pairs)
    assert together == [Reader().read([pair])[0] for pair in pairs]


def test_a_reader_can_be_pickled() -> None:
    loaded = pickle.loads(pickle.dumps(Reader(batch_size=2, memory=7)))
    assert (loaded.name, loaded.batch_size) == ("polyqa-minilm-reader", 2)
    assert loaded.read([("What is red?", "The kite is red.")])[0].spans


# Of a very long text the parts are read that have to do with the question.
RISING_RIVER = "The river rose in spring, and the fields by the town lay under water. "
FACT = "Solaris was first screened in Cannes on 13 May 1972. "
QUESTION = "When was Solaris first screened?"


@given(st.text(st.sampled_from("ab \n"), max_size=200), st.integers(EXCERPT_SIZE - 1, 4 * EXCERPT_SIZE))
def test_spans_cover_a_text_and_overlap(unit: str, length: int) -> None:
    text = ((unit or "x") * (length + 1))[:length]
    spans = excerpt_spans(text)
    assert (spans[0][0], spans[-1][1]) == (0, length)
    assert all(end - start <= EXCERPT_SIZE for start, end in spans)
    for (start, end), (following, _) in itertools.pairwise(spans):
        assert start < following <= end - EXCERPT_OVERLAP


def test_an_answer_anywhere_in_a_megabyte_is_found_where_it_stands(reader: Reader) -> None:
    text = RISING_RIVER * 11_000 + FACT + RISING_RIVER * 3_000
    assert len(text) > 900_000
    started = time.process_time()
    (reading,) = reader.read([(QUESTION, text)])
    assert time.process_time() - started < 60
    (span,) = reading.spans
    assert span.text == text[span.start : span.end]
    assert span.text.endswith("13 May 1972")
    assert text.index(FACT) < span.start < text.index(FACT) + len(FACT)


def test_parts_stand_in_the_order_of_the_text_and_are_few() -> None:
    parts = excerpts(QUESTION, (RISING_RIVER * 100 + FACT) * 60)
    starts = [start for start, _ in parts]
    assert starts == sorted(starts)
    assert len(parts) == MOST_EXCERPTS
    assert all("Solaris" in part for _, part in parts)


@pytest.mark.parametrize("text", ["x" * 100_000, " " * 100_000, "水" * 50_000], ids=["one word", "spaces", "Chinese"])
def test_a_text_without_words_to_share_is_read_from_its_beginning(text: str) -> None:
    assert excerpts(QUESTION, text)[0][0] == 0
    assert len(excerpts(QUESTION, text)) == MOST_EXCERPTS


def test_lone_surrogates_are_read_as_replacement_characters(reader: Reader) -> None:
    text = "The caf\udce9 in Tarnville opened in 1987. \ud800 It is green."
    (reading,) = reader.read([("When did the caf\udce9 open?", text)])
    (span,) = reading.spans
    assert text[span.start : span.end] == span.text == "1987"
    assert reader.count_tokens(text) == reader.count_tokens(
        "The caf\ufffd in Tarnville opened in 1987. \ufffd It is green."
    )
