"""Evaluates programs by name: puts program, index, reader and judge together and runs them."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dspy

from polyqa.artifacts.identity import described_program
from polyqa.artifacts.state import program_hash
from polyqa.embedded_models import EMBEDDED_READER
from polyqa.engines.extractive import MODEL_NAME
from polyqa.evaluation.loading import load_questions, questions_fingerprint
from polyqa.evaluation.progress import Progress, silent
from polyqa.evaluation.runner import evaluate as run_program
from polyqa.evaluation.runs import Run, RunSettings
from polyqa.evaluation.scoring import Scorer
from polyqa.metrics.embedded_judge import EmbeddedJudge
from polyqa.metrics.gold import Question
from polyqa.metrics.judges import Judge
from polyqa.metrics.llm_judge import LLMJudge
from polyqa.programs.registry import PROGRAMS
from polyqa.settings import checked_settings, setting_types
from polyqa.signatures import PolyqaError

from .loading import DEFAULT_PROGRAM, index_of, load, warm_up
from .models import judge_model, language_model, shared_encoder, shared_reader

DEFAULT_RUNS = "runs"
_PRIVATE = re.compile(r"key|secret|credential|password|auth|header|_token$|base|url", re.I)  # not for run.json


def make_scorer(
    reader: str = EMBEDDED_READER, judge: str | None = "embedded", *, alce: bool = False, api_base: str | None = None
) -> Scorer:
    """Return a scorer by names.

    Parameters
    ----------
    reader
        The reader of Disambig-F1: ``"embedded"``, a path or a hub name such as
        ``deepset/roberta-large-squad2``.
    judge
        ``"embedded"`` (the reader with the embedded encoder), the name of a language model, or ``None``
        for no grounded metrics.
    alce
        Score what ALCE scores.
    api_base
        Address of the judge's server.

    Raises
    ------
    PolyqaError
        If the judge is no language model and an address is given, or it needs a key and there is none.
    """
    if api_base and judge in (None, "embedded"):
        raise PolyqaError(
            f"--judge {judge or 'none'} asks no server, so it takes no --judge-api-base; name the server's model "
            "with --judge provider/model."
        )
    own_reader = shared_reader(reader)
    made: Judge | None = None
    if judge == "embedded":
        made = EmbeddedJudge(own_reader, shared_encoder())
    elif judge is not None:
        made = LLMJudge(judge_model(judge, api_base=api_base))
    return Scorer(own_reader, made, alce=alce)


def evaluate(
    program: str | Path | dspy.Module = DEFAULT_PROGRAM,
    questions: str | Path | Sequence[Question] = "homonyms/dev",
    *,
    index: str | Path | None = None,
    lm: str | dspy.LM = MODEL_NAME,
    name: str | None = None,
    runs: str | Path = DEFAULT_RUNS,
    format: str | None = None,
    split: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    scorer: Scorer | None = None,
    threads: int | None = None,
    retry_failed: bool = False,
    progress: Callable[[int], Progress] = silent,
    demos: str | Path | None = None,
    api_base: str | None = None,
    **settings: Any,
) -> Run:
    """Run a program over questions and score it; a run that was stopped goes on.

    Parameters
    ----------
    program, index, demos, settings
        See `polyqa.load`; or a program from it, which has its index, demos and settings.
    questions, format, split, limit, seed
        See `polyqa.evaluation.loading.load_questions`; or questions.
    lm, api_base
        See `polyqa.language_model`.
    name, runs
        The run is kept in ``<runs>/<name>``; by default named after program, questions, model and demos.
    scorer
        From `make_scorer`; the embedded reader and judge if not given.
    threads
        Questions at once: 2 for the embedded engine, which shares this machine's cores, else 8.
    retry_failed, progress
        See `polyqa.evaluation.runner.evaluate`.

    Raises
    ------
    PolyqaError
        If something given is missing or does not fit, or the run's folder holds a run of something else: another
        program, other settings, another index, model, reader or judge, other questions.
    """
    if isinstance(program, dspy.Module):
        _refuse({"index": index, "demos": demos, **settings})
    if isinstance(questions, (str, Path)):
        file = Path(questions)
        called = file.stem if file.suffix else str(questions)
        source = file.name if file.suffix else str(questions)
        source += f" ({split})" if split else ""
        asked = load_questions(questions, format=format, split=split, limit=limit, seed=seed)
    else:
        called, source, asked = "given", "questions given in Python", list(questions)
    # A reply from DSPy's cache reports no tokens and no time; the run's folder is the cache.
    model = (language_model(lm, api_base=api_base) if isinstance(lm, str) else lm).copy(cache=False)
    scorer = scorer or make_scorer()
    if isinstance(program, dspy.Module):
        ready, made_of = program, described_program(program)
    else:
        ready = load(program, index=index, demos=demos, **settings)
        made_of = _named_settings(program, settings)
    label = type(program).__name__ if isinstance(program, dspy.Module) else str(program)
    opened = index_of(ready)
    warm_up(ready, model)
    scorer.reader.read([("warm up?", "warm up")])  # one that cannot be loaded should cost no call
    made = RunSettings(
        program=label,
        program_state=_state_hash(ready, made_of),
        lm=model.model,
        lm_settings=_sampling(model),
        reader=scorer.reader.name + (", ALCE's cut" if scorer.alce else ""),
        judge=scorer.judge.name if scorer.judge else None,
        index=f"{opened.name} ({opened.fingerprint})" if opened else None,
        questions=f"{source}, {len(asked)} questions ({questions_fingerprint(asked)})",
        n=len(asked),
        versions={package: version(package) for package in ("polyqa", "dspy")},
    )
    return run_program(
        ready,
        asked,
        lm=model,
        scorer=scorer,
        folder=Path(runs) / (name or _default_name(label, called, model.model, demos)),
        settings=made,
        threads=threads or (2 if model.model == MODEL_NAME else 8),
        retry_failed=retry_failed,
        progress=progress,
    )


def _refuse(given: Mapping[str, Any]) -> None:
    """Refuse what only a program's name can be given with."""
    if names := [name for name, value in given.items() if value is not None]:
        raise PolyqaError(
            f"The program is made already: {', '.join(names)} cannot be given. Hand its name to evaluate, or make it "
            f"with polyqa.load(…, {names[0]}=…)."
        )


def _named_settings(program: str | Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a program by name was given: numbers as they came, a text as what the program takes it for."""
    types = setting_types(str(program)) if program in PROGRAMS else {}
    texts = {name: value for name, value in settings.items() if name in types and isinstance(value, str)}
    return {**settings, **checked_settings(str(program), texts)} if texts else dict(settings)


def _state_hash(program: dspy.Module, made_of: Mapping[str, Any]) -> str:
    text = json.dumps([program_hash(program), made_of], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _sampling(lm: dspy.LM) -> dict[str, Any]:
    """Return what a model was asked with; keys and addresses do not change what it says."""
    return {name: value for name, value in sorted(lm.kwargs.items()) if value is not None and not _PRIVATE.search(name)}


def _default_name(program: str, questions: str, lm: str, demos: str | Path | None) -> str:
    parts = [program, questions]
    if lm != MODEL_NAME:
        parts.append(lm)
    if demos is not None:
        parts.append(Path(demos).stem)
    kept = "".join(letter if letter.isalnum() or letter in "-_.," else "-" for letter in ",".join(parts))
    return kept.replace(",", "--")
