"""Turns names into programs: the program's parts are opened, its settings checked, a compiled one's state restored."""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dspy

from polyqa.artifacts.state import load_program, signature_fingerprints
from polyqa.artifacts.store import STATE, Artifact, artifact_names, find_artifact, read_artifact, read_json
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import (
    BiEncoderReranker,
    ColBERTIndex,
    CrossEncoderReranker,
    FusedRetriever,
    Reranker,
    SpanReaderReranker,
)
from polyqa.colbert_index.store import SHIPPED
from polyqa.extractive import MODEL_NAME
from polyqa.lm.assigned import give_helper, own_lms
from polyqa.metrics.gold import Question
from polyqa.models import EMBEDDED_ENCODER, Encoder, Reader, SpanReader
from polyqa.programs.knn import KNNPredict
from polyqa.programs.registry import PROGRAMS, registered
from polyqa.questions import QuestionDatabase, QuestionRetriever, questions_path

from .language_models import LOCAL, RECORDED, Models, embedded_engine, language_model, shared_encoder, shared_reader
from .program_settings import checked_settings

DEFAULT_INDEX = SHIPPED
DEFAULT_PROGRAM = "auto"
SMALL_PROGRAM = "spanwise"
"""What is asked by default of a language model on this machine, which is a small one."""
READER_RERANKER = "reader"
_ANYTHING = "warm up"
_PARTS = frozenset({"program", "index", "where", "encoder", "reranker", "questions", "demos", "helper_lm"})
"""What `load` is given beside a program's settings."""


def default_program(lm: str | dspy.LM | None) -> str:
    """Return the program that is asked if none is named, by the language model.

    >>> default_program("local"), default_program("openai/gpt-4o-mini"), default_program(None)
    ('spanwise', 'auto', 'auto')
    """
    if isinstance(lm, str) and lm.startswith(RECORDED):
        lm = language_model(lm)  # the file says whose replies it holds
    name = "" if lm is None else lm if isinstance(lm, str) else str(lm.model)
    return SMALL_PROGRAM if re.match(rf"(recorded/.*@)?{LOCAL}(/|$)", name) else DEFAULT_PROGRAM


def open_index(index: str | Path | ColBERTIndex = DEFAULT_INDEX) -> ColBERTIndex:
    """Return an index by name or path; an opened one is returned as it is."""
    if not isinstance(index, ColBERTIndex | str | Path):
        raise PolyqaError(f"An index is a name, a path, or a ColBERTIndex, not {index!r:.80}.")
    return index if isinstance(index, ColBERTIndex) else ColBERTIndex(index)


def load(
    program: str | Path = DEFAULT_PROGRAM,
    *,
    index: str | Path | ColBERTIndex | None = None,
    demos: str | Path | None = None,
    encoder: str | Encoder = EMBEDDED_ENCODER,
    reranker: str | None = None,
    questions: str | Path | None = None,
    helper_lm: str | dspy.LM | None = None,
    **settings: Any,
) -> dspy.Module:
    """Return a program that is ready to be asked.

    Parameters
    ----------
    program
        A name of `polyqa.programs.registry.REGISTRY`, such as ``auto`` or ``diva``; or a compiled one: its name in
        ``compiled/``, or its folder.
    index
        Name or path of the index, or an opened one. By default ``homonyms``; for a compiled program the
        index of its card, by name.
    demos
        A JSON file that `dspy.Module.save` wrote: demos, instructions and kNN settings.
    encoder
        The sentence encoder for reranking and kNN demos; for a compiled program it must be the card's.
    reranker
        ``reader`` (the embedded span reader has a say beside the encoder) or a cross-encoder by name or path; else
        the encoder reranks, for a compiled program what its card names.
    questions
        Folder of the database of questions, for ``sixpaq``; by default ``questions`` in the index's folder.
    helper_lm
        Runs the predictors whose output the user never sees (`polyqa.lm.calls.CALLS`): a name for
        `polyqa.language_model`, or a `dspy.LM`. It is kept in no file.
    settings
        ``where="product = 'Falcon'"`` has the index find only passages that fulfil this condition, see
        `ColBERTIndex.where`. All others are for the program's constructor, such as ``passages=5``, see
        `polyqa.program_settings.checked_settings`; a compiled program has its own.

    Returns
    -------
    dspy.Module
        Call it under ``dspy.context(lm=…)``, or hand it to `polyqa.ask`.

    Raises
    ------
    PolyqaError
        If the program, the index or the demos are not there, damaged or do not fit, a setting is not one of the
        program's or not of its type, the condition cannot be used or no passage fulfils it, or there is nothing for a
        helper to do. Another version of DSPy, or other passages, than a program was compiled with are a warning.
    """
    where = settings.pop("where", None)
    helper = Models(helper_lm=helper_lm).helping()
    checked = check_settings(program, settings, demos=demos)
    own_encoder = encoder if isinstance(encoder, Encoder) else shared_encoder(encoder)
    name, artifact = str(program), None if program in PROGRAMS else read_artifact(program)
    if artifact is not None:
        name, checked = artifact.card.program, _checked_card(artifact)
        _check_parts(artifact, own_encoder, reranker)
        reranker = reranker or artifact.card.reranker
        if "index" in registered(name).needs:
            card, own_index = artifact.card.index, _compiled_index(artifact, index)
            has_condition = where is not None or own_index.condition is not None
            if not has_condition and card is not None and (index is None or card.fingerprint == own_index.fingerprint):
                where = card.condition
            index = own_index
    opened = DEFAULT_INDEX if index is None else index
    loaded = _assemble(name, opened, where, own_encoder, reranker, questions, checked)
    if artifact is not None:
        _restore(loaded, artifact)
    if demos is not None:
        _load_demos(loaded, Path(demos))
    if helper is not None:
        give_helper(loaded, helper)
    return loaded


def checked_program(
    program: str | Path | dspy.Module, settings: Mapping[str, Any], helper_lm: str | dspy.LM | None = None
) -> tuple[Callable[[], dspy.Module], str]:
    """Return what makes a program ready, and its name: the user's, or that of its class; nothing is loaded yet.

    A program from `load` takes no settings any more; it is copied for a helper, so that it stays as it is. What does
    not fit raises a `PolyqaError`.
    """
    if not isinstance(program, dspy.Module | str | Path):
        raise PolyqaError(f"A program is a name, a path, or a dspy.Module that was made, not {program!r:.80}.")
    if not isinstance(program, dspy.Module):
        check_settings(program, split_settings(settings)[1], demos=settings.get("demos"))
        return partial(load, program, **{"helper_lm": helper_lm, **settings}), str(program)
    _refuse_models(settings)
    if names := [name for name, value in settings.items() if value is not None]:
        raise PolyqaError(
            f"The program is made already: {', '.join(names)} cannot be given. Give its name, or make it with "
            f"polyqa.load(…, {names[0]}=…)."
        )
    return partial(_with_helper, program, Models(helper_lm=helper_lm).helping()), type(program).__name__


def _with_helper(program: dspy.Module, helper: dspy.LM | None) -> dspy.Module:
    if helper is None:
        return program
    helped = program.deepcopy()
    give_helper(helped, helper)
    return helped


def _refuse_models(settings: Mapping[str, Any]) -> None:
    """Say where a language model is named; nothing that is loaded has one."""
    if named := sorted({"lm", "models"}.intersection(settings)):
        raise PolyqaError(
            f"{named[0]} is no setting of a program. One that you load is called under dspy.context(lm=…) or by "
            "polyqa.ask(…, lm=…); what runs programs, such as polyqa.evaluate, takes models=polyqa.Models(lm=…)."
        )


def check_settings(
    program: str | Path, settings: Mapping[str, Any], *, demos: str | Path | None = None
) -> dict[str, Any]:
    """Return the settings of a program as the types that its constructor names, before anything is opened for it.

    A `PolyqaError` says what does not fit: a compiled program takes neither settings nor demos.
    """
    _refuse_models(settings)
    if program in PROGRAMS:
        return checked_settings(str(program), settings)
    if find_artifact(program) is None:
        names = ", ".join([*PROGRAMS, *artifact_names()])
        raise PolyqaError(f"Unknown program {str(program)!r}; there are {names}, or name the folder of a compiled one.")
    if refused := ", ".join([*settings, *(["demos"] if demos is not None else [])]):
        raise PolyqaError(f"{program} is compiled: its settings and demos are fixed, {refused} cannot be given.")
    return {}


def split_settings(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what `load` takes beside a program's own settings, and those."""
    parts = {name: value for name, value in settings.items() if name in _PARTS}
    return parts, {name: value for name, value in settings.items() if name not in _PARTS}


def warm_up(program: dspy.Module, lm: dspy.LM) -> None:
    """Load what the first question would load, and nothing else; what is loaded costs a few milliseconds.

    That is the index and what reranks, the questions made from it, the vectors of demos that are picked by
    similarity, the reader of the embedded engine, and a model that runs on this machine. No language model
    on a server is called.
    """
    if isinstance(retriever := getattr(program, "asked", None), QuestionRetriever):
        retriever.database.warm_up()
    if (index := index_of(program)) is not None:
        index.warm_up()
        reranker = getattr(program, "reranker", None)
        if isinstance(reranker, (BiEncoderReranker, SpanReaderReranker, CrossEncoderReranker)):
            reranker.score([_ANYTHING], [next(filter(None, index.positions))])
    for model in (lm, *own_lms(program).values()):
        engine = getattr(model, "engine", None)  # a `dspy.BaseLM` has none; that of a recording has the model behind it
        server = getattr(getattr(engine, "lm", model), "server", None)
        if server is not None:
            server.address()
    for _, predictor in program.named_predictors():
        if isinstance(predictor, KNNPredict) and predictor.k is not None:
            predictor.nearest(_ANYTHING)
    for reader in (getattr(program, name, None) for name in ("reader", "source_reader")):
        if isinstance(reader, Reader):
            reader.read([("warm up?", _ANYTHING)])
    if MODEL_NAME in {lm.model, *(helper.model for helper in own_lms(program).values())}:
        embedded_engine().models.reader.read([("warm up?", _ANYTHING)])


def over(program: dspy.Module, index: ColBERTIndex) -> dspy.Module:
    """Return a copy of a loaded program that searches another handle of its index; all other parts are shared."""
    copied = program.deepcopy()
    for _, module in copied.named_sub_modules():
        if isinstance(getattr(module, "retriever", None), FusedRetriever):
            module.retriever = FusedRetriever([index, index.bm25])
        if isinstance(retriever := getattr(module, "asked", None), QuestionRetriever):
            module.asked = replace(retriever, index=index)
    return copied


def index_of(program: dspy.Module) -> ColBERTIndex | None:
    """Return the index that a program searches, or a part of it; ``None`` if it searches none."""
    retrievers = [getattr(module, "retriever", None) for _, module in program.named_sub_modules()]
    searched = (index for retriever in retrievers for index in (retriever, *getattr(retriever, "retrievers", ())))
    return next((index for index in searched if isinstance(index, ColBERTIndex)), None)


class _OwnDocuments:
    """A retriever that finds the documents of a question, whatever is searched for."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.passages = passages

    def search(self, query: str, k: int = 10) -> list[Passage]:
        return list(self.passages[:k])


def over_own_documents(program: dspy.Module, question: Question) -> dspy.Module:
    """Return a program that finds nothing but the documents of a question; those without a text are looked up."""
    if not question.documents:
        raise PolyqaError(f"Question {question.id!r} has no documents of its own; search an index instead.")
    if not hasattr(program, "retriever") or getattr(program, "asked", None) is not None:
        raise PolyqaError(f"{type(program).__name__} cannot be given the documents of each question; choose another.")
    index = index_of(program)
    passages = []
    for document in question.documents:
        if document.text:
            passages.append(Passage(pid=document.pid, text=document.text))
            continue
        try:
            if index is None:
                raise KeyError(document.pid)
            passages.append(index.passage(document.pid))
        except KeyError:
            where = f"Document {document.pid!r} of question {question.id!r}"
            raise PolyqaError(f"{where} has no text and is not in the index; name the index that holds it.") from None
    copied = copy(program)
    copied.retriever = _OwnDocuments(passages)
    return copied


def _assemble(
    program: str,
    index: str | Path | ColBERTIndex,
    where: str | None,
    encoder: Encoder,
    reranker: str | None,
    questions: str | Path | None,
    settings: dict[str, Any],
) -> dspy.Module:
    """Return an uncompiled program; no index is opened for one that searches none."""
    parts: list[Any] = []
    needs = registered(program).needs
    if where is not None and "index" not in needs:
        raise PolyqaError(f"{program} searches no index: leave out the condition (where).")
    if "index" in needs:
        opened = open_index(index) if where is None else open_index(index).where(where)
        parts = [FusedRetriever([opened, opened.bm25]), _make_reranker(reranker, encoder, opened)]
        if "questions" in needs:
            database = QuestionDatabase(questions or questions_path(opened), encoder=encoder, index=opened)
            parts.append(QuestionRetriever(database, opened))
        if "reader" in needs:
            parts.append(shared_reader())
    return _constructed(program, parts, encoder, settings, shared_reader() if "index" in needs else None)


def _constructed(
    program: str, parts: Sequence[Any], encoder: Any, settings: Mapping[str, Any], reader: SpanReader | None = None
) -> dspy.Module:
    try:
        return registered(program).program(*parts, encoder=encoder, source_reader=reader, **settings)
    except (TypeError, ValueError) as error:
        raise PolyqaError(f"{program} cannot be made with {settings}: {error}.") from error


def _make_reranker(name: str | None, encoder: Encoder, index: ColBERTIndex) -> Reranker:
    similar = BiEncoderReranker(encoder, index)
    if name is None:
        return similar
    if name == READER_RERANKER:
        return SpanReaderReranker(similar, Reader(precision="auto", batch_size=32))
    return CrossEncoderReranker(name)


def _load_demos(program: dspy.Module, path: Path) -> None:
    if not path.is_file():
        raise PolyqaError(f"There is no file {path}; demos is the JSON file of a saved program.")
    if path.suffix != ".json":
        raise PolyqaError(f"{path}: only JSON is loaded, as a pickle could run code. Save the program as .json.")
    load_program(program, read_json(path), str(path))


def outline(program: str | Path) -> dspy.Module:
    """Return a program to look at: checked and made as `load` does it, but no index is opened and no model loaded."""
    name, encoder, settings = str(program), EMBEDDED_ENCODER, dict[str, Any]()
    artifact = None if program in PROGRAMS else read_artifact(program)
    if artifact is not None:
        name, encoder, settings = artifact.card.program, artifact.card.encoder, _checked_card(artifact)
    needs = registered(name).needs
    parts = [SimpleNamespace()] * (len(needs) + 1) if needs else []  # two of an index; nothing is asked of them
    module = _constructed(name, parts, SimpleNamespace(name=encoder), settings)
    if artifact is not None:
        _restore(module, artifact)
    return module


def _checked_card(artifact: Artifact) -> dict[str, Any]:
    """Return the settings of a card's program, which is a known one."""
    card = artifact.card
    if card.program not in PROGRAMS:
        raise PolyqaError(f"{artifact.path}: unknown program {card.program!r:.80}; there are {', '.join(PROGRAMS)}.")
    if parts := sorted(card.settings.keys() & _PARTS):
        raise PolyqaError(f"{artifact.path}: its card gives {parts[0]!r} as a setting of the program, which it is not.")
    return checked_settings(card.program, dict(card.settings))


def _restore(program: dspy.Module, artifact: Artifact) -> None:
    """Put an artifact's state into a program made as its card says."""
    for predictor, fingerprint in signature_fingerprints(program).items():
        if artifact.card.signatures.get(predictor) != fingerprint:
            raise PolyqaError(
                f"{artifact.path}: the signature of {predictor} is not the one it was compiled with "
                f"({artifact.card.signatures.get(predictor, 'none')!r:.40}, now {fingerprint}); compile it again."
            )
    load_program(program, artifact.state, str(artifact.path / STATE))


def _check_parts(artifact: Artifact, encoder: Encoder, reranker: str | None) -> None:
    """Check that an artifact is loaded with the DSPy, the encoder and the reranker that it was compiled with."""
    card = artifact.card
    then, now = card.versions.get("dspy", "unknown"), version("dspy")
    if then.split(".")[:2] != now.split(".")[:2]:
        message = f"{artifact.path} was compiled with DSPy {then:.40}, this is {now}; prompts may differ."
        warnings.warn(message, stacklevel=3)
    # A card is data from anywhere: it may make no process load weights that it names.
    for part, name, lacks in (
        ("encoder", card.encoder, encoder.name != card.encoder),
        ("reranker", card.reranker, not reranker and card.reranker not in (None, READER_RERANKER)),
    ):
        if lacks:
            raise PolyqaError(
                f"{artifact.path} was compiled with the {part} {name!r:.120}: load it with {part}= of that name, if "
                "you trust it."
            )


def _compiled_index(artifact: Artifact, index: str | Path | ColBERTIndex | None) -> ColBERTIndex:
    card = artifact.card.index
    if index is None:
        if card is None:
            raise PolyqaError(f"{artifact.path}: its card names no index; give one.")
        if card.names_a_path:
            raise PolyqaError(f"{artifact.path}: its card names the index by a path ({card.name!r:.80}); give one.")
        index = card.name
    opened = open_index(index)
    if card is not None and opened.fingerprint != card.fingerprint:
        other = "that index has changed since" if card.name == opened.name else f"not {opened.name}"
        warnings.warn(
            f"{artifact.path.name} was compiled over the index {card.name}, {other}: its demos may be about other "
            "passages, and its figures do not hold here.",
            stacklevel=3,
        )
    return opened
