"""Which slot a call gets."""

from hypothesis import given
from hypothesis import strategies as st

from polyqa.lm.local.slots import Slots


def test_a_call_gets_the_slot_that_has_read_how_it_begins() -> None:
    slots = Slots(3)
    places = {}
    for prompt in ("Say Yes or No. Is it old?", "Tell a story.", "Write the question again."):
        places[prompt], _ = slots.take(prompt)
    assert sorted(places.values()) == [0, 1, 2]
    for slot in places.values():
        slots.give(slot)
    assert slots.take("Tell a joke.") == (places["Tell a story."], "Tell a story.")
    assert slots.take("Tell a lie.")[0] != places["Tell a story."]  # it is not free


def test_calls_with_added_weights_have_a_slot_of_their_own() -> None:
    slots = Slots(2)
    assert [slots.take("Is it?", lora=True) for _ in range(3)] == [(2, "")] * 3
    slots.give(2)
    assert slots.read == ["", ""]
    assert {slots.take("Is it?")[0], slots.take("Is it?")[0]} == {0, 1}


@given(st.lists(st.text(alphabet="ab", max_size=4), max_size=30), st.integers(1, 4))
def test_no_slot_is_taken_twice(prompts: list[str], count: int) -> None:
    slots, taken = Slots(count), list[int]()
    for prompt in prompts:
        if len(taken) == count:
            slots.give(taken.pop(0))
        slot, _ = slots.take(prompt)
        assert slot not in taken
        assert slots.read[slot] == prompt
        taken.append(slot)
