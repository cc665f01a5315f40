"""Options that several commands share, each declared once, and the settings of programs from the command line."""

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyqa.base.errors import PolyqaError

from .help import CLUSTER, LANGUAGE_MODEL, MORE, NETWORK, SET_BY_LM_SET
from .terminal import say

if TYPE_CHECKING:
    from polyqa.artifacts.card import Card
    from polyqa.cluster import Ray
    from polyqa.language_models import Models

more = functools.partial(typer.Option, rich_help_panel=MORE)
"""An option that is seldom needed: the help shows it with ``--help-all``."""
_of_models = functools.partial(typer.Option, rich_help_panel=LANGUAGE_MODEL)
_of_network = functools.partial(typer.Option, rich_help_panel=NETWORK)
_of_cluster = functools.partial(typer.Option, rich_help_panel=CLUSTER)

# What runs.
Program = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="A program (`polyqa programs` lists them), or a compiled one by name or folder; by default auto, or "
        "spanwise with --lm local.",
    ),
]
PlainProgram = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="A program (`polyqa programs` lists them); by default auto, or spanwise with --lm local."
    ),
]
Index = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Name or path of the index; by default homonyms, or the index that a compiled program was compiled with.",
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        metavar="CONDITION",
        help="Search only passages whose metadata match this condition, such as \"product = 'Falcon' and date >= "
        '2024-01-01"; `polyqa index info NAME` lists the columns.',
    ),
]
Passages = Annotated[
    int | None,
    typer.Option(
        "--passages",
        "-k",
        metavar="N",
        min=1,
        max=50,
        help="Number of passages that the language model sees, 5 by default, 8 with spanwise. "
        "Programs without that setting ignore it; compiled ones refuse it.",
    ),
]
MinConfidence = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        min=0,
        max=1,
        help="Answer only if polyqa is at least this sure of some reading; by default 0.23 with the embedded engine.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of the program, such as depth=2 or preset=paper; also reranker=reader, demos=FILE; repeatable.",
    ),
]

# What scores.
Reader = Annotated[
    str,
    more(
        metavar="NAME",
        help="Small model that finds answers in a text, to score answers and check generated questions: embedded, a "
        "path, or a hub name such as deepset/roberta-large-squad2.",
    ),
]
Judge = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Judges whether passages support the readings: embedded, none, or a language model; "
        "openai/NAME@http://HOST/v1 is one on a server of its own.",
    ),
]
Alce = Annotated[bool, more("--alce", help="Score as ALCE does: first line only, without citations.")]

# The questions, and what compiling does with them.
_SETS = (
    "homonyms/dev; a file (.json, .jsonl, .csv, .tsv, .parquet, .arrow, or .gz) or a folder, also as FILE@SPLIT; or "
    "hub:NAME for a data set of the hub."
)
Asked = Annotated[str, typer.Option(metavar="SET", help=_SETS)]
MaybeAsked = Annotated[
    str | None, typer.Option(metavar="SET", help=_SETS, show_default="homonyms/dev; with --recheck those of the card")
]
Format = Annotated[
    str | None,
    more(
        metavar="NAME",
        help="Format of the data set, detected by default: asqa, ambignq, situatedqa, ramdocs, kilt, triviaqa, squad, "
        "popqa, multi-answer, dpr, nq-open, plain.",
    ),
]
Split = Annotated[str | None, more(metavar="NAME", help="Split of the data set, such as dev; FILE@dev says the same.")]
Train = Annotated[
    str, typer.Option(metavar="SET", help="Training questions; demos (worked examples in prompts) come only from them.")
]
Dev = Annotated[
    str,
    typer.Option(
        metavar="SET", help="Development questions: polyqa compares candidates on them, and reports their scores."
    ),
]
RecipeName = Annotated[
    str, typer.Option("--recipe", metavar="NAME", help="How to compile; `polyqa programs --recipes` lists the recipes.")
]
Measure = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="What to optimize: dr or disambig_f1 (the long answer), or f1_answer (the short answers)."
    ),
]

# How it is done.
Seed = Annotated[int, more(metavar="N", help="Seed of all random choices.")]
Threads = Annotated[
    int | None,
    more(
        metavar="N",
        min=1,
        help="Questions or passages processed at the same time: 8, with the embedded engine 2, with local as many as "
        "it has slots.",
    ),
]
MaxCalls = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=0,
        help="Upper limit on calls of language models, over all resumed runs. At the limit work stops; run again with "
        "a larger one to continue.",
    ),
]
Engine = Annotated[
    str, _of_cluster(metavar="NAME", help="local, or ray for a Ray cluster (pip install 'polyqa[ray]').")
]
Workers = Annotated[int, _of_cluster(metavar="N", min=1, help="Number of Ray workers, one CPU each.")]
Address = Annotated[
    str | None, _of_cluster(metavar="HOST", help="Address of a running Ray cluster; by default one is started here.")
]
Mlflow = Annotated[
    str | None,
    more(
        "--mlflow",
        metavar="URL",
        help="Address of an MLflow server that receives traces and runs, with questions and passages; otel sends "
        "traces to an OpenTelemetry collector instead.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Start without asking.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True)
class LanguageModels:
    """What the options say that `takes_language_models` gives a command: a field is one, its default and its help."""

    lm: Annotated[
        str,
        _of_models(
            metavar="NAME",
            help="Language model that answers: polyqa/extractive (the embedded engine), local (a small one on this "
            "machine), openai/NAME, ollama_chat/NAME, or another of DSPy's models; openai/NAME@http://HOST/v1 is one "
            "on a server of its own.",
        ),
    ] = "polyqa/extractive"
    api_base: Annotated[
        str | None, _of_models(metavar="URL", help="Address of the server of --lm and --prompt-lm.")
    ] = None
    helper_lm: Annotated[
        str | None,
        _of_models(
            metavar="NAME",
            help="Second model, for calls whose output is not shown (what is ambiguous, what to search for); "
            "by default --lm. --api-base does not apply to it: write openai/NAME@http://HOST/v1.",
        ),
    ] = None
    prompt_lm: Annotated[
        str | None,
        _of_models(
            metavar="NAME",
            help="Language model that writes instructions; by default --lm. The embedded engine cannot: name "
            "another, such as local.",
        ),
    ] = None
    temperature: Annotated[
        float | None,
        _of_models(
            metavar="X",
            min=0.0,
            show_default="0.3; 0 with local",
            help="Temperature of --lm and the helper; reasoning models (gpt-5, o-series) use their own.",
        ),
    ] = None
    max_tokens: Annotated[
        int | None,
        _of_models(
            metavar="N",
            min=1,
            show_default="1,000; 16,000 if it reasons",
            help="Longest reply of --lm and the helper, in tokens. Not for a helper that reasons.",
        ),
    ] = None
    lm_set: Annotated[
        list[str] | None,
        _of_models(
            metavar="NAME=VALUE",
            help="Any other keyword of dspy.LM or LiteLLM for --lm; repeatable: top_p=0.9, "
            "reasoning_effort=low or num_ctx=8192 (Ollama). NAME=null leaves a setting out; reasons=true says that a "
            "model reasons.",
        ),
    ] = None
    timeout: Annotated[
        float | None,
        _of_network(
            metavar="SECONDS",
            show_default="300; 1,800 for a server on this machine or in its network",
            help="Seconds that one call of a language model may take, retries included.",
        ),
    ] = None
    retries: Annotated[
        int, _of_network(metavar="N", min=0, help="How often a request is sent again when the server fails or is busy.")
    ] = 3
    requests_per_minute: Annotated[
        float | None,
        _of_network(
            metavar="N",
            show_default="no limit",
            help="Limit of the provider: requests are spaced evenly, those of all Ray workers together.",
        ),
    ] = None
    record: Annotated[
        Path | None,
        _of_models(
            metavar="FILE",
            help="Record the replies of all models in this .jsonl.gz file; recorded requests are not sent again. "
            "--lm recorded/FILE replays it.",
        ),
    ] = None

    def models(self, **scoring: Any) -> "Models":
        """Return the models, with other fields of `polyqa.Models`; ``--lm-set`` sets these options, too."""
        from polyqa.language_models import LMSettings, Models

        extra_settings = dict(named_value("--lm-set", pair, "top_p=0.9") for pair in self.lm_set or ())
        if "api_key" in extra_settings:
            raise PolyqaError(
                "--lm-set takes no api_key: a shell remembers it. Set the provider's environment variable."
            )
        own_options = [name for name in SET_BY_LM_SET if extra_settings.get(name) is not None]
        merged = replace(self, **{name: extra_settings.pop(name) for name in own_options})
        limits = (merged.timeout, merged.retries, merged.requests_per_minute)
        settings = LMSettings(merged.temperature, merged.max_tokens, extra_settings, *limits, merged.record)
        return Models(self.lm, self.helper_lm, self.prompt_lm, settings, self.api_base, **scoring)


EMBEDDED = LanguageModels()


def takes_language_models(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command the options of `LanguageModels`, ``without`` some of the fields.

    Typer makes an option of each parameter in a command's signature. The command itself has one parameter ``models``;
    the function that Typer sees has a parameter for each field in its place, and calls the command with what they make.
    """
    fields = inspect.signature(LanguageModels).parameters.values()
    options = [field.replace(kind=inspect.Parameter.KEYWORD_ONLY) for field in fields if field.name not in without]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def with_options(**values: Any) -> None:
            models = LanguageModels(**{option.name: values.pop(option.name) for option in options})
            command(models=models, **values)

        signature = inspect.signature(command)
        own_parameters = [parameter for parameter in signature.parameters.values() if parameter.name != "models"]
        parameters = [
            *(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own_parameters),
            *options,
        ]
        with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return with_options

    return decorate


def given(context: typer.Context, *names: str, source: str = "COMMANDLINE") -> list[str]:
    """Return which options of some names stand on the command line, or have their value from another source.

    A default of polyqa.toml is not given: that is ``DEFAULT_MAP``, one of the command's own ``DEFAULT``.
    """
    return [
        max(param.opts, key=len)
        for param in context.command.params
        if param.name in names and getattr(context.get_parameter_source(param.name), "name", "") == source
    ]


def tell_engine(program: str | None, lm: str) -> None:
    """Say on standard error that the embedded engine answers where another language model was compiled for."""
    from polyqa.extractive import MODEL_NAME

    card = _card(program) if lm == MODEL_NAME else None
    if card is not None and card.lm != MODEL_NAME:
        say(f"{program} was compiled for {card.lm}; without --lm the embedded engine answers.", err=True)


def _card(program: str | None) -> "Card | None":
    from polyqa.artifacts.store import find_artifact, read_artifact
    from polyqa.programs.registry import PROGRAMS

    if program is None or program in PROGRAMS or find_artifact(program) is None:
        return None
    return read_artifact(program).card


def check_questions(context: typer.Context, program: str | None, index: str | None, *names: str) -> None:
    """Raise `PolyqaError` where the shipped questions would be asked of another index, as no others were named.

    An index or program that is not there is left to whoever opens it.

    Parameters
    ----------
    names
        The parameters that name questions.
    """
    from polyqa.colbert_index.store import SHIPPED, index_path
    from polyqa.colbert_index.versions import is_index

    card = _card(program)
    if index is None and card is not None and card.index is not None and not card.index.names_a_path:
        index = card.index.name
    unnamed = given(context, *names, source="DEFAULT")
    if unnamed and index is not None and Path(index).name != SHIPPED and is_index(index_path(index)):
        raise PolyqaError(
            f"Name questions about the index {index} ({', '.join(unnamed)}): those that polyqa asks by default are "
            "about the shipped index homonyms. To ask these all the same, name them, such as homonyms/dev."
        )


def named_value(option: str, pair: str, example: str) -> tuple[str, Any]:
    """Return name and value of ``NAME=VALUE``; a value that is JSON (``2``, ``false``, ``null``) is taken as such."""
    import json

    name, equals, value = pair.partition("=")
    if not equals or not name.strip().isidentifier():
        raise PolyqaError(f"{option} {pair}: write NAME=VALUE, such as {option} {example}.")
    try:
        return name.strip(), json.loads(value.strip())
    except (ValueError, RecursionError):
        return name.strip(), value.strip()


def program_settings(program: str, passages: int | None, pairs: Sequence[str] | None) -> dict[str, Any]:
    """Return what `polyqa.load` is given with a program: settings of its constructor, ``reranker`` and ``demos``.

    ``passages`` is left out for programs whose constructor has no such setting, so that one command line can run all.
    """
    from polyqa.loading import check_settings
    from polyqa.program_settings import setting_types
    from polyqa.programs import PROGRAMS

    settings = dict(named_value("--set", pair, "depth=2") for pair in pairs or ())
    loaded: dict[str, Any] = {name: str(settings.pop(name)) for name in ("reranker", "demos") if name in settings}
    if passages is not None and (program not in PROGRAMS or "passages" in setting_types(program)):
        settings = {"passages": passages, **settings}
    return {**check_settings(program, settings, demos=loaded.get("demos")), **loaded}


def cluster(context: typer.Context, engine: str, workers: int, address: str | None) -> "Ray | None":
    """Return the cluster that ``--engine``, ``--workers`` and ``--address`` name; ``None`` for this process."""
    from polyqa.cluster import Ray

    if engine not in ("local", "ray"):
        raise PolyqaError(f"--engine is local or ray, not {engine!r}.")
    if engine == "local" and (cluster_options := given(context, "workers", "address")):
        raise PolyqaError(f"{' and '.join(cluster_options)} is for a Ray cluster: add --engine ray.")
    return Ray(workers, address) if engine == "ray" else None
