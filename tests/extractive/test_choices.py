from solaris import FESTIVAL, FILM, LINER, NOVEL, REMAKE, predict

from polyqa.signatures import SelectPassages


def select(passages: list[str], count: int) -> list[int]:
    return list(predict(SelectPassages, passages=passages, count=count).selected)


def test_each_selected_passage_brings_another_answer() -> None:
    chosen = select([FILM, FESTIVAL, LINER, REMAKE, NOVEL], 3)
    assert 4 in chosen
    assert not {1, 2} <= set(chosen), "two passages with one answer count as one"
    assert 3 not in chosen


def test_the_order_of_the_passages_fills_up() -> None:
    assert sorted(select([FILM, FESTIVAL, LINER, REMAKE, NOVEL], 5)) == [1, 2, 3, 4, 5]
    assert select([LINER, LINER, LINER], 2)[-1] in (1, 2)
    assert len(select([FILM], 3)) == 1
