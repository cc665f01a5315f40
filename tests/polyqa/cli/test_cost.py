import json

import pytest
from command_line import Printed


def test_the_table_fits_a_terminal_and_says_what_it_counts(printed: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    words = ("cost", "--program", "diva", "--limit", 2, "--lm", "openai/gpt-4o-mini")
    lines = printed(*words).splitlines()
    assert max(map(len, lines)) <= 80
    shown = "\n".join(lines)
    for part in (
        "2 questions of homonyms/dev",
        "o200k_base",
        "verify",
        "at most 4 calls one after the other",
        "at most 5",
    ):
        assert part in shown
    assert "0.15 in, 0.6 out (openai/gpt-4o-mini)" in shown
    assert "Nothing was sent" in shown


def test_a_helper_has_rows_of_its_own(printed: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    words = ("cost", "Who founded Alexandria?", "--program", "diva", "--lm", "openai/gpt-4o-mini")
    shown = printed(*words, "--helper-lm", "openai/gpt-4o")
    assert "2.5 in, 10 out (openai/gpt-4o)" in shown
    for lm, steps in (("openai/gpt-4o ", ("classify", "infer", "verify")), ("openai/gpt-4o-mini ", ("clarify",))):
        for step in steps:
            assert any(lm in line and step in line for line in shown.splitlines())
    assert "does not have openai/unheard-of" in printed(*words, "--helper-lm", "openai/unheard-of")


def test_json_of_one_question(printed: Printed) -> None:
    words = ("cost", "Who founded Alexandria?", "--program", "verdict", "--set", "universe=4", "--json")
    found = json.loads(printed(*words))
    assert found["questions"] == ["Who founded Alexandria?"]
    assert (found["calls"]["mean"], found["depth"], found["most_calls"]) == (6, 3, 6)
    assert (found["tokenizer"], found["lm"], found["dollars"]) == ("o200k_base", None, None)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--lm", "ollama_chat/llama-x"], "DSPy's price list does not have ollama_chat/llama-x"),
        (["--lm", "local"], "$0 a question"),
        ([], "name a model with --lm"),
        (["--lm", "openai/o3"], "the thoughts of openai/o3, billed as output"),
    ],
)
def test_what_is_not_known_of_the_price_is_said(words: list[str], told: str, printed: Printed) -> None:
    assert told in printed("cost", "Who founded Alexandria?", "--program", "closed-book", *words)
