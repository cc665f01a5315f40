"""Puts the parts together: language model, index, retriever, reranker, program."""

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import dspy

from colbert_index import ColBERTIndex
from embedded_models import EMBEDDED_ENCODER, Encoder
from engines.extractive import MODEL_NAME, ExtractiveEngine, embedded_lm
from programs import PROGRAMS
from programs.artifact import artifact_names, find_artifact, read_json
from programs.artifact import load as load_artifact
from programs.assembly import assemble
from programs.sampling import DEFAULT_SAMPLING
from programs.state import load_program
from signatures import PolyqaError

DEFAULT_INDEX = "homonyms"
DEFAULT_PROGRAM = "auto"


@lru_cache(maxsize=4)
def shared_encoder(name: str = EMBEDDED_ENCODER) -> Encoder:
    """Return the encoder of a name, one for all who use it: it remembers what it has encoded."""
    return Encoder(name)


@lru_cache(maxsize=1)
def _embedded_engine() -> ExtractiveEngine:
    return ExtractiveEngine(encoder=shared_encoder())


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
        More for `dspy.LM`, over `programs.sampling.DEFAULT_SAMPLING`.

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
        return embedded_lm(_embedded_engine(), **settings)
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


def open_index(index: str | Path | ColBERTIndex = DEFAULT_INDEX) -> ColBERTIndex:
    """Return an index by name or path; an opened one is returned as it is."""
    return index if isinstance(index, ColBERTIndex) else ColBERTIndex(index)


def load(
    program: str | Path = DEFAULT_PROGRAM,
    *,
    index: str | Path | ColBERTIndex | None = None,
    demos: str | Path | None = None,
    encoder: str = EMBEDDED_ENCODER,
    reranker: str | None = None,
    questions: str | Path | None = None,
    strict: bool = True,
    **settings: Any,
) -> dspy.Module:
    """Return a program that is ready to be asked.

    Parameters
    ----------
    program
        A name of `programs.registry.REGISTRY`, such as ``auto`` or ``diva``; or a compiled one: its name in
        ``compiled/``, or its folder.
    index
        Name or path of the index, or an opened one. By default ``homonyms``; for a compiled program the
        index of its card.
    demos
        A JSON file that `dspy.Module.save` wrote: demos, instructions and kNN settings.
    encoder
        The sentence encoder for reranking and kNN demos.
    reranker
        ``reader`` or a cross-encoder by name, see `programs.assembly.make_reranker`; else the encoder reranks, for
        a compiled program what its card names.
    questions
        Folder of the database of questions, for ``sixpaq``; by default ``questions`` in the index's folder.
    strict
        For compiled programs, see `programs.artifact.load`.
    settings
        More for the program's constructor, such as ``passages=5``, see `programs.settings.checked_settings`; a
        compiled program has its own.

    Returns
    -------
    dspy.Module
        Call it under ``dspy.context(lm=…)``, or hand it to `polyqa.ask`.

    Raises
    ------
    PolyqaError
        If the program, the index or the demos are not there or do not fit, or a setting is not one of the program's
        or not of its type.
    """
    own_encoder = shared_encoder(encoder)
    if program not in PROGRAMS and find_artifact(program) is not None:
        if settings or demos is not None:
            given = ", ".join([*settings, *(["demos"] if demos is not None else [])])
            raise PolyqaError(f"{program} is compiled: its settings and demos are fixed, {given} cannot be given.")
        return load_artifact(
            program, index=index, encoder=own_encoder, reranker=reranker, questions=questions, strict=strict
        )
    if program not in PROGRAMS:
        known = ", ".join([*PROGRAMS, *artifact_names()])
        raise PolyqaError(f"Unknown program {str(program)!r}; there are {known}, or name the folder of a compiled one.")
    made = assemble(
        str(program),
        index=index or DEFAULT_INDEX,
        encoder=own_encoder,
        reranker=reranker,
        questions=questions,
        **settings,
    )
    if demos is not None:
        _load_demos(made, Path(demos))
    return made


def warm_up(program: dspy.Module, lm: dspy.LM) -> None:
    """Load what the first question would load: index, encoder, and the embedded engine's reader."""
    retriever, reranker = getattr(program, "retriever", None), getattr(program, "reranker", None)
    if retriever is not None and reranker is not None:
        reranker.score(["warm up"], retriever.search("warm up", 1))
    if lm.model == MODEL_NAME:
        _embedded_engine().models.reader.read([("warm up?", "warm up")])


def index_of(program: dspy.Module) -> ColBERTIndex | None:
    """Return the index that a program searches; ``None`` if it searches none."""
    retrievers = getattr(getattr(program, "retriever", None), "retrievers", ())
    return next((one for one in retrievers if isinstance(one, ColBERTIndex)), None)


def _load_demos(program: dspy.Module, path: Path) -> None:
    if not path.is_file():
        raise PolyqaError(f"There is no file {path}; --demos takes the JSON file of a saved program.")
    if path.suffix != ".json":
        raise PolyqaError(f"{path}: only JSON is loaded, as a pickle could run code. Save the program as .json.")
    load_program(program, read_json(path), str(path))
