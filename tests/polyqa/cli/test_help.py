"""The help: commands in groups, options in panels, readable in 80 columns, and not too many of either."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from command_line import Printed

from polyqa.base.text import counted
from polyqa.cli.app import app
from polyqa.cli.help import CLUSTER, MORE, NETWORK, SELDOM
from polyqa.evaluation.loading import FORMATS


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if (commands := getattr(command, "commands", None)) is None:
        yield path, command
        return
    for name, part in commands.items():
        yield from leaves(part, (*path, name))


COMMANDS = dict(leaves(typer.main.get_command(app)))


def options(command: Any) -> list[Any]:
    return [param for param in command.params if param.param_type_name == "option"]


@pytest.fixture
def narrow(printed: Printed, monkeypatch: pytest.MonkeyPatch) -> Printed:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    return printed


def test_there_are_few_commands_and_options() -> None:
    assert len(COMMANDS) <= 24
    assert sum(len(options(command)) for command in COMMANDS.values()) <= 230


def test_commands_stand_in_groups(narrow: Printed) -> None:
    out = narrow("--help")
    groups = [out.index(f"─ {name} ─") for name in ("Ask", "Documents", "Measure", "Improve", "Learn", "Share")]
    assert groups == sorted(groups)
    assert "─ Commands ─" not in out, "each has its group"


def test_formats_are_named_as_they_are() -> None:
    (option,) = [one for one in options(COMMANDS["evaluate",]) if one.name == "format"]
    assert set(re.findall(r"[a-z-]+", option.help.partition(": ")[2])) == set(FORMATS)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_option_is_there_in_lines_that_fit(path: tuple[str, ...], narrow: Printed) -> None:
    usual, whole = narrow(*path, "--help"), narrow(*path, "--help-all")
    assert max(map(len, whole.splitlines())) <= 80
    hidden = 0
    for option in options(COMMANDS[path]):
        name = max(option.opts, key=len)
        shown = re.compile(rf"^│ [ *]*{re.escape(name)}[ ,]", re.MULTILINE)
        assert shown.search(whole), name
        seldom = option.rich_help_panel in SELDOM
        hidden += seldom
        assert bool(shown.search(usual)) is not seldom, name
    more = counted(hidden, "more option")
    assert bool(re.search(rf"^ {more}: .*{' '.join(path)} --help-all$", usual, re.MULTILINE)) is bool(hidden)
    for panel in SELDOM:
        assert f"─ {panel} ─" not in usual


def test_network_and_cluster_have_their_panels(narrow: Printed) -> None:
    out = narrow("answer", "--help-all")
    parts = {name: out[out.index(f"─ {name} ─") :].split("╰")[0] for name in (MORE, NETWORK, CLUSTER)}
    shown = {name: re.findall(r"│ (--[\w-]+)", part) for name, part in parts.items()}
    assert shown[NETWORK] == ["--timeout", "--retries", "--requests-per-minute"]
    assert shown[CLUSTER] == ["--engine", "--workers", "--address"]


def test_defaults_and_variables_are_told(narrow: Printed) -> None:
    assert "[default: homonyms/train]" in narrow("compile", "--help")
    assert "[required]" in narrow("compile", "--help")
    assert "[env var: POLYQA_TOKEN]" in narrow("serve", "--help")
