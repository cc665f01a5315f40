import copy
import itertools
import pickle

import pytest

from polyqa.models import EMBEDDED_READER, Encoder, Reader, Reading
from polyqa.models.reader import LONGEST_CONTEXT, MAX_LENGTH

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
    reader = Reader()
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
    loaded = pickle.loads(pickle.dumps(Reader(batch_size=2)))
    assert (loaded.name, loaded.batch_size) == ("polyqa-minilm-reader", 2)
    assert loaded.read([("What is red?", "The kite is red.")])[0].spans


def test_of_a_very_long_text_the_beginning_is_read(reader: Reader) -> None:
    question, fact = "When was Solaris first screened?", "Solaris was first screened in Cannes on 13 May 1972. "
    text = fact + "The river rose in spring. " * 40_000
    assert reader.read([(question, text)]) == reader.read([(question, text[:LONGEST_CONTEXT])])
    assert reader.read([(question, text)])[0].spans[0].text.endswith("13 May 1972")


def test_lone_surrogates_are_read_as_replacement_characters(reader: Reader) -> None:
    text = "The caf\udce9 in Tarnville opened in 1987. \ud800 It is green."
    (reading,) = reader.read([("When did the caf\udce9 open?", text)])
    (span,) = reading.spans
    assert text[span.start : span.end] == span.text == "1987"
    assert reader.count_tokens(text) == reader.count_tokens(
        "The caf\ufffd in Tarnville opened in 1987. \ufffd It is green."
    )
