from lab.nearest import nearest_by_words

TEXTS = ["Green tea is steamed.", "The kettle sings on the stove.", "A kettle of copper; a kettle of tin."]


def test_texts_are_found_by_their_place() -> None:
    assert nearest_by_words(TEXTS, ["copper kettle", "glacier"], 9) == [[2, 1], []]
    assert nearest_by_words([], ["kettle"], 9) == [[]]
    assert nearest_by_words(TEXTS, [], 9) == []
