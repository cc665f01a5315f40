from lab.question_retrieval import BASELINE, evaluate, findable, table
from polyqa.base.values import Passage
from polyqa.evaluation.statistics import Difference, Estimate
from polyqa.metrics.gold import Question, Reading

PASSAGES = {
    pid: Passage(pid=pid, text=f"The colour is {colour}.")
    for pid, colour in zip("abc", ("red", "blue", "green"), strict=True)
}


def question(*colours: str) -> Question:
    return Question(id="-".join(colours), question="What colour?", readings=tuple(Reading("?", (c,)) for c in colours))


def ranking(*rows: str) -> list[list[Passage]]:
    return [[PASSAGES[pid] for pid in row] for row in rows]


QUESTIONS = [question("red", "blue", "pink"), question("green", "blue"), question("pink", "grey")]


def test_an_answer_is_findable_if_any_ranking_holds_it() -> None:
    found = findable(QUESTIONS, [ranking("a", "c", "a"), ranking("b", "", "")])
    assert found == [[["red"], ["blue"]], [["green"]], []]


def test_recall_counts_findable_answers_of_the_chosen_passages_only() -> None:
    rankings = {BASELINE: ranking("ab", "c", "a"), "questions": ranking("a", "b", "b")}
    rows = evaluate(rankings, QUESTIONS, set("abc"))
    assert [round(rows[name]["recall@5"].value, 1) for name in rows] == [75.0, 50.0]  # type: ignore[attr-defined]
    assert isinstance(rows["questions"]["recall@10 difference"], Difference)
    rows = evaluate(rankings, QUESTIONS, {"a"})
    shown = rows["questions"]["recall@5"]
    assert isinstance(shown, Estimate)
    assert (shown.value, shown.n) == (100.0, 1)
    assert table(rows, dict.fromkeys(rows, 1.0)).count("\n") == 3
