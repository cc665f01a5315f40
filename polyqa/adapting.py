"""Adapts a program to another corpus: index, training questions, compilation, and what it brought."""

import json
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy

from polyqa.artifacts.store import artifact_names, compiled_home, read_artifact
from polyqa.colbert_index import ColBERTIndex, build_index, read_corpus
from polyqa.colbert_index.store import index_path
from polyqa.embedded_models import EMBEDDED_READER
from polyqa.engines.extractive import MODEL_NAME
from polyqa.evaluation.comparison import compare_runs
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.progress import Progress, silent
from polyqa.evaluation.runs import Run, write_atomically
from polyqa.evaluation.statistics import Difference
from polyqa.metrics.gold import Question
from polyqa.optimizers.calls import kept_calls
from polyqa.optimizers.checks import check_measurable
from polyqa.optimizers.recipe import Recipe
from polyqa.question_db import Counts, generate_questions
from polyqa.question_db.training_set import pick_passages, split_questions, training_questions
from polyqa.signatures import Passage, PolyqaError

from .compiling import Made, check_program, chosen_recipe, compile, writing_model
from .evaluating import evaluate, make_scorer
from .loading import load
from .models import language_model, ready_reader, shared_encoder, shared_reader

QUESTIONS, JOURNAL = "questions.json", "generated.jsonl"
_DEV = 0.25  # of the train part: what a recipe picks by
_MOST_CALLS = 1 + 8 + 2 * 8  # per passage: detection, and for eight answers a question and two revisions
Steps = Callable[[int], AbstractContextManager[Callable[[], None]]]


@dataclass(frozen=True)
class Shipped:
    """How a shipped artifact, compiled for other passages, does on the held-out questions."""

    name: str
    run: Run
    difference: Difference


@dataclass(frozen=True)
class Adapted:
    """What adapting gave.

    Attributes
    ----------
    index
        Of the corpus.
    counts
        Of the generation; ``None`` if questions were given.
    train, dev, held_out
        The questions.
    made
        The artifact; its test gain is on the held-out questions.
    shipped
        Artifacts for the same program that come with polyqa, against the uncompiled program.
    """

    index: ColBERTIndex
    counts: Counts | None
    train: Sequence[Question]
    dev: Sequence[Question]
    held_out: Sequence[Question]
    made: Made
    shipped: Sequence[Shipped]


def no_steps(total: int) -> AbstractContextManager[Callable[[], None]]:
    """Return a display of steps that shows nothing."""
    return nullcontext(lambda: None)


def adapt(
    corpus: str | Path,
    program: str = "diva",
    *,
    out: str | Path,
    questions: str | Path | None = None,
    recipe: str | Recipe = "knn",
    lm: str | dspy.LM = MODEL_NAME,
    prompt_lm: str | dspy.LM | None = None,
    api_base: str | None = None,
    reader: str = EMBEDDED_READER,
    limit_passages: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    confirm: Callable[[object], bool] = lambda what: True,
    max_calls: int | None = None,
    progress: Callable[[int], Progress] = silent,
    steps: Steps = no_steps,
    index_progress: bool = False,
) -> Adapted | None:
    """Compile a program for a corpus; a stopped adaptation goes on.

    Parameters
    ----------
    corpus
        A file that `polyqa.colbert_index.read_corpus` reads.
    program, recipe, lm, prompt_lm, api_base, reader, threads, progress
        See `polyqa.compiling.compile`.
    out
        The artifact's folder; the index gets the folder's name. The questions that were made are kept in it.
    questions
        Training questions of yours, see `polyqa.evaluation.loading.load_questions`; made from the corpus if not
        given.
    limit_passages
        Make questions from so many passages at most (all are indexed).
    seed
        Of every random choice: 40% of the questions are held out and reported, a quarter of the rest is dev.
    confirm
        Is shown what each long step may take; ``False`` stops, and ``None`` is returned.
    max_calls
        Stop whenever so many calls of language models have gone out in all steps, those of stopped runs for the
        same ``out`` included.
    steps
        Shows the passages as they are done.
    index_progress
        Show a progress bar while the index is built.

    Raises
    ------
    PolyqaError
        If something given is missing or does not fit, the corpus gives too few questions, or
        ``max_calls`` is reached.
    """
    passages = read_corpus(corpus)
    out = Path(out)
    model = language_model(lm, api_base=api_base) if isinstance(lm, str) else lm
    workers = threads or (2 if model.model == MODEL_NAME else 8)
    check_program(program)
    writer = writing_model(prompt_lm, model, api_base if isinstance(prompt_lm, str) else None)
    chosen_recipe(recipe, writer)  # a recipe that does not fit should not cost the making of questions
    given = load_questions(questions) if questions is not None else None
    if given is not None:
        check_measurable("dr", {Path(questions or "").name: given})
    ready_reader(reader)
    index = ready_index(passages, out.name, progress=index_progress)
    with kept_calls(out / ".work", max_calls):
        counts: Counts | None = None
        if given is not None:
            every, source = given, f"{Path(questions or '').name}"
        else:
            chosen = pick_passages(passages, limit_passages, seed) if limit_passages else passages
            if not confirm(
                f"{len(chosen):,} passages, {_MOST_CALLS * len(chosen):,} calls to make questions from them"
            ):
                return None
            made = _generate(chosen, model, reader, out, workers, steps)
            counts = made.counts
            every = training_questions(
                made.questions, chosen, encoder=shared_encoder(), reader=shared_reader(reader), seed=seed
            )
            source = f"generated from {Path(corpus).name} by {model.model}: {counts}; {_described(every)}"
        short = Path(questions or corpus).name
        train, dev, held_out = _split(every, seed)
        if given is None:
            out.mkdir(parents=True, exist_ok=True)
            write_atomically(out / QUESTIONS, json.dumps(_records(every), ensure_ascii=False, indent=1) + "\n")
        places = _shipped_places(program, out)
        made_artifact = compile(
            program,
            recipe=recipe,
            train=train,
            dev=dev,
            test=held_out,
            out=out,
            index=index.path,
            lm=model,
            prompt_lm=writer,
            reader=reader,
            seed=seed,
            threads=workers,
            confirm=confirm,
            further_runs=len(places) * len(held_out),
            progress=progress,
            described={
                "train": source[:500],
                "dev": f"part of train: {short}"[:500],
                "test": f"held out: {short}"[:500],
            },
        )
        if made_artifact is None:
            return None
        shipped = _shipped(places, made_artifact, held_out, index, model, reader, workers, progress)
    return Adapted(index, counts, train, dev, held_out, made_artifact, shipped)


def ready_index(passages: Sequence[Passage], name: str, *, progress: bool = False) -> ColBERTIndex:
    """Return the index of a name that holds exactly these passages; it is built if there is none.

    Raises
    ------
    PolyqaError
        If an index of that name holds other passages.
    """
    path = index_path(name)
    if not path.exists():
        return build_index(passages, name, encoder=shared_encoder(), progress=progress)
    index = ColBERTIndex(name)
    if index.passages != list(passages):
        raise PolyqaError(
            f"The index {name!r} holds other passages than this corpus. Choose another --out, or remove {path}."
        )
    return index


def _generate(passages: Sequence[Passage], lm: dspy.LM, reader: str, out: Path, threads: int, steps: Steps) -> Any:
    with steps(len(passages)) as step:
        return generate_questions(
            passages,
            lm=lm,
            reader=shared_reader(reader),
            journal=out / ".work" / JOURNAL,
            threads=threads,
            step=step,
        )


def _described(questions: Sequence[Question]) -> str:
    ambiguous = sum(len(question.readings) > 1 for question in questions)
    return f"{ambiguous} ambiguous questions, {len(questions) - ambiguous} plain"


def _split(questions: Sequence[Question], seed: int) -> tuple[list[Question], list[Question], list[Question]]:
    if len(questions) < 3:
        raise PolyqaError(
            f"There are {len(questions)} questions; training, picking and reporting need 3 at least. Give a larger "
            "corpus with things that share a name, or questions of your own (--questions)."
        )
    rest, held_out = split_questions(questions, seed=seed)
    train, dev = split_questions(rest, _DEV, seed=seed)
    return train, dev, held_out


def _records(questions: Sequence[Question]) -> dict[str, Any]:
    """Return questions in the format of the shipped ones, so that they can be read, edited and given again."""
    return {
        question.id: {
            "ambiguous_question": question.question,
            "ambiguity": question.ambiguity,
            "reason": question.reason,
            "qa_pairs": [
                {"question": one.question, "short_answers": list(one.short_answers), "pid": one.pid}
                for one in question.readings
            ],
            "annotations": [{"long_answer": text} for text in question.long_answers],
        }
        for question in questions
    }


def _shipped_places(program: str, out: Path) -> list[Path]:
    """Return the folders of the shipped artifacts of a program, but for the one that is being made."""
    places = [compiled_home() / name for name in artifact_names()]
    return [
        place for place in places if place.resolve() != out.resolve() and read_artifact(place).card.program == program
    ]


def _shipped(
    places: Sequence[Path],
    made: Made,
    held_out: Sequence[Question],
    index: ColBERTIndex,
    lm: dspy.LM,
    reader: str,
    threads: int,
    progress: Callable[[int], Progress],
) -> list[Shipped]:
    """Evaluate the shipped artifacts of the same program."""
    found: list[Shipped] = []
    for place in places:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that its demos are about other passages is the point
            ready = load(place, index=index)
        run = evaluate(
            ready,
            held_out,
            lm=lm,
            name=f"shipped-{place.name}",
            runs=made.path / ".work",
            scorer=make_scorer(reader, None),
            threads=threads,
            progress=progress,
        )
        assert made.test_runs is not None
        found.append(Shipped(place.name, run, compare_runs(made.test_runs[0], run, headline="dr").metrics["dr"]))
    return found
