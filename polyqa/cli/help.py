"""Commands whose help reads well in 80 columns, and which take defaults from polyqa.toml."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

from polyqa.base.text import counted

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

HELP, ALL = "--help", "--help-all"
USUAL, LANGUAGE_MODEL = "Usual", "Language model"
MORE, NETWORK, CLUSTER = "More", "Network", "Cluster"
SET_BY_LM_SET = ("temperature", "max_tokens", "timeout", "retries", "requests_per_minute")
"""Settings of a language model that a command without options for them takes by ``--lm-set``."""
SELDOM = (MORE, NETWORK, CLUSTER)
"""Panels of options that ``--help-all`` shows and ``--help`` counts."""
_LEFT = 26  # characters of the longest name beside which its text stands


class Command(TyperCommand):
    """A command.

    Its help has two columns in panels; those in `SELDOM` come with ``--help-all`` only. Options that are not on the
    command line have their defaults from polyqa.toml, see `polyqa.cli.config`.
    """

    def get_help_option_names(self, ctx: Any) -> list[str]:
        """Return the names of the options that show the help."""
        return [HELP, ALL]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse what follows the command's name."""
        ctx.meta[ALL] = ALL in args
        if not ctx.resilient_parsing and not {HELP, ALL} & {*args}:
            from .config import defaults

            found = defaults(args)
            ctx.default_map = self._defaults(found)
            args = [*self._settings_without_option(found), *args]
        parsed: list[str] = super().parse_args(ctx, args)
        if getattr(ctx.get_parameter_source("passages"), "name", "") == "DEFAULT_MAP":
            from polyqa.programs import PROGRAMS

            if ctx.params.get("program") not in {None, *PROGRAMS}:
                ctx.params["passages"] = None  # a compiled program has its own number
        return parsed

    def _defaults(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return defaults by the names of parameters."""
        options = {option: param for param in self.params for option in param.opts}
        named = [(options.get(f"--{key.replace('_', '-')}"), value) for key, value in given.items()]
        return {str(one.name): [value] if getattr(one, "multiple", False) else value for one, value in named if one}

    def _settings_without_option(self, given: Mapping[str, Any]) -> list[str]:
        """Return words that set by --lm-set what the command has no option for; those of the command line come later.

        As a default of --lm-set they would be lost where the command line sets anything by it.
        """
        names = {param.name for param in self.params}
        left = [name for name in SET_BY_LM_SET if name in given and name not in names and "lm_set" in names]
        return [f"--lm-set={name}={given[name]}" for name in left]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        from rich.console import Console, Group
        from rich.padding import Padding
        from rich.panel import Panel
        from rich.text import Text

        every = list(self._panels(ctx))
        shown = [(title, rows) for title, rows in every if ctx.meta.get(ALL) or title not in SELDOM]
        left = min(_LEFT, max(len(row[0]) for _, rows in shown for row in rows))
        summary, *rest = (" ".join(part.split()) for part in (self.help or "").split("\n\n"))
        usage = Text.assemble(
            ("Usage: ", "bold"), (ctx.command_path, "bold cyan"), " ", " ".join(self.collect_usage_pieces(ctx))
        )
        parts: list[RenderableType] = [usage, "", _marked(summary), *(_marked(f"\n{part}", "dim") for part in rest), ""]
        out = Console(highlight=False)
        out.print(Padding(Group(*parts), (1, 1, 0, 1)))
        for title, rows in shown:
            out.print(Panel(_table(rows, left), title=title, title_align="left", border_style="dim"))
        if hidden := sum(len(rows) for title, rows in every if (title, rows) not in shown):
            out.print(f" [dim]{counted(hidden, 'more option')}: {ctx.command_path} {ALL}[/]\n")

    def _panels(self, ctx: Any) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Yield each panel with its rows: a name, and what is said of it; the usual options first."""
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], USUAL: []}
        for param in self.get_params(ctx):
            argument = param.param_type_name == "argument"
            panel = "Arguments" if argument else getattr(param, "rich_help_panel", None) or USUAL
            panels.setdefault(panel, []).append((_name(param), _text(param, ctx)))
        order = [*(name for name in panels if name not in SELDOM), *SELDOM]
        yield from ((title, panels[title]) for title in order if panels.get(title))


def _name(param: Any) -> str:
    """Return how a parameter is written: ``-k, --passages N``."""
    shown = param.metavar or str(param.name).upper()
    if param.param_type_name == "argument":
        return shown + ("..." if param.nargs != 1 else "")
    names = ", ".join(sorted(param.opts, key=len))
    return names if param.is_flag else f"{names} {shown}"


def _text(param: Any, ctx: Any) -> str:
    """Return what is said of a parameter, and its default."""
    if HELP in param.opts:
        return f"Show this help; with {ALL} every option."
    default = param.show_default if isinstance(param.show_default, str) else param.get_default(ctx, call=False)
    ends = []
    if param.required and param.param_type_name == "option":
        ends = ["required"]
    elif isinstance(param.show_default, str) or (param.show_default and default not in (None, False, "", ())):
        ends = [f"default: {default}"]
    if getattr(param, "show_envvar", False) and param.envvar:
        ends.insert(0, f"or ${param.envvar}")
    return " ".join([param.help or "", *(f"[{end}]" for end in ends)]).strip()


def _table(rows: list[tuple[str, str]], left: int) -> "Table":
    from rich.table import Table

    made = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    made.add_column(style="bold cyan", min_width=left, max_width=left, overflow="fold")
    made.add_column()
    for name, text in rows:
        made.add_row(name, _marked(text))
    return made


def _marked(text: str, style: str = "") -> "Text":
    """Return a text in which what stands between backticks is bold, and a default at the end dim."""
    from rich.text import Text

    made = Text(style=style)
    for part in re.split(r"(`[^`]+`|\[(?:default: |required|or \$)[^]]*\])", text):
        code = part.startswith("`") and part.endswith("`") and len(part) > 2
        made.append(part[1:-1] if code else part, "bold" if code else "dim" if part.startswith("[") else "")
    return made
