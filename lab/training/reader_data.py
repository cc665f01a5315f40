"""Makes more training data for reader and writer: ``python -m lab.training.reader_data --help``.

The result is a file of SQuAD 2.0's format. ``long-answers``: the readings of an ambiguous question over the long answer
that people wrote to it, which holds the answers of the other readings too. ``paragraphs``: larger question sets, kept
one record a line. ``held-out``: whole articles of such a file.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from polyqa.metrics.text import sentence_at

from . import commands
from .paragraphs import read_paragraphs
from .questions import Asked, drawn, read_questions, stems
from .squad import Example, read_squad, split_by_article, write_squad

app = typer.Typer(help=__doc__, add_completion=False, pretty_exceptions_enable=False)


def over_long_answers(questions: Sequence[Asked]) -> list[Example]:
    """Return the readings whose answer stands in the long answer, each asked of it."""
    examples = []
    for number, asked in enumerate(questions):
        if not asked.long_answer or len(asked.answers) != 1:
            continue
        place = best_place(asked.question, asked.aliases, asked.long_answer)
        if place is not None:
            name = f"long-{number}"
            examples.append(Example(name, asked.question, asked.long_answer, (place,), asked.root))
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


@app.command("long-answers")
def long_answers(
    questions: Annotated[list[Path], typer.Option("--questions", help="ASQA training file; repeat for more.")],
    held_out: commands.HeldOut,
    out: commands.SquadOut,
    most: commands.Most = None,
    seed: commands.Seed = 0,
) -> None:
    """Readings over the long answer to their ambiguous question."""
    examples = drawn(over_long_answers(read_questions(questions, held_out)), most, seed)
    write_squad(examples, out)
    typer.echo(f"{len(examples)} questions over long answers → {out}")


@app.command("paragraphs")
def paragraphs(
    files: Annotated[list[Path], typer.Option("--paragraphs", help="JSONL, gzipped or not; repeat for more.")],
    out: commands.SquadOut,
    least_confidence: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Leave out answers that a machine marked less surely.")
    ] = 0.6,
    translated: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of questions taken as they came back from a translation.")
    ] = 0.75,
    answerable: Annotated[int | None, typer.Option(help="At most so many questions with an answer, drawn.")] = None,
    seed: commands.Seed = 0,
) -> None:
    """Paragraphs with questions, one record a line, as one file."""
    found = [
        example
        for path in files
        for example in read_paragraphs(path, least_confidence=least_confidence, translated=translated, seed=seed)
    ]
    kept = set(drawn([place for place, example in enumerate(found) if example.answers], answerable, seed))
    examples = [example for place, example in enumerate(found) if place in kept or not example.answers]
    write_squad(examples, out)
    typer.echo(f"{len(kept)} questions with an answer, {len(examples) - len(kept)} without → {out}")


@app.command("held-out")
def held_out_articles(
    questions: Annotated[list[Path], typer.Option("--questions", help="SQuAD 2.0 training file; repeat for more.")],
    out: commands.SquadOut,
    share: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of the questions, by article.")] = 0.04,
    seed: commands.Seed = 0,
) -> None:
    """Whole articles for `train_reader --calibrate`, which trains on none of them."""
    found = [example for path in questions for example in read_squad(path)]
    _, held = split_by_article(found, share, seed)
    write_squad(held, out)
    typer.echo(f"{len(held)} of {len(found)} questions → {out}")


if __name__ == "__main__":
    commands.run_command(app)
