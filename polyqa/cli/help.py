"""Commands that show seldom needed options with --help-all only, and take defaults from polyqa.toml."""

from collections.abc import Mapping
from typing import Any

from typer.core import TyperCommand

from polyqa.base.text import counted

HELP, ALL = "--help", "--help-all"
LANGUAGE_MODEL = "Language model"
MORE, NETWORK, CLUSTER = "More", "Network", "Cluster"
SET_BY_LM_SET = ("temperature", "max_tokens", "timeout", "retries", "requests_per_minute")
"""Settings of a language model that ``--lm-set`` takes, too: not every command has options for them."""
SELDOM = (MORE, NETWORK, CLUSTER)
"""Panels of options that ``--help-all`` shows and ``--help`` counts."""


class Command(TyperCommand):
    """A command.

    Its help has options of the panels in `SELDOM` with ``--help-all`` only. Options that are not on the command line
    have their defaults from polyqa.toml, see `polyqa.cli.config`.
    """

    def get_help_option_names(self, ctx: Any) -> list[str]:
        """Return the names of the options that show the help."""
        return [HELP, ALL]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse what follows the command's name."""
        ctx.meta[ALL] = ALL in args
        if not ctx.resilient_parsing and not {HELP, ALL} & {*args}:
            from .config import defaults

            file_defaults = defaults(args, ctx.find_root().command)
            ctx.default_map = self._defaults(file_defaults)
            if any(param.name == "lm_set" for param in self.params):
                args = [*self._lm_set(file_defaults), *args]
        parsed: list[str] = super().parse_args(ctx, args)
        if _is_compiled(ctx.params.get("program")):
            for name in ("index", "passages"):
                if getattr(ctx.get_parameter_source(name), "name", "") == "DEFAULT_MAP":
                    ctx.params[name] = None
        return parsed

    def _defaults(self, file_defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Return defaults by the names of parameters."""
        options = {option: param for param in self.params for option in param.opts}
        params_and_values = [(options.get(f"--{name}"), value) for name, value in file_defaults.items()]
        return {
            str(parameter.name): [value] if getattr(parameter, "multiple", False) and isinstance(value, str) else value
            for parameter, value in params_and_values
            if parameter
        }

    def _lm_set(self, file_defaults: Mapping[str, Any]) -> list[str]:
        """Return words that set by --lm-set what the file does, and what the command has no option for.

        Those of the command line come later. As a default of --lm-set they would be lost where it sets anything by it.
        """
        names = {param.name for param in self.params}
        listed = file_defaults.get("lm-set", [])
        without_option = {name: file_defaults.get(name.replace("_", "-")) for name in {*SET_BY_LM_SET} - names}
        pairs = [f"{name}={value}" for name, value in without_option.items() if value is not None]
        return [f"--lm-set={pair}" for pair in [*([listed] if isinstance(listed, str) else listed), *pairs]]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        from rich.console import Console

        seldom = [param for param in self.params if getattr(param, "rich_help_panel", None) in SELDOM]
        for param in seldom:
            param.hidden = not ctx.meta[ALL]  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)
        if seldom and not ctx.meta[ALL]:
            Console().print(
                f" [dim]{counted(len(seldom), 'more option')}: {ctx.command_path} {ALL}[/]\n", highlight=False
            )


def _is_compiled(program: str | None) -> bool:
    """Return whether a command's program is a compiled one, which has its own index and settings."""
    if program is None:
        return False
    from polyqa.programs.registry import REGISTRY

    return program not in REGISTRY
