"""Makes more training data for the reader: ``python -m lab.training.reader_data --help``.

Four ways, all with files of SQuAD 2.0's format as the result. ``long-answers``: the readings of an
ambiguous question over the long answer that people wrote to it, which holds the answers of the other
readings too. ``pairs``: questions with the sentence that answers them but without a marked answer; a
reader marks it, and what it is unsure of is left out. ``unanswerable``: answerable questions that a rule
changed so that their paragraph does not answer them. ``paragraphs``: larger question sets, kept one record a line.
"""

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from polyqa.colbert_index.bm25 import nearest_by_words
from polyqa.metrics.text import sentence_at
from polyqa.models.reader import EMBEDDED_READER, Reader

from . import commands
from .paragraphs import read_paragraphs
from .questions import Asked, drawn, read_pairs, read_questions, stems
from .squad import Example, read_squad, split_by_article, write_squad
from .unanswerable import repeated, twisted_examples

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


def over_sentences(
    pairs: Sequence[tuple[str, str]], marked: Sequence[tuple[int, str] | None], seed: int
) -> list[Example]:
    """Return each question over its sentence between the two that share most words with it.

    Parameters
    ----------
    pairs
        Questions and the sentences that answer them.
    marked
        Where the answer stands in the sentence; ``None`` leaves the pair out.
    """
    chance = random.Random(seed)
    texts = list(dict.fromkeys(sentence for _, sentence in pairs))
    near = nearest_by_words(texts, [question for question, _ in pairs], 6)
    examples = []
    for number, ((question, sentence), place, hits) in enumerate(zip(pairs, marked, near, strict=True)):
        if place is None:
            continue
        start, answer = place
        others = [texts[hit] for hit in hits if texts[hit] != sentence and answer.lower() not in texts[hit].lower()][:2]
        parts = [*others, sentence]
        chance.shuffle(parts)
        before = sum(len(part) + 1 for part in parts[: parts.index(sentence)])
        examples.append(
            Example(f"pair-{number}", question, " ".join(parts), ((before + start, answer),), f"pair-{number}")
        )
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


@app.command("pairs")
def sentence_pairs(
    pairs: Annotated[Path, typer.Option(help="JSONL with question and passage (the answering sentence).")],
    out: commands.SquadOut,
    reader: Annotated[str, typer.Option(help="Reader that marks the answers.")] = EMBEDDED_READER,
    share: Annotated[float, typer.Option(help="Share of the pairs that is kept, the surest first.")] = 0.7,
    most: commands.Most = None,
    seed: commands.Seed = 0,
) -> None:
    """Questions over their answering sentence, marked by a reader."""
    found = read_pairs(pairs)
    readings = Reader(reader, precision="auto").read(found, keep=2)
    # The lead of the best span over the next, not its score: long questions score low everywhere.
    leads = [
        (own.spans[0].score - own.spans[1].score if len(own.spans) > 1 else 0.0) if own.spans else float("-inf")
        for own in readings
    ]
    least = sorted(leads, reverse=True)[: max(1, int(share * len(leads)))][-1]
    marked = [
        (own.spans[0].start, own.spans[0].text) if own.spans and lead >= least else None
        for own, lead in zip(readings, leads, strict=True)
    ]
    examples = drawn(over_sentences(found, marked, seed), most, seed)
    write_squad(examples, out)
    typer.echo(f"{len(examples)} of {len(found)} pairs → {out}")


@app.command("unanswerable")
def unanswerable(
    questions: Annotated[list[Path], typer.Option("--questions", help="SQuAD 2.0 training file; repeat for more.")],
    out: commands.SquadOut,
    share: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of the answerable questions that is tried.")
    ] = 0.6,
    copies: Annotated[
        int, typer.Option(min=0, help="How often the unanswerable questions that people wrote go into the file, too.")
    ] = 0,
    seed: commands.Seed = 0,
) -> None:
    """Answerable questions with a name, year or word exchanged, so that their paragraph holds no answer."""
    found = [example for path in questions for example in read_squad(path)]
    made = twisted_examples(found, share, seed)
    again = list(repeated(found, copies))
    write_squad([*made, *again], out)
    typer.echo(f"{len(made)} changed questions and {len(again)} copies of people's → {out}")


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
