"""A corpus that is larger than the one there is."""

from lab.building import grown
from polyqa.base.values import Passage


def test_passages_beyond_a_corpus_are_made_of_the_halves_of_its_own() -> None:
    passages = [Passage(pid=name, title=name.upper(), text=f"{name}1 {name}2 {name}3 {name}4") for name in "abc"]
    assert grown(passages, 2) == passages[:2]
    more = grown(passages, 9)
    assert more[:3] == passages
    assert [(one.pid, one.title, one.text) for one in more[3:5]] == [
        ("a-1", "A", "a1 a2 b3 b4"),
        ("b-1", "B", "b1 b2 c3 c4"),
    ]
    assert len({one.pid for one in more}) == len({one.text for one in more}) == 9
