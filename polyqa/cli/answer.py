"""`polyqa answer`: many questions in, a file of complete answers out."""

import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyqa.base.errors import PolyqaError
from polyqa.base.text import counted

from . import options
from .display import at_work, confirming
from .errors import NOTHING_DONE, WITH_FAILURES
from .terminal import say

if TYPE_CHECKING:
    from polyqa.batch import Answered, Asked
    from polyqa.costing import Estimate
    from polyqa.language_models import Models

_SAMPLE = 5  # questions by which the cost is estimated


@options.takes_language_models("prompt_lm")
def answer_command(
    context: typer.Context,
    questions: Annotated[
        str,
        typer.Argument(
            help="A .txt file with a question on each line; a file of objects or rows with a question (and an id): "
            ".jsonl, .json, .csv, .tsv, .parquet, .arrow, or .gz; a folder; FILE@SPLIT; or hub:NAME."
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="File for the answers, such as answers.jsonl.")],
    program: options.Program = None,
    index: options.Index = None,
    split: options.Split = None,
    where: options.Where = None,
    models: options.LanguageModels = options.EMBEDDED,
    passages: options.Passages = None,
    sets: options.Settings = None,
    min_confidence: options.MinConfidence = None,
    at_once: Annotated[
        int | None,
        options.more(
            metavar="N",
            min=1,
            help="Questions answered at the same time, on Ray by each worker: 32, with the embedded engine 4, with "
            "--lm local as many as it has slots.",
        ),
    ] = None,
    max_calls: options.MaxCalls = None,
    engine: options.Engine = "local",
    workers: options.Workers = 2,
    address: options.Address = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Start over and replace the file.")] = False,
    mlflow: options.Mlflow = None,
    yes: options.Yes = False,
) -> None:
    """Answer many questions into a file, one line each.

    Run the same command again to resume, to answer questions added to the file, and to repeat failed ones. Exit code 3
    if some questions failed, 2 if all did.
    """
    from polyqa.batch import Batch, answer_many
    from polyqa.batch.answering import unanswered
    from polyqa.batch.asked import read_asked
    from polyqa.loading import default_program
    from polyqa.question_sets import Questions

    cluster = options.cluster(context, engine, workers, address)
    if cluster is not None and mlflow is not None:
        raise PolyqaError("Workers of a cluster send no traces: leave out --mlflow or --engine ray.")
    answering = models.models()
    program = program or default_program(answering.lm)
    options.tell_engine(program, str(answering.lm))
    settings = options.program_settings(program, passages, sets)
    chosen = {"where": where, **settings}
    source = Questions(questions, split=split)
    asked_questions = read_asked(source)
    say(f"read {counted(len(asked_questions), 'question')}, with ids such as {asked_questions[0].id!r:.100}", err=True)
    unanswered_questions = asked_questions if overwrite else unanswered(asked_questions, out)
    if unanswered_questions and not yes:
        expected = _expected(unanswered_questions, program, answering, {"index": index, **chosen})
        if expected is not None and not confirming(yes)(expected):
            raise typer.Exit(NOTHING_DONE)
    with at_work(mlflow, overwrite=overwrite):
        answered = answer_many(
            source,
            out,
            program=program,
            index=index,
            models=answering,
            min_confidence=min_confidence,
            batch=Batch(at_once, max_calls, cluster, overwrite=overwrite),
            **chosen,
        )
    _report(answered)


def _expected(
    asked_questions: "list[Asked]", program: str, models: "Models", chosen: dict[str, Any]
) -> "Estimate | None":
    """Return what the questions are expected to cost; ``None`` if only this machine is asked, which is free.

    Those that cannot be asked, such as empty ones, cost nothing: each fails alone.
    """
    from polyqa.asking import can_be_asked
    from polyqa.costing import Estimate, cost
    from polyqa.extractive import MODEL_NAME
    from polyqa.language_models import LOCAL, RECORDED

    lms = [str(lm) for lm in (models.lm, models.helper_lm) if lm is not None]
    if all(lm == MODEL_NAME or f"{lm}/".startswith((f"{LOCAL}/", RECORDED)) for lm in lms):
        return None
    questions = [item.question for item in asked_questions if can_be_asked(item.question)]
    if not questions:
        return None
    sample = random.Random(0).sample(questions, min(_SAMPLE, len(questions)))
    each = cost(program, question=sample, lm=str(models.lm), helper_lm=models.helper_lm, **chosen)
    return Estimate([(len(questions), each)])


def _report(answered: "Answered") -> None:
    took, failed = answered.took, answered.failed
    parts = [counted(took.calls, "call"), f"{took.input_tokens + took.output_tokens:,} tokens"]
    if answered.dollars:
        parts.append(f"${answered.dollars:,.2f}")
    standings = Counter(outcome.standing for outcome in answered.outcomes.values())
    standing_words = {"unsure": "not sure", "unanswered": "not answered"}
    apart = ", ".join(
        f"{standings[standing]:,} {words}" for standing, words in standing_words.items() if standings[standing]
    )
    answers = counted(len(answered) - len(failed), "answer") + f" ({apart})" * bool(apart)
    say(f"{answered.path}: {answers}, {', '.join(parts)}", err=True)
    if failed:
        id, why = next(iter(failed.items()))
        say(
            f"{len(failed)} of {counted(len(answered), 'question')} failed, the first one {id!r}: {why[:300]} The same "
            "command asks them again.",
            err=True,
        )
        raise typer.Exit(NOTHING_DONE if len(failed) == len(answered) else WITH_FAILURES)
