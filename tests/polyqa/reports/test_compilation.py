"""The report tells what happened, and nothing of a stranger's text acts in it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from attack_texts import ATTACKS
from well_formed_html import Page, read_html

import polyqa
from polyqa.base.html import plain
from polyqa.evaluation.loading import load_questions
from polyqa.reports.compilation import BEGINNING

Report = Callable[..., str]


def shown(report: str) -> Page:
    """Return the page as a strict reader sees it; the metas of its head, which nothing closes, are known."""
    assert report.startswith(BEGINNING)
    assert report.count("<meta") == 3, "the characters, what may be loaded, the width"
    body = report[report.index("</head>") + len("</head>") :].removesuffix("</html>\n")
    return read_html(body.strip(), whole=True)


def classed(page: Page, name: str) -> list[str]:
    return [one.text for one in page.elements if name in (one.attributes.get("class") or "").split()]


@pytest.mark.parametrize("text", ATTACKS.values(), ids=ATTACKS)
def test_texts_of_strangers_are_shown_and_do_not_act(report: Report, text: str) -> None:
    page = shown(report(text, name=f"n{text}"[:40]))
    told = plain(text)
    assert told in plain(page.text)
    assert told in plain(" ".join(one[2:] for one in classed(page, "added"))), "a line each, after its sign"
    for name in ("answers", "demo", "tree"):
        assert any(told in plain(one) for one in classed(page, name)), name
    assert not [one for one in page.elements if one.name in ("script", "img", "link", "a", "iframe")]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"gain": 0.3}, "Compiling helped: DR 30.0 → "),
        ({"gain": 0.0}, "made no real difference: DR"),
        ({"gain": -0.2}, "Compiling did harm: DR"),
        ({"gain": 0.02}, "Whether compiling helped cannot be told with 50 questions"),
        ({"failed_after": 9}, "0 of 50 questions failed before and 9 after: the difference says nothing"),
    ],
)
def test_it_begins_with_a_sentence(report: Report, given: dict[str, float], told: str) -> None:
    (sentence,) = classed(shown(report(**given)), "verdict")
    assert sentence.startswith("On dev: ")
    assert told in sentence


def test_questions_won_and_lost_stand_side_by_side(report: Report) -> None:
    page = shown(report())
    assert "24 won, 2 lost, 24 drawn by DR." in page.text
    assert "Won: 24 questions, the 20 that changed most" in page.text
    assert "Lost: 2 questions" in page.text
    pairs = [one for one in classed(page, "answers") if one.startswith("before: ")]
    assert len(pairs) == 22
    assert pairs[0].startswith("before: DR 30")
    assert "old the ship" in pairs[0]
    assert "after: DR 60" in pairs[0]
    assert "new the ship" in pairs[0]
    assert any("failed: went wrong" in one for one in pairs[20:])


def test_a_diff_can_be_read_without_colour(report: Report) -> None:
    page = shown(report())
    added, removed = classed(page, "added"), classed(page, "removed")
    assert [one for one in added if one.startswith("+ ")] == added
    assert [one for one in removed if one.startswith("− ")] == removed
    assert "+ Give two readings." in added
    assert any("the 2 nearest of 5" in one for one in added)
    same = classed(page, "same")
    assert same, "what stands around it"
    assert not any(one.startswith(("-", "+", "−")) for one in same)


@pytest.mark.parametrize(("demos", "folded"), [(3, 0), (5, 2), (60, 47)])
def test_three_demos_are_open_and_the_rest_is_folded(report: Report, demos: int, folded: int) -> None:
    page = shown(report(demos=demos))
    hidden = [one.text for one in page.named("summary") if one.text.endswith("more demos")]
    assert hidden == ([f"{folded} more demos"] * 2 if folded else [])
    assert ("10 more are in program.json" in page.text) == (demos == 60)


def test_a_program_that_is_as_it_was_is_told_so(report: Report) -> None:
    assert "Nothing: the compiled program is the program as it was." in shown(report(demos=0)).text
    assert "Nothing:" not in shown(report()).text


@pytest.mark.parametrize("many", [0, 1, 7, 12, 80])
def test_every_candidate_is_listed(report: Report, many: int) -> None:
    page = shown(report(many=many))
    listed = [one for one in page.elements if one.attributes.get("class") == "name"]
    assert len(listed) == many + 2
    assert sorted(int(one.text.split()[1]) for one in listed) == list(range(many + 2))
    assert any(one.text == f"{many - 1} that were not kept" for one in page.named("summary")) == (many > 9)
    assert ("tries no candidates" in page.text) == (many == 0)


def test_it_tells_what_it_cost(report: Report) -> None:
    text = shown(report()).text
    for told in ("12,345", "678,900", "4,321", "61"):
        assert told in text


def test_a_compilation_writes_it(tmp_path: Path) -> None:
    own = {name: load_questions(f"homonyms/{name}")[:3] for name in ("train", "dev", "test")}
    made = polyqa.compile("rac", recipe="knn", sets=polyqa.Sets(**own), out=tmp_path / "made")
    assert made is not None
    page = shown((made.path / "report.html").read_text())
    assert len(classed(page, "verdict")) == 2, "on dev and on test"
    assert "so that they stay unseen" in page.text
    assert not [path.name for path in made.path.iterdir() if path.name.endswith(".draft")]
