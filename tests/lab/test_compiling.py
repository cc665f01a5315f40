from lab.compiling import Alone, Compilations, Measured, Remembered, Row, answered_by_years
from polyqa.base.values import Passage
from polyqa.metrics.gold import Question, Reading


def measured(label: str, **rows: float) -> Measured:
    made = {
        name: Row(
            before=40.0, after=40.0 + gain, difference=gain, low=gain - 1, high=gain + 1, p=0.0002, kept=["years"]
        )
        for name, gain in rows.items()
    }
    alone = {f"clarify: {name}": Alone(difference=gain, low=gain - 1, high=gain + 1) for name, gain in rows.items()}
    return Measured(label=label, measure="dr", train=30, dev=10, test=20, rows=made, alone=alone)


def test_the_tables_have_a_row_for_each_recipe_and_a_column_for_each_set() -> None:
    sets = {"a": measured("A", knn=1.0, clauses=2.5), "b": measured("B", knn=-3.0)}
    found = Compilations(command="c", date="2026-01-02", program="rac", lm="x", sets=sets)
    rows = found.table().splitlines()[2:]
    assert rows[1] == "| A | dr | 20 | clauses | 40.0 | 42.5 | +2.5 [+1.5, +3.5] | <0.001 | years |"
    assert len(rows) == 3
    head, _, first, second = found.clauses_table().splitlines()
    assert head == "| clause | A, dr, n = 30 | B, dr, n = 30 |"
    assert first == "| clarify: knn | +1.0 [+0.0, +2.0] | -3.0 [-4.0, -2.0] |"
    assert second.endswith("| +2.5 [+1.5, +3.5] |  |")
    assert Compilations.model_validate_json(found.model_dump_json()) == found


def test_other_labels_are_years_of_questions_that_ask_when() -> None:
    dated = Question("1", "When did it open?", (Reading("?", ("4 May 1901", "May 4, 1901", "1901")),))
    others = [
        Question("2", "Who opened it?", (Reading("?", ("A king of 1901",)),)),
        Question("3", "When did it open?", (Reading("?", ("in May",)),)),
    ]
    (only,) = answered_by_years([dated, *others])
    assert (only.id, only.readings[0].short_answers) == ("1", ("1901",))


def test_what_was_searched_is_not_searched_again() -> None:
    asked = []

    class Retriever:
        def search(self, query: str, k: int) -> list[Passage]:
            asked.append((query, k))
            return [Passage(pid="1", title="", text=query)]

    remembered = Remembered(Retriever())
    assert [remembered.search("a", 5) for _ in range(3)] == [[Passage(pid="1", title="", text="a")]] * 3
    remembered.search("a", 6)
    assert asked == [("a", 5), ("a", 6)]
