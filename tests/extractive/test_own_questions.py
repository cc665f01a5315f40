import pytest

from polyqa.base.values import Passage
from polyqa.extractive import ExtractiveEngine

TRUSTED = 0.62
BRIDGE = Passage(
    pid="1",
    title="Dean Bridge",
    text="Dean Bridge is a bridge near Tarnville. It was opened on 4 May 1911. The toll was paid by Orla Venn in 1923.",
)


LONG = "When was the bridge of Dean Bridge near Tarnville with the toll of Orla Venn opened in May?"


def test_what_its_sentence_does_not_say_or_many_words_say_is_not_trusted_alone_or_together(
    engine: ExtractiveEngine,
) -> None:
    asked = [
        ("When was Dean Bridge opened?", "4 May 1911", BRIDGE),
        ("When did Orla Venn win the boat race?", "1923", BRIDGE),
        (LONG, "4 May 1911", BRIDGE),
    ]
    good, other, long = alone = [engine.trust([one])[0] for one in asked]
    assert max(other, long) < TRUSTED <= good
    assert engine.trust(asked) == pytest.approx(alone)
    assert engine.trust(asked[::-1]) == pytest.approx(alone[::-1])
    assert engine.trust([]) == []
