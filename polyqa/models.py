"""Turns names into models: language models, the encoder, the reader, each shared by all who use it."""

import os
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import dspy

from polyqa.embedded_models import EMBEDDED_ENCODER, EMBEDDED_READER, Encoder, Reader, SpanReader, reader_name
from polyqa.engines.extractive import MODEL_NAME, ExtractiveEngine, embedded_lm
from polyqa.metrics.judges import Judge
from polyqa.programs.sampling import DEFAULT_SAMPLING
from polyqa.signatures import PolyqaError


@dataclass(frozen=True)
class Models:
    """The models that answer, write and score, each by name or as an object.

    Attributes
    ----------
    lm
        Runs programs; names as for `language_model`.
    prompt_lm
        Writes instructions; ``lm`` if not given.
    api_base
        Address of the server of ``lm`` and ``prompt_lm``, where they are names.
    reader
        The reader of Disambig-F1: ``"embedded"``, a path or a hub name such as ``deepset/roberta-large-squad2``.
    judge
        The judge of the grounded metrics: ``"embedded"`` (the reader with the embedded encoder), the name of a
        language model, or ``None`` for no grounded metrics.
    judge_api_base
        Address of the judge's server.
    """

    lm: str | dspy.LM = MODEL_NAME
    prompt_lm: str | dspy.LM | None = None
    api_base: str | None = None
    reader: str | SpanReader = EMBEDDED_READER
    judge: str | Judge | None = "embedded"
    judge_api_base: str | None = None

    def answering(self) -> dspy.LM:
        """Return the language model that runs programs; see `language_model` for its errors."""
        return language_model(self.lm, api_base=self.api_base) if isinstance(self.lm, str) else self.lm

    def writing(self, answering: dspy.LM) -> dspy.LM:
        """Return the language model that writes instructions, by default the one that runs programs."""
        if not isinstance(self.prompt_lm, str):
            return self.prompt_lm or answering
        # Instructions are worth trying in several wordings: the optimizers' own temperature is 1.
        return language_model(self.prompt_lm, api_base=self.api_base, temperature=1.0)


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


def language_model(name: str = MODEL_NAME, *, api_base: str | None = None, **settings: Any) -> dspy.LM:
    """Return a language model by name.

    Parameters
    ----------
    name
        ``polyqa/extractive`` (embedded), or anything that `dspy.LM` takes, such as
        ``openai/gpt-4o-mini`` or ``ollama_chat/llama3.1``.
    api_base
        Address of the server, if it is not the provider's own.
    settings
        More for `dspy.LM`, over `polyqa.programs.sampling.DEFAULT_SAMPLING`.

    Raises
    ------
    PolyqaError
        If the name has no provider, or an address is given for the embedded engine.
    """
    return _language_model(name, api_base, settings, "--api-base")


def judge_model(name: str, *, api_base: str | None = None) -> dspy.LM:
    """Return the language model that judges, at temperature 0; see `language_model`."""
    return _language_model(name, api_base, {"temperature": 0.0}, "--judge-api-base")


def _language_model(name: str, api_base: str | None, settings: dict[str, Any], option: str) -> dspy.LM:
    """Make a language model; ``option`` is where the command line takes its server's address."""
    if name == MODEL_NAME:
        if api_base:
            raise PolyqaError(f"{MODEL_NAME} runs in this process; it takes no {option}. Name the server's model.")
        return embedded_lm(embedded_engine(), **settings)
    if "/" not in name:
        raise PolyqaError(
            f"{name!r} names no provider; write provider/model, such as openai/{name} or ollama_chat/{name}."
        )
    _require_key(name, api_base, settings, option)
    connection = {"api_base": api_base} if api_base else {}
    return dspy.LM(name, **{**DEFAULT_SAMPLING, **connection, **settings})


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
