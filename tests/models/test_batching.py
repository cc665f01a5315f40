from hypothesis import given
from hypothesis import strategies as st

from polyqa.models import Encoder, Reader
from polyqa.models.running import by_padded_length


@given(st.lists(st.integers(1, 50)), st.integers(1, 7), st.integers(1, 20))
def test_every_text_is_in_one_batch_and_fits(lengths: list[int], batch_size: int, step: int) -> None:
    batches = list(by_padded_length(lengths, batch_size, step=step, longest=50))
    assert sorted(position for batch, _ in batches for position in batch) == list(range(len(lengths)))
    for batch, padded in batches:
        assert 1 <= len(batch) <= batch_size
        for position in batch:
            assert padded == min(50, -(-lengths[position] // step) * step) >= lengths[position]


def test_what_is_made_of_a_text_hardly_depends_on_the_others() -> None:
    texts = ["Who mends the nets?", "Piet mends the nets on Sundays. " * 9, "The harbour is closed. " * 20]
    vectors = Encoder().encode(texts)
    for text, vector in zip(texts, vectors, strict=True):
        assert float(Encoder().encode([text])[0] @ vector) > 0.99999
    pairs = [(texts[0], text) for text in texts[1:]]
    for pair, reading in zip(pairs, Reader(precision="auto").read(pairs), strict=True):
        alone = Reader(precision="auto").read([pair])[0]
        assert alone.spans[0].text == reading.spans[0].text
        assert abs(alone.spans[0].score - reading.spans[0].score) < 0.05
