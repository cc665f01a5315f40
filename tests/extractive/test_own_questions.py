import pytest

from polyqa.base.values import Passage
from polyqa.extractive import ExtractiveEngine
from polyqa.extractive.own_questions import trust

TRUSTED = 0.62
BRIDGE = Passage(
    pid="1",
    title="Dean Bridge",
    text="Dean Bridge is a bridge near Tarnville. It was opened on 4 May 1911. The toll was paid by Orla Venn in 1923.",
)


def test_what_its_sentence_does_not_say_or_many_words_say_is_not(engine: ExtractiveEngine) -> None:
    good = trust("When was Dean Bridge opened?", "4 May 1911", BRIDGE, engine.models)
    other = trust("When did Orla Venn win the boat race?", "1923", BRIDGE, engine.models)
    long = trust(
        "When was the bridge of Dean Bridge near Tarnville with the toll of Orla Venn opened in May?",
        "4 May 1911",
        BRIDGE,
        engine.models,
    )
    assert max(other, long) < TRUSTED <= good


def test_questions_are_trusted_together_as_each_alone(engine: ExtractiveEngine) -> None:
    asked = [
        ("When was Dean Bridge opened?", "4 May 1911", BRIDGE),
        ("When did Orla Venn win the boat race?", "1923", BRIDGE),
    ]
    alone = [trust(*one, engine.models) for one in asked]
    assert alone[0] > alone[1]
    assert engine.trust(asked) == pytest.approx(alone)
    assert engine.trust(asked[::-1]) == pytest.approx(alone[::-1])
    assert engine.trust([]) == []
