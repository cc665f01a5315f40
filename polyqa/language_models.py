"""Turns names into models: language models, the encoder, the reader, each shared by all who use it."""

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import dspy
from dspy.utils.exceptions import LMConfigurationError

from polyqa.base.errors import PolyqaError
from polyqa.extractive import MODEL_NAME, ExtractiveEngine, embedded_lm
from polyqa.lm.client import BoundedLM
from polyqa.lm.recorded import recorded
from polyqa.lm.reply_file import ENDING
from polyqa.lm.sampling import DEFAULT_SAMPLING, SAMPLED, dspy_knows_that_it_reasons, keep, reasons
from polyqa.lm.servers import default_timeout, needs_litellm, server_address
from polyqa.metrics.judges import Judge
from polyqa.models import EMBEDDED_ENCODER, EMBEDDED_READER, Encoder, Reader, SpanReader, reader_name

LOCAL = "local"
REASONING_TOKENS = 16_000
"""What a reply of a model that reasons may have, if nothing else is said: DSPy asks for as many at least."""
_KEYS = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
_HAVE_OPTIONS = frozenset(
    (
        *("temperature", "max_tokens", "max_completion_tokens", "timeout", "retries", "num_retries"),
        *("requests_per_minute", "rpm", "api_base", "base_url", "model", "record"),
    )
)
RECORDED = "recorded/"
_BARE_HOST = re.compile(r"@((?:localhost|[\w.-]+:\d{2,5})(?:/.*)?)$")


@dataclass(frozen=True)
class LMSettings:
    """How language models are asked.

    Attributes
    ----------
    temperature
        At least 0; `polyqa.lm.sampling.DEFAULT_SAMPLING` if not given, the model's own for one that reasons.
    max_tokens
        Of a reply, at least 1. If not given 1,000, and for a model that reasons 16,000, its thoughts included.
    more
        Any other keyword of `dspy.LM` or LiteLLM, such as ``{"top_p": 0.9}``. ``None`` leaves a setting out, also one
        that has a default: ``{"temperature": None}``. ``{"reasons": True}`` says that a model reasons, where its name
        does not.
    timeout
        Seconds that one call may take in all, see `polyqa.lm.client.BoundedLM`. If not given 300, and 1,800 for a
        server on this machine or in its network (`polyqa.lm.servers.default_timeout`).
    retries
        How often a request is sent again that failed, but not by the user's fault.
    requests_per_minute
        What the provider allows: requests go out at even distances, and those of a cluster's workers count together.
        Each model has its own count. As many as are made if not given.
    record
        A file that ends in ``.jsonl.gz``: every reply is recorded there, and one that it has is not asked for again;
        see `polyqa.recorded`.

    Raises
    ------
    PolyqaError
        If a value is out of its range, or ``more`` has what is set otherwise.
    """

    temperature: float | None = None
    max_tokens: int | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    timeout: float | None = None
    retries: int = 3
    requests_per_minute: float | None = None
    record: str | Path | None = None

    def __post_init__(self) -> None:
        for name in ("temperature", "max_tokens", "retries", "timeout", "requests_per_minute"):
            kind, what = (int, "whole number") if name in ("max_tokens", "retries") else (float | int, "number")
            if isinstance(value := getattr(self, name), bool) or not isinstance(value, kind | None):
                raise PolyqaError(f"--{name.replace('_', '-')} is a {what}, not {value!r:.100}.")
        for name, low in (("temperature", 0), ("max_tokens", 1), ("retries", 0)):
            if (value := getattr(self, name)) is not None and not value >= low:
                raise PolyqaError(f"--{name.replace('_', '-')} is at least {low}, not {value}.")
        for name, what in (("timeout", "a number of seconds"), ("requests_per_minute", "a number")):
            if (value := getattr(self, name)) is not None and not 0 < value < math.inf:
                raise PolyqaError(f"--{name.replace('_', '-')} is {what} above 0, not {value}.")
        for name in self.more.keys() & _HAVE_OPTIONS:
            if self.more[name] is None and name in SAMPLED:
                continue
            raise PolyqaError(f"{name} has an option of its own, see --help-all.")

    def sampling(self) -> dict[str, Any]:
        """Return what changes replies, as keywords of `dspy.LM`."""
        settings = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        return {**self.more, **{name: value for name, value in settings.items() if value is not None}}

    def limits(self) -> dict[str, Any]:
        """Return what ends, spaces and records calls, as keywords of `language_model`."""
        names = ("timeout", "retries", "requests_per_minute", "record")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Models:
    """The models that answer, write and score, each by name or as an object.

    Attributes
    ----------
    lm
        Runs programs; names as for `language_model`. If not given, what ``dspy.configure(lm=…)`` or
        ``dspy.context(lm=…)`` has set, and else the embedded engine.
    helper_lm
        Runs the predictors whose output the user never sees: they say what is ambiguous, what to search for and what
        holds (`polyqa.lm.calls.CALLS`). ``lm`` if not given.
    prompt_lm
        Writes instructions; ``lm`` if not given. The embedded engine cannot write any.
    settings
        How they are asked, where they are names; refused where none is. ``helper_lm`` is asked with ``temperature``
        and ``max_tokens``, too (not if it reasons), but not with ``more``, which is about ``lm``. ``prompt_lm`` and
        ``judge`` keep temperatures of their own. The limits are for all, and so is how a model on this machine runs.
    api_base
        Address of the server of ``lm`` and ``prompt_lm``, where they are names; refused where neither is. The helper
        and the judge have addresses in their own names.
    reader
        The reader of Disambig-F1: ``"embedded"``, a path or a hub name such as ``deepset/roberta-large-squad2``.
    judge
        The judge of the grounded metrics: ``"embedded"`` (the reader with the embedded encoder), a language model or
        its name, or ``None`` for no grounded metrics.
    """

    lm: str | dspy.LM | None = None
    helper_lm: str | dspy.LM | None = None
    prompt_lm: str | dspy.LM | None = None
    settings: LMSettings = LMSettings()
    api_base: str | None = None
    reader: str | SpanReader = EMBEDDED_READER
    judge: str | Judge | dspy.LM | None = "embedded"

    @classmethod
    def of(cls, models: "Models | str | dspy.LM") -> "Models":
        """Return some models; a language model alone, by name or as an object, is the one that runs programs."""
        return models if isinstance(models, cls) else cls(lm=models)

    @property
    def chosen_lm(self) -> str | dspy.LM:
        """What ``lm`` means here and now: what was given, what DSPy has set, or the embedded engine."""
        return dspy.settings.lm or MODEL_NAME if self.lm is None else self.lm

    def answering(self) -> dspy.LM:
        """Return the language model that runs programs; see `language_model` for its errors."""
        chosen = self.chosen_lm
        if not isinstance(chosen, str):
            _check_made(chosen)
            other_models = (self.helper_lm, self.prompt_lm, self.judge if self.judge != "embedded" else None)
            if self.settings != LMSettings() and not any(isinstance(model, str) for model in other_models):
                raise PolyqaError(
                    f"Settings are for language models by name, and {chosen.model} is made already: give them where it "
                    "is made. `polyqa.recorded(path, lm)` records one."
                )
            if self.api_base is not None and not isinstance(self.prompt_lm, str):
                raise PolyqaError(
                    f"api_base is for language models by name, and {chosen.model} is made already: give the address "
                    "where it is made."
                )
            return chosen
        if chosen != MODEL_NAME:
            return language_model(chosen, api_base=self.api_base, **self.settings.limits(), **self.settings.sampling())
        if self.helper_lm in (None, MODEL_NAME):
            others = [name for name in (self.prompt_lm, self.judge) if isinstance(name, str)]
            _refuse_settings(self.settings, [name for name in others if name not in (MODEL_NAME, "embedded")])
        address = None if isinstance(self.prompt_lm, str) else self.api_base
        return language_model(chosen, api_base=address, record=self.settings.record)

    def instantiated(self) -> "Models":
        """Return the same with objects for the names of language models, which then belong to all steps of a job.

        The settings and the address are in these objects. A judge stays as it is.
        """
        lm = self.answering()
        return replace(
            self,
            lm=lm,
            helper_lm=self.helping(),
            prompt_lm=self.writing(lm),
            settings=LMSettings(),
            api_base=None,
        )

    def helping(self) -> dspy.LM | None:
        """Return the language model of the helping predictors; ``None`` if they ask the one that runs programs."""
        if not isinstance(self.helper_lm, str):
            _check_made(self.helper_lm)
            return self.helper_lm
        more = {name: None for name, value in self.settings.more.items() if value is None and name in SAMPLED}
        check_name(self.helper_lm)
        sampling = {} if reasons(split_address(self.helper_lm)[0]) else replace(self.settings, more=more).sampling()
        return _with_limits(self.helper_lm, self.settings, sampling)

    def writing(self, answering: dspy.LM) -> dspy.LM:
        """Return the language model that writes instructions, by default the one that runs programs."""
        if not isinstance(self.prompt_lm, str):
            _check_made(self.prompt_lm)
            return self.prompt_lm or answering
        # Instructions are worth trying in several wordings: the optimizers' own temperature is 1.
        return _with_limits(self.prompt_lm, self.settings, {"temperature": 1.0}, self.api_base)


@lru_cache(maxsize=4)
def shared_encoder(name: str = EMBEDDED_ENCODER) -> Encoder:
    """Return the encoder of a name, one for all who use it: it remembers what it has encoded."""
    return Encoder(name)


_reader = lru_cache(maxsize=2)(Reader)


def shared_reader(name: str | SpanReader = EMBEDDED_READER) -> SpanReader:
    """Return the reader of a name, one for all who use it; a reader is returned as it is."""
    return _reader(reader_name(name)) if isinstance(name, str) else name


def ready_reader(name: str | SpanReader = EMBEDDED_READER) -> SpanReader:
    """Return `shared_reader` loaded: one that cannot be loaded should cost no call of a language model."""
    reader = shared_reader(name)
    reader.read([("warm up?", "warm up")])
    return reader


@lru_cache(maxsize=1)
def embedded_engine() -> ExtractiveEngine:
    """Return the embedded engine, one for all who use it."""
    return ExtractiveEngine(encoder=shared_encoder())


def default_threads(lm: dspy.LM) -> int:
    """Return how many questions are asked at once: 2 of the embedded engine, which shares this machine, else 8.

    Of a local model it is as many as it has slots.
    """
    if at_once := getattr(lm, "at_once", None):
        return int(at_once)
    return 2 if lm.model == MODEL_NAME else 8


def language_model(
    name: str = MODEL_NAME,
    *,
    api_base: str | None = None,
    timeout: float | None = None,
    retries: int = 3,
    requests_per_minute: float | None = None,
    record: str | Path | None = None,
    **settings: Any,
) -> dspy.LM:
    """Return a language model by name.

    Parameters
    ----------
    name
        ``polyqa/extractive`` (embedded), or anything that `dspy.LM` takes, such as ``openai/gpt-4o-mini`` or
        ``ollama_chat/llama3.1``. Its server may stand behind it: ``openai/my-model@http://localhost:8000/v1``.
        ``recorded/FILE`` replays a recording, ``recorded/FILE@MODEL`` one of its models (`polyqa.recorded`).
    api_base
        Address of the server, if it is not the provider's own and does not stand in the name.
    timeout, retries, requests_per_minute
        See `LMSettings`; not for the embedded engine.
    record
        See `LMSettings`.
    settings
        More for `dspy.LM`, such as ``temperature``, over `polyqa.lm.sampling.DEFAULT_SAMPLING`; ``None`` leaves one
        out. A model that reasons (OpenAI's o-series and gpt-5, or ``reasons=True``) samples as it likes and gets
        16,000 tokens.

    Raises
    ------
    PolyqaError
        If the name has no provider, an address is given for the embedded engine, or the model cannot be asked so: a
        setting that nobody knows, or that would be dropped, is refused here and not at the first call.
    """
    numbers: dict[str, Any] = {name: settings.get(name) for name in ("temperature", "max_tokens")}
    limits = LMSettings(timeout=timeout, retries=retries, requests_per_minute=requests_per_minute, **numbers)
    if record is not None:
        return recorded(record, language_model(name, api_base=api_base, **limits.limits(), **settings))
    if name.startswith(RECORDED):
        path, model = split_recorded(name)
        return recorded(path, model=model, **settings)
    name, own_address = split_address(name)
    api_base = own_address or api_base
    if name == MODEL_NAME:
        if api_base:
            raise PolyqaError(f"{MODEL_NAME} runs in this process; it takes no address. Name the server's model.")
        return embedded_lm(embedded_engine(), **settings)
    if name.startswith("polyqa/"):
        raise PolyqaError(f"There is no model {name}; the embedded engine is {MODEL_NAME}.")
    if name == LOCAL or name.startswith(f"{LOCAL}/"):
        if api_base:
            raise PolyqaError(f"{name} runs on this machine; it takes no address. Name the server's model.")
        if requests_per_minute is not None:
            raise PolyqaError(f"{name} runs on this machine: no provider limits it. Leave out --requests-per-minute.")
        return _local_model(name, timeout=timeout or default_timeout(name, None), num_retries=retries, **settings)
    for text, what in ((name, "The name of a language model"), (api_base or "", "The address of its server")):
        if not text.isprintable():
            raise PolyqaError(f"{what} is one line of text, not {text!r}.")
    check_name(name)
    by_user = settings.pop("reasons", None)
    thinks, dspy_knows = reasons(name) if by_user is None else bool(by_user), dspy_knows_that_it_reasons(name)
    if thinks and not dspy_knows and "max_tokens" in settings:  # of models that it knows DSPy asks for the other itself
        settings["max_completion_tokens"] = settings.pop("max_tokens")
    reasoning = {"max_tokens" if dspy_knows else "max_completion_tokens": REASONING_TOKENS}
    defaults = reasoning if thinks or dspy_knows else DEFAULT_SAMPLING
    connection = _connection(name, server_address(name, api_base), settings)
    chosen = {name: value for name, value in {**defaults, **connection, **settings}.items() if value is not None}
    chosen["num_retries"] = retries
    chosen["timeout"] = timeout or default_timeout(name, api_base)
    chosen["requests_per_minute"] = requests_per_minute
    try:
        lm = BoundedLM(name, **chosen)
        if needs_litellm(lm, settings):
            address = {} if api_base is None else {"api_base": server_address(name, api_base, litellm=True)}
            lm = BoundedLM(name, **{**chosen, **address, "engine": "litellm"})
    except (TypeError, ValueError, LMConfigurationError) as error:
        raise PolyqaError(f"{name} cannot be asked so: {' '.join(str(error).split())}") from error
    return keep(lm, {*settings, *(SAMPLED if thinks and not dspy_knows else ())})


def _local_model(name: str, **settings: Any) -> dspy.LM:
    """Return the language model that runs on this machine; those of the same file and settings share one server."""
    from polyqa.lm.local import LocalLM, local_settings, shared_engine  # only a local model needs them
    from polyqa.models.gguf import model_file, model_name

    path = model_file(name.removeprefix(LOCAL).removeprefix("/"))
    process_settings, model = _of_the_process(settings), model_name(path)
    engine = shared_engine(path, model, local_settings(**process_settings))
    settings = {name: value for name, value in settings.items() if name not in process_settings}
    sampling = {"temperature": 0.0, "max_tokens": DEFAULT_SAMPLING["max_tokens"]}
    try:
        chosen = {name: value for name, value in {**sampling, **settings}.items() if value is not None}
        lm = LocalLM(f"{LOCAL}/{model}", engine, **chosen)
    except (TypeError, ValueError, LMConfigurationError) as error:
        raise PolyqaError(f"{name} cannot be asked so: {' '.join(str(error).split())}") from error
    needs_litellm(lm, {name: value for name, value in settings.items() if name not in ("timeout", "num_retries")})
    return keep(lm, {*settings})


def _of_the_process(settings: Mapping[str, Any], name: str = LOCAL) -> dict[str, Any]:
    """Return how a model of a name runs, if it is one on this machine: those that run alike share one process."""
    if name.partition("/")[0] != LOCAL:
        return {}
    from polyqa.lm.local import LocalSettings

    names = {setting.name for setting in fields(LocalSettings)}
    return {name: value for name, value in settings.items() if name in names}


def split_address(name: str) -> tuple[str, str | None]:
    """Return the name of a model, and the address of its server if that stands behind it.

    >>> split_address("openai/my-model@http://localhost:8000/v1")
    ('openai/my-model', 'http://localhost:8000/v1')
    >>> split_address("vertex_ai/claude-3-5-sonnet@20240620")
    ('vertex_ai/claude-3-5-sonnet@20240620', None)
    """
    match = re.fullmatch(r"(.+?)@(https?://.*)", name, re.S)
    return (match[1], match[2]) if match else (name, None)


def check_name(name: str) -> None:
    """Check that a name of a language model is whole, before DSPy is asked what it knows of the model.

    Raises
    ------
    PolyqaError
        If the provider or the model is missing, or an address lacks its scheme.
    """
    bare_name = split_address(name)[0]
    if host := _BARE_HOST.search(bare_name):  # else the provider itself is asked, and gets the passages
        raise PolyqaError(f"{name!r}: an address begins with http:// or https://, such as @http://{host[1]}.")
    provider, slash, model = bare_name.partition("/")
    if bare_name == LOCAL or bare_name.startswith((f"{LOCAL}/", RECORDED)) or (provider.strip() and model.strip("/ ")):
        return
    missing, example = ("model", "") if slash and provider else ("provider", provider or model)
    hosted, near = (f"openai/{example or 'gpt-4o-mini'}", f"ollama_chat/{example or 'llama3.1'}")
    raise PolyqaError(f"{name!r} names no {missing}; write provider/model, such as {hosted} or {near}.")


def split_recorded(name: str) -> tuple[str, str | None]:
    """Return the file of a recorded language model, and the recorded model if that stands behind it.

    >>> split_recorded("recorded/replies.jsonl.gz@openai/gpt-4o")
    ('replies.jsonl.gz', 'openai/gpt-4o')
    """
    path, ending, model = name.removeprefix(RECORDED).partition(f"{ENDING}@")
    return (path + ENDING, model) if ending else (path, None)


def judge_model(name: str, settings: LMSettings = LMSettings()) -> dspy.LM:
    """Return the language model that judges, at temperature 0 if it can be set; see `language_model`.

    Of the settings only the limits and ``record`` count, and how a model on this machine runs.
    """
    check_name(name)
    return _with_limits(name, settings, {} if reasons(split_address(name)[0]) else {"temperature": 0.0})


def _with_limits(name: str, settings: LMSettings, sampling: Mapping[str, Any], api_base: str | None = None) -> dspy.LM:
    """Return a language model that is asked with sampling of its own; the embedded engine heeds none, and no limits."""
    if split_address(name)[0] == MODEL_NAME:
        return language_model(name, api_base=api_base, record=settings.record)
    here = {"requests_per_minute": None} if name.partition("/")[0] == LOCAL else {}  # the limit is a provider's
    own_settings = {**settings.limits(), **sampling, **_of_the_process(settings.more, name), **here}
    return language_model(name, api_base=api_base, **own_settings)


def _check_made(lm: object) -> None:
    """Refuse what is neither a language model that is made already nor none."""
    if not isinstance(lm, dspy.BaseLM | None):
        raise PolyqaError(f"A language model is a name or one of DSPy, not {lm!r:.80}.")


def _refuse_settings(settings: LMSettings, others: Sequence[str]) -> None:
    """Refuse what neither the embedded engine, which always gives the same reply at once, nor another model heeds.

    ``others`` are the names of the writer and the judge, which heed limits, and how a model on this machine runs.
    """
    defaults = LMSettings()
    heeded = {name for other in others for name in _of_the_process(settings.more, other)}
    remaining = replace(settings, more={name: value for name, value in settings.more.items() if name not in heeded})
    passed_over = {"record", *(settings.limits() if others else ())}
    for name in (setting.name for setting in fields(settings) if setting.name not in passed_over):
        if getattr(remaining, name) != getattr(defaults, name):
            option = "--lm-set" if name == "more" else f"--{name.replace('_', '-')}"
            raise PolyqaError(
                f"{MODEL_NAME} runs in this process and has no {option}. Name a language model with --lm."
            )


def _connection(name: str, api_base: str | None, settings: Mapping[str, Any]) -> dict[str, str]:
    """Return a server's address, and the placeholder that clients want for one without a key."""
    variables = _KEYS.get(name.split("/", 1)[0], ())
    has_key = not variables or settings.get("api_key") or any(map(os.environ.get, variables))
    if not has_key and not api_base:
        raise PolyqaError(
            f"{name} needs a key: set the environment variable {variables[0]}, or name a local server, such as "
            f"{name}@http://localhost:8000/v1."
        )
    address = {"api_base": api_base} if api_base else {}
    return address if has_key else {**address, "api_key": "none"}
