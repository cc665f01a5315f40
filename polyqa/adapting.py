"""Adapts a program to another corpus: index, training questions, compilation, and what it brought."""

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from polyqa.artifacts.store import artifact_names, compiled_home, read_artifact
from polyqa.colbert_index import ColBERTIndex, build_index, read_corpus
from polyqa.colbert_index.store import index_path
from polyqa.evaluation.comparison import compare_runs
from polyqa.evaluation.progress import display
from polyqa.evaluation.runs import Run, write_atomically
from polyqa.evaluation.statistics import Difference
from polyqa.metrics.gold import Question
from polyqa.optimizers.calls import kept_calls
from polyqa.optimizers.plan import check_measurable
from polyqa.optimizers.recipes import Recipe
from polyqa.question_db import Counts, generate_questions
from polyqa.question_db.training_set import pick_passages, split_questions, training_questions
from polyqa.signatures import Passage, PolyqaError

from .compiling import Budget, Made, check_program, chosen_recipe, compile
from .evaluating import evaluate
from .loading import load
from .models import Models, default_threads, ready_reader, shared_encoder, shared_reader
from .questions import Given, Questions, Sets, as_questions

QUESTIONS, JOURNAL = "questions.json", "generated.jsonl"
_DEV = 0.25  # of the train part: what a recipe picks by
_MOST_CALLS = 1 + 8 + 2 * 8  # per passage: detection, and for eight answers a question and two revisions


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


def adapt(
    corpus: str | Path,
    program: str = "diva",
    *,
    out: str | Path,
    questions: Given | None = None,
    recipe: str | Recipe = "knn",
    models: Models = Models(),
    limit_passages: int | None = None,
    budget: Budget = Budget(),
) -> Adapted | None:
    """Compile a program for a corpus; a stopped adaptation goes on.

    Parameters
    ----------
    corpus
        A file that `polyqa.colbert_index.read_corpus` reads.
    program, recipe
        See `polyqa.compile`.
    out
        The artifact's folder; the index gets the folder's name. The questions that were made are kept in it.
    questions
        Training questions of yours, see `polyqa.evaluate`; made from the corpus if not given.
    models
        What makes the questions and runs the program (``lm``), helps it (``helper_lm``), writes instructions, verifies
        and scores (``reader``).
    limit_passages
        Make questions from so many passages at most (all are indexed).
    budget
        For all steps together. Each long step is confirmed; the seed decides which 40% of the questions are held out
        and reported, a quarter of the rest is dev.

    Raises
    ------
    PolyqaError
        If something given is missing or does not fit, the corpus gives too few questions, or the limit of calls is
        reached.
    """
    passages = read_corpus(corpus)
    out = Path(out)
    lm = models.answering()
    check_program(program)
    writer = models.writing(lm)
    chosen = chosen_recipe(recipe, writer)  # one that does not fit should not cost the making of questions
    given = as_questions(questions) if questions is not None else None
    if given is not None:
        check_measurable("dr", {given.described: given.asked})
    helper = models.helping()
    models = replace(
        models,
        lm=lm,
        helper_lm=helper,
        helper_api_base=None,
        prompt_lm=writer,
        reader=ready_reader(models.reader),
        judge=None,
    )
    budget = replace(budget, threads=budget.threads or default_threads(lm))
    index = ready_index(passages, out.name)
    if helper is not None:
        load(program, index=index, helper_lm=helper)  # one that has nothing to do should not cost it, either
    with kept_calls(out / ".work", budget.max_calls):
        counts: Counts | None = None
        if given is not None:
            every, source = given.asked, given.described
            short = source
        else:
            picked = pick_passages(passages, limit_passages, budget.seed) if limit_passages is not None else passages
            if not budget.confirm(
                f"{len(picked):,} passages, {_MOST_CALLS * len(picked):,} calls to make questions from them"
            ):
                return None
            counts, every = _made_questions(picked, models, out, budget)
            short = Path(corpus).name
            source = f"generated from {short} by {lm.model}: {counts}; {_described(every)}"
        train, dev, held_out = _split(every, budget.seed)
        if given is None:
            out.mkdir(parents=True, exist_ok=True)
            write_atomically(out / QUESTIONS, json.dumps(_records(every), ensure_ascii=False, indent=1) + "\n")
        places = _shipped_places(program, out)
        made = compile(
            program,
            recipe=chosen,
            sets=Sets(
                train=Questions(train, name=source[:500]),
                dev=Questions(dev, name=f"part of train: {short}"[:500]),
                test=Questions(held_out, name=f"held out: {short}"[:500]),
            ),
            out=out,
            models=models,
            budget=replace(budget, max_calls=None, further_runs=len(places) * len(held_out)),
            index=index.path,
        )
        if made is None:
            return None
        shipped = [_shipped(place, made, held_out, index, models, budget.threads) for place in places]
    return Adapted(index, counts, train, dev, held_out, made, shipped)


def ready_index(passages: Sequence[Passage], name: str) -> ColBERTIndex:
    """Return the index of a name that holds exactly these passages; it is built if there is none.

    Raises
    ------
    PolyqaError
        If an index of that name holds other passages.
    """
    path = index_path(name)
    if not path.exists():
        return build_index(passages, name, encoder=shared_encoder(), progress=display().shows)
    index = ColBERTIndex(name)
    if index.passages != list(passages):
        raise PolyqaError(
            f"The index {name!r} holds other passages than this corpus. Choose another --out, or remove {path}."
        )
    return index


def _made_questions(
    passages: Sequence[Passage], models: Models, out: Path, budget: Budget
) -> tuple[Counts, list[Question]]:
    """Return how the questions of some passages were made, and those that training can use."""
    reader = shared_reader(models.reader)
    with display().passages(len(passages)) as step:
        made = generate_questions(
            passages,
            lm=models.lm,
            reader=reader,
            journal=out / ".work" / JOURNAL,
            threads=budget.threads or default_threads(models.lm),
            step=step,
        )
    every = training_questions(made.questions, passages, encoder=shared_encoder(), reader=reader, seed=budget.seed)
    return made.counts, every


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
    place: Path,
    made: Made,
    held_out: Sequence[Question],
    index: ColBERTIndex,
    models: Models,
    threads: int | None,
) -> Shipped:
    """Evaluate a shipped artifact of the same program."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that its demos are about other passages is the point
        ready = load(place, index=index)
    folder = made.path / ".work" / f"shipped-{place.name}"
    run = evaluate(ready, held_out, models=models, folder=folder, threads=threads)
    assert made.test_runs is not None
    return Shipped(place.name, run, compare_runs(made.test_runs[0], run, headline="dr").metrics["dr"])
