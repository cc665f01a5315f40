"""Makes more training data for reader and writer: ``python -m lab.training.reader_data --help``.

The result is a file of SQuAD 2.0's format. ``long-answers``: the readings of an ambiguous question over the long answer
that people wrote to it, which holds the answers of the other readings too. ``paragraphs``: larger question sets, kept
one record a line. ``held-out``: whole articles of such a file.
"""

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from lab.results import Seed
from polyqa.evaluation.loading import load_questions
from polyqa.metrics.gold import Question
from polyqa.metrics.text import sentence_at, stems

from .commands import run_command
from .rows import wordings
from .squad import Example, read_paragraphs, read_squad, split_by_article, write_squad

app = typer.Typer(help=__doc__, add_completion=False, pretty_exceptions_enable=False)
Out = Annotated[Path, typer.Option(help="SQuAD 2.0 file to write.")]


def over_long_answers(questions: Sequence[Question]) -> list[Example]:
    """Return the readings whose answer stands in the long answer to their question, each asked of it."""
    examples = []
    for question in questions:
        for long_answer in question.long_answers[:1]:
            for number, reading in enumerate(question.readings):
                place = best_place(reading.question, reading.short_answers, long_answer)
                if place is not None:
                    name = f"long-{question.id}-{number}"
                    examples.append(Example(name, reading.question, long_answer, (place,), question.id))
    return examples


def best_place(question: str, answers: Sequence[str], text: str) -> tuple[int, str] | None:
    """Return the answer's occurrence whose sentence shares most with the question.

    Returns
    -------
    (first character, answer as it stands in the text), or None
        The earliest of equals; the first alias that stands in the text at all, as whole words whatever the case.
    """
    asked = stems(question)
    for answer in filter(str.strip, answers):
        found = list(re.finditer(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE))
        if found:
            best = max(found, key=lambda match: len(asked & stems(sentence_at(text, match.start()).text)))
            return best.start(), best.group()
    return None


def without_held_out(questions: Sequence[Question], held_out: Sequence[Question]) -> list[Question]:
    """Return the questions that share neither an id nor the words of a question or reading with a held-out one."""
    held = {text for one in held_out for text in (one.id, *wordings(one))}
    return [one for one in questions if not {one.id, *wordings(one)} & held]


@app.command("long-answers")
def long_answers(
    questions: Annotated[list[Path], typer.Option("--questions", help="ASQA training file; repeat for more.")],
    held_out: Annotated[list[Path], typer.Option(help="Questions to keep out of training; repeat for more.")],
    out: Out,
    most: Annotated[int | None, typer.Option(help="At most so many questions, drawn.")] = None,
    seed: Seed = 0,
) -> None:
    """Readings over the long answer to their ambiguous question."""
    loaded, held = ([one for path in paths for one in load_questions(path)] for paths in (questions, held_out))
    examples = over_long_answers(without_held_out(loaded, held))
    if most is not None and most < len(examples):
        examples = random.Random(seed).sample(examples, most)
    write_squad(examples, out)
    typer.echo(f"{len(examples)} questions over long answers → {out}")


@app.command("paragraphs")
def paragraphs(
    files: Annotated[list[Path], typer.Option("--paragraphs", help="JSONL, gzipped or not; repeat for more.")],
    out: Out,
    least_confidence: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Leave out answers that a machine marked less surely.")
    ] = 0.6,
    translated: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of questions taken as they came back from a translation.")
    ] = 0.75,
    answerable: Annotated[int | None, typer.Option(help="At most so many questions with an answer, drawn.")] = None,
    seed: Seed = 0,
) -> None:
    """Paragraphs with questions, one record a line, as one file."""
    found = [
        example
        for path in files
        for example in read_paragraphs(path, least_confidence=least_confidence, translated=translated, seed=seed)
    ]
    places = [place for place, example in enumerate(found) if example.answers]
    kept = set(random.Random(seed).sample(places, min(len(places), len(places) if answerable is None else answerable)))
    examples = [example for place, example in enumerate(found) if place in kept or not example.answers]
    write_squad(examples, out)
    typer.echo(f"{len(kept)} questions with an answer, {len(examples) - len(kept)} without → {out}")


@app.command("held-out")
def held_out_articles(
    questions: Annotated[list[Path], typer.Option("--questions", help="SQuAD 2.0 training file; repeat for more.")],
    out: Out,
    share: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of the questions, by article.")] = 0.04,
    seed: Seed = 0,
) -> None:
    """Whole articles for `train_reader --calibrate`, which trains on none of them."""
    found = [example for path in questions for example in read_squad(path)]
    _, held = split_by_article(found, share, seed)
    write_squad(held, out)
    typer.echo(f"{len(held)} of {len(found)} questions → {out}")


if __name__ == "__main__":
    run_command(app)
