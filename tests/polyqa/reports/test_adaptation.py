"""The page of an adaptation: what it brought, and no text of a stranger's acts in it."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from attack_texts import ATTACKS
from harness import question, record, run_of
from markdown_it import MarkdownIt

from polyqa.base.html import plain
from polyqa.base.values import Interpretation
from polyqa.reports.adaptation import adaptation_report


def page(text: str, n: int = 24, folder: str = "adapted/my bridges") -> str:
    def run(name: str, value: float, loser: float) -> object:
        scores = [{"disambig_f1": loser if at == 0 else value} for at in range(n)]
        given = {0: (), 1: (Interpretation(question=f"{text} {name}?", answer=f"{name} blue"),)}
        same = (Interpretation(question=text, answer="deep blue"),)
        records = [
            record(
                f"q{at}",
                s,
                question=f"{text}?",
                answer=f"{name} {text}",
                interpretations=given.get(at, same),
            )
            for at, s in enumerate(scores)
        ]
        return run_of(records, name)

    adapted = SimpleNamespace(
        test_runs=(run("before", 0.2, 0.5), run("after", 0.6, 0.1)),
        measure="disambig_f1",
        made=SimpleNamespace(card=SimpleNamespace(name="bridges (rac)", lm="local/qwen"), path=Path(folder)),
        counts=object(),
        questions=[question(text), question("plain", ["blue"])],
        ambiguous=[question(text, ["blue", "green"])],
        families={"Tay Bridge": ["Tay Bridge (1878)", text], "Forth": ["Forth 1", "Forth 2", "Forth 3"]},
        verdict="Adapting helped: D-F1 20.0 → 60.0, +40.0 [+30.0, +50.0] on 24 questions.",
        index=_Index(range(1_234)),
        train=[0] * 5,
        dev=[0] * 3,
        held_out=[question(f"q{at}") for at in range(n)],
        dropped={"no reader found it": 1_200, text: 2},
    )
    return adaptation_report(adapted)  # type: ignore[arg-type]


class _Index(tuple[int, ...]):
    name = "bridges"


def test_it_tells_what_changed() -> None:
    text = page("When did it open")
    for line in (
        "# bridges (rac)",
        "Adapting helped: D-F1 20.0 → 60.0, +40.0 [+30.0, +50.0] on 24 questions.",
        "Index bridges, 1,234 passages. Questions: 5 for training, 3 for choosing, 24 held out.",
        "## Won: 23 questions, the 20 that changed most",
        "## Lost: 1 question",
        "**When did it open?** D-F1 50 → 10",
        "- before: before When did it open",
        "| no reader found it | 1,200 |",
        "## Changed readings: 1 of 24 held-out questions",
        "- before: When did it open before? before blue",
        "- after: When did it open after? after blue",
        "## Still wrong: 1 held-out question with no right short answer",
        "| Tay Bridge | Tay Bridge (1878), When did it open |",
        "3. Ask the adapted program:",
        "polyqa ask 'What colour is When did it open?' --program 'adapted/my bridges' --lm local/qwen",
        "1. Read `questions.json` in this folder, correct it, and run the command again with `--questions "
        "'adapted/my bridges'/questions.json` and another `--out`.",
    ):
        assert line in text.splitlines()


def test_a_folder_that_is_called_as_a_program_is_asked_for_by_its_path() -> None:
    assert " --program ./rac --lm local/qwen" in page("When did it open", folder="rac")


def test_it_says_what_the_figures_are_of() -> None:
    text = page("When did it open")
    assert "1 of 2 questions are ambiguous, with 2 readings." in text
    assert "Names that several passages share: Forth (3), Tay Bridge (2)." in text
    assert "D-F1, from 0 to 100, says how much" in text


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_strangers_text_is_shown_and_does_not_act(attack: str) -> None:
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(page(attack, 2))
    inner = [child for token in tokens for child in token.children or ()]
    assert {child.type for child in inner} <= {"text", "text_special", "strong_open", "strong_close", "code_inline"}
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h1", *["h2"] * 7]
    assert plain(attack) in "".join(child.content for child in inner)
