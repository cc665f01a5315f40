"""Turns names into models: language models, the encoder, the reader, each shared by all who use it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import dspy
from dspy.utils.exceptions import LMConfigurationError

from polyqa.base.errors import PolyqaError
from polyqa.extractive import MODEL_NAME, PROPOSER, ExtractiveEngine, embedded_lm
from polyqa.lm.bounded_lm import BoundedLM, Limits
from polyqa.metrics.judges import Judge
from polyqa.models import EMBEDDED_ENCODER, EMBEDDED_READER, Encoder, Reader, SpanReader, reader_name
from polyqa.programs.sampling import DEFAULT_SAMPLING, keep, reasons

REASONING_TOKENS = 16_000
"""What a reply of a model that reasons may have, if nothing else is said: DSPy asks for as many at least."""
_OWN_OPTIONS = {
    "temperature": "--temperature",
    "max_tokens": "--max-tokens",
    "max_completion_tokens": "--max-tokens",
    "timeout": "--timeout",
    "connect_timeout": "--connect-timeout",
    "read_timeout": "--read-timeout",
    "max_reply": "--max-reply",
    "retries": "--retries",
    "num_retries": "--retries",
    "requests_per_minute": "--requests-per-minute",
    "rpm": "--requests-per-minute",
    "api_base": "--api-base",
    "base_url": "--api-base",
    "model": "--lm",
}


@dataclass(frozen=True)
class LMSettings:
    """How language models are asked.

    Attributes
    ----------
    temperature
        At least 0; `polyqa.programs.sampling.DEFAULT_SAMPLING` if not given, the model's own for one that reasons.
    max_tokens
        Of a reply, at least 1. If not given 1,000, and for a model that reasons 16,000, its thoughts included.
    more
        Any other keyword of `dspy.LM` or LiteLLM, such as ``{"top_p": 0.9}``.
    timeout
        Seconds that one call may take in all, see `polyqa.lm.bounded_lm.BoundedLM`.
    retries
        How often a request is sent again that failed, but not by the user's fault.
    connect_timeout, read_timeout
        Seconds until a connection stands, and seconds without a byte.
    max_reply
        Megabytes of a reply.
    requests_per_minute
        What the provider allows: requests go out at even distances, and those of a cluster's workers count together.
        Each model has its own count. As many as are made if not given.

    Raises
    ------
    PolyqaError
        If a value is out of its range, or ``more`` has what is set otherwise.
    """

    temperature: float | None = None
    max_tokens: int | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    timeout: float = Limits.total
    retries: int = Limits.retries
    connect_timeout: float = Limits.connect
    read_timeout: float = Limits.read
    max_reply: float = Limits.reply
    requests_per_minute: float | None = None

    def __post_init__(self) -> None:
        for option, value, low in (("--temperature", self.temperature, 0), ("--max-tokens", self.max_tokens, 1)):
            if value is not None and not value >= low:
                raise PolyqaError(f"{option} is at least {low}, not {value}.")
        self.limits()
        if name := next((name for name in self.more if name in _OWN_OPTIONS), None):
            raise PolyqaError(f"{name} has an option of its own: {_OWN_OPTIONS[name]}.")

    def sampling(self) -> dict[str, Any]:
        """Return what changes replies, as keywords of `dspy.LM`."""
        own = {"temperature": self.temperature, "max_tokens": self.max_tokens, **self.more}
        return {name: value for name, value in own.items() if value is not None}

    def limits(self) -> Limits:
        """Return what ends calls."""
        return Limits(
            self.connect_timeout,
            self.read_timeout,
            self.timeout,
            self.max_reply,
            self.retries,
            self.requests_per_minute,
        )


@dataclass(frozen=True)
class Models:
    """The models that answer, write and score, each by name or as an object.

    Attributes
    ----------
    lm
        Runs programs; names as for `language_model`. If not given, what ``dspy.configure(lm=…)`` or
        ``dspy.context(lm=…)`` has set, and else the embedded engine.
    helper_lm
        Runs those of a program's predictors whose replies are not told: they say what is ambiguous, what to search
        for and what holds (`polyqa.helper_lm.HELPERS`). ``lm`` if not given.
    prompt_lm
        Writes instructions; ``lm`` if not given, and for the embedded engine ``polyqa/proposer``, which adds plain
        clauses (`polyqa.optimizers.proposer`).
    settings
        How they are asked, where they are names. ``helper_lm`` is asked with ``temperature`` and ``max_tokens``, too
        (not if it reasons), but not with ``more``, which is about ``lm``. ``prompt_lm`` and ``judge`` keep
        temperatures of their own. The limits are for all.
    api_base
        Address of the server of ``lm`` and ``prompt_lm``, where they are names.
    helper_api_base
        Address of the helper's server. It is not that of ``api_base`` unless given so.
    reader
        The reader of Disambig-F1: ``"embedded"``, a path or a hub name such as ``deepset/roberta-large-squad2``.
    judge
        The judge of the grounded metrics: ``"embedded"`` (the reader with the embedded encoder), the name of a
        language model, or ``None`` for no grounded metrics.
    judge_api_base
        Address of the judge's server.
    """

    lm: str | dspy.LM | None = None
    helper_lm: str | dspy.LM | None = None
    prompt_lm: str | dspy.LM | None = None
    settings: LMSettings = LMSettings()
    api_base: str | None = None
    helper_api_base: str | None = None
    reader: str | SpanReader = EMBEDDED_READER
    judge: str | Judge | None = "embedded"
    judge_api_base: str | None = None

    @property
    def chosen_lm(self) -> str | dspy.LM:
        """What ``lm`` means here and now: what was given, what DSPy has set, or the embedded engine."""
        return self.lm or dspy.settings.lm or MODEL_NAME

    def answering(self) -> dspy.LM:
        """Return the language model that runs programs; see `language_model` for its errors."""
        chosen = self.chosen_lm
        if not isinstance(chosen, str):
            return chosen
        if chosen == MODEL_NAME and self.helper_lm in (None, MODEL_NAME):
            _refuse_settings(self.settings)
        if chosen == MODEL_NAME:
            return language_model(chosen, api_base=self.api_base)
        return _language_model(
            chosen, self.api_base, self.settings.sampling(), "--api-base", limits=self.settings.limits()
        )

    def helping(self) -> dspy.LM | None:
        """Return the language model of the helping predictors; ``None`` if they ask the one that runs programs.

        Raises
        ------
        PolyqaError
            See `language_model`; or if there is an address, and no name.
        """
        if not isinstance(self.helper_lm, str):
            if self.helper_api_base:
                raise PolyqaError("--helper-api-base is the address of --helper-lm; name the helper's model.")
            return self.helper_lm
        sampling = replace(self.settings, more={}).sampling()
        given = {} if self.helper_lm == MODEL_NAME or reasons(self.helper_lm) else sampling
        return _language_model(
            self.helper_lm, self.helper_api_base, given, "--helper-api-base", limits=self.settings.limits()
        )

    def writing(self, answering: dspy.LM) -> dspy.LM:
        """Return the language model that writes instructions, by default the one that runs programs.

        The embedded engine cannot write: `polyqa.optimizers.proposer` writes for it, if no other is named.
        """
        if self.prompt_lm == PROPOSER or (self.prompt_lm is None and answering.model == MODEL_NAME):
            from polyqa.optimizers.proposer import proposer_lm

            return proposer_lm()
        if not isinstance(self.prompt_lm, str):
            return self.prompt_lm or answering
        if self.prompt_lm == MODEL_NAME:
            return language_model(self.prompt_lm, api_base=self.api_base)
        # Instructions are worth trying in several wordings: the optimizers' own temperature is 1.
        return _language_model(
            self.prompt_lm, self.api_base, {"temperature": 1.0}, "--api-base", limits=self.settings.limits()
        )


@lru_cache(maxsize=4)
def shared_encoder(name: str = EMBEDDED_ENCODER) -> Encoder:
    """Return the encoder of a name, one for all who use it: it remembers what it has encoded."""
    return Encoder(name)


def shared_reader(name: str | SpanReader = EMBEDDED_READER) -> SpanReader:
    """Return the reader of a name, one for all who use it; a reader is returned as it is."""
    return _reader(reader_name(name)) if isinstance(name, str) else name


@lru_cache(maxsize=2)
def _reader(name: str) -> Reader:
    return Reader(name)


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
    """Return how many questions are asked at once: 2 of the embedded engine, which shares this machine, else 8."""
    return 2 if lm.model == MODEL_NAME else 8


def language_model(
    name: str = MODEL_NAME,
    *,
    api_base: str | None = None,
    timeout: float = Limits.total,
    retries: int = Limits.retries,
    connect_timeout: float = Limits.connect,
    read_timeout: float = Limits.read,
    max_reply: float = Limits.reply,
    requests_per_minute: float | None = None,
    **settings: Any,
) -> dspy.LM:
    """Return a language model by name.

    Parameters
    ----------
    name
        ``polyqa/extractive`` (embedded), or anything that `dspy.LM` takes, such as
        ``openai/gpt-4o-mini`` or ``ollama_chat/llama3.1``.
    api_base
        Address of the server, if it is not the provider's own.
    timeout, retries, connect_timeout, read_timeout, max_reply, requests_per_minute
        See `LMSettings`; not for the embedded engine.
    settings
        More for `dspy.LM`, such as ``temperature``, over `polyqa.programs.sampling.DEFAULT_SAMPLING`. A model that
        reasons (OpenAI's o-series and gpt-5) samples as it likes and gets 16,000 tokens.

    Raises
    ------
    PolyqaError
        If the name has no provider, an address is given for the embedded engine, or the model cannot be asked so.
    """
    limits = Limits(connect_timeout, read_timeout, timeout, max_reply, retries, requests_per_minute)
    return _language_model(name, api_base, settings, "--api-base", limits=limits)


def judge_model(name: str, *, api_base: str | None = None, settings: LMSettings = LMSettings()) -> dspy.LM:
    """Return the language model that judges, at temperature 0 if it can be set; see `language_model`.

    Of the settings only the limits count.
    """
    if name == MODEL_NAME:
        return _language_model(name, api_base, {}, "--judge NAME@URL")
    given = {} if reasons(name) else {"temperature": 0.0}
    return _language_model(name, api_base, given, "--judge NAME@URL", limits=settings.limits())


def _language_model(
    name: str, api_base: str | None, settings: dict[str, Any], option: str, *, limits: Limits = Limits()
) -> dspy.LM:
    """Make a language model; ``option`` is where the command line takes its server's address."""
    if name == MODEL_NAME:
        if api_base:
            raise PolyqaError(f"{MODEL_NAME} runs in this process; it takes no {option}. Name the server's model.")
        return embedded_lm(embedded_engine(), **settings)
    if name == PROPOSER:
        raise PolyqaError(f"{PROPOSER} writes instructions (--prompt-lm) and answers no questions; take {MODEL_NAME}.")
    for given, told in ((name, "The name of a language model"), (api_base or "", f"{option.lstrip('-')}")):
        if not given.isprintable():
            raise PolyqaError(f"{told} is one line of text, not {given!r}.")
    if "/" not in name.strip("/"):
        raise PolyqaError(
            f"{name!r} names no provider; write provider/model, such as openai/{name} or ollama_chat/{name}."
        )
    connection = {"api_base": api_base} if api_base else {}
    reasoning = reasons(name)
    own = {"max_tokens": REASONING_TOKENS} if reasoning else DEFAULT_SAMPLING
    if reasoning:
        _check_reasoning(name, settings)
    _require_key(name, api_base, settings, option)
    try:
        return keep(BoundedLM(name, limits=limits, **{**own, **connection, **settings}), {*settings})
    except (TypeError, ValueError, LMConfigurationError) as error:
        raise PolyqaError(f"{name} cannot be asked so: {' '.join(str(error).split())}") from error


def _check_reasoning(name: str, settings: Mapping[str, Any]) -> None:
    temperature, most = settings.get("temperature"), settings.get("max_tokens")
    if temperature not in (None, 1):
        raise PolyqaError(f"{name} reasons: its --temperature is 1, not {temperature:g}. Leave it out.")
    if most is not None and most < REASONING_TOKENS:
        raise PolyqaError(
            f"{name} reasons, and its thoughts count as tokens: --max-tokens is at least {REASONING_TOKENS:,} for it, "
            f"not {most:,}. Leave it out, or let it think less (--lm-set reasoning_effort=low)."
        )


def _refuse_settings(settings: LMSettings) -> None:
    """Refuse what the embedded engine, which always gives the same reply at once, does not heed."""
    bare = LMSettings()
    given = {
        "--temperature": settings.temperature is not None,
        "--max-tokens": settings.max_tokens is not None,
        "--lm-set": bool(settings.more),
        "--timeout": settings.timeout != bare.timeout,
        "--retries": settings.retries != bare.retries,
        "--connect-timeout": settings.connect_timeout != bare.connect_timeout,
        "--read-timeout": settings.read_timeout != bare.read_timeout,
        "--max-reply": settings.max_reply != bare.max_reply,
        "--requests-per-minute": settings.requests_per_minute is not None,
    }
    if option := next((option for option, is_given in given.items() if is_given), None):
        raise PolyqaError(f"{MODEL_NAME} runs in this process and has no {option}. Name a language model with --lm.")


def _require_key(name: str, api_base: str | None, settings: dict[str, Any], option: str) -> None:
    """Give a local server without a key the placeholder that clients want; else ask for the key."""
    provider = name.split("/", 1)[0]
    variables = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}
    variable = variables.get(provider)
    if variable is None or settings.get("api_key") or os.environ.get(variable):
        return
    if api_base:
        settings["api_key"] = "none"
        return
    raise PolyqaError(
        f"{name} needs a key: set the environment variable {variable}, or name a local server with {option}."
    )
