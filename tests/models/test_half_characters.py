"""Texts with lone surrogates, which tokenizers refuse, are read as if U+FFFD stood there."""

import numpy as np

from polyqa.models import Encoder, Reader

TEXT = "The caf\udce9 in Tarnville opened in 1987. \ud800 It is green."
SHOWN = "The caf\ufffd in Tarnville opened in 1987. \ufffd It is green."
QUESTION = "When did the caf\udce9 open?"


def test_the_reader_keeps_places(reader: Reader) -> None:
    (reading,) = reader.read([(QUESTION, TEXT)])
    (span,) = reading.spans
    assert TEXT[span.start : span.end] == span.text == "1987"
    assert reader.count_tokens(TEXT) == reader.count_tokens(SHOWN)


def test_the_encoder_takes_them(encoder: Encoder) -> None:
    there, shown = encoder.encode([TEXT, SHOWN])
    assert np.array_equal(there, shown)
