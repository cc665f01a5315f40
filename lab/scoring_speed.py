"""How fast long answers are scored: batched, against one by one as the official scripts do it.

python -m lab.scoring_speed --questions SOURCE [--limit 948]

The baseline feeds the same reader one (question, long answer) pair at a time, padded to the full window,
and chooses the span with the loops of the Hugging Face question-answering example, which ASQA's official
scorer runs. Both run in one process; the answers must be the same.
"""

import time
from functools import partial
from typing import Annotated, Any

import typer

from polyqa.base.errors import PolyqaError
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.tables import markdown_table
from polyqa.metrics.gold import Question
from polyqa.metrics.long_form import score_long_answers
from polyqa.models import EMBEDDED_READER, Reader
from polyqa.models.compact import reader_path

from .training.weights import load_model

_MAX_LENGTH, _STRIDE, _N_BEST, _LONGEST = 384, 128, 20, 30


def load_official(name: str) -> tuple[Any, Any]:
    """Return the tokenizer and the model of a reader as `transformers` loads them."""
    import torch
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    location = str(reader_path()) if name == EMBEDDED_READER else name
    model = load_model(AutoModelForQuestionAnswering, location, dtype=torch.float32)
    return AutoTokenizer.from_pretrained(location), model.eval()


def read_one_by_one(official: tuple[Any, Any], pairs: list[tuple[str, str]]) -> list[str]:
    """Return the answers by the official script's steps: pad, run one window, loop over starts and ends."""
    return [_read_one(*official, question, context) for question, context in pairs]


def _read_one(tokenizer: Any, model: Any, question: str, context: str) -> str:
    import numpy as np
    import torch

    encoded = tokenizer(
        question.strip(),
        context,
        truncation="only_second",
        max_length=_MAX_LENGTH,
        stride=_STRIDE,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
        padding="max_length",
    )
    null, candidates = None, []
    for window in range(len(encoded["input_ids"])):
        inputs = {
            name: torch.tensor([encoded[name][window]])
            for name in ("input_ids", "attention_mask", "token_type_ids")
            if name in encoded
        }
        with torch.no_grad():
            output = model(**inputs)
        starts, ends = output.start_logits[0].float().numpy(), output.end_logits[0].float().numpy()
        parts = encoded.sequence_ids(window)
        offsets = [
            offset if part == 1 else None for offset, part in zip(encoded["offset_mapping"][window], parts, strict=True)
        ]
        own_null = float(starts[0] + ends[0])
        null = own_null if null is None else min(null, own_null)
        for start in np.argsort(starts)[-1 : -_N_BEST - 1 : -1].tolist():
            for end in np.argsort(ends)[-1 : -_N_BEST - 1 : -1].tolist():
                if offsets[start] is None or offsets[end] is None or not start <= end < start + _LONGEST:
                    continue
                score = float(starts[start] + ends[end])
                candidates.append((score, context[offsets[start][0] : offsets[end][1]]))
    best = max(candidates, default=(float("-inf"), ""), key=lambda found: found[0])
    return "" if null is None or null - best[0] > 0 else best[1]


def run(questions: list[Question], reader: Reader) -> None:
    """Time both ways and print the comparison."""
    answers = [question.long_answers[0] for question in questions]
    pairs = [
        (one.question, text) for question, text in zip(questions, answers, strict=True) for one in question.readings
    ]
    official = load_official(reader.name)
    for warm in (reader.read, partial(read_one_by_one, official)):  # loaded outside the clock, with another pair
        warm([("warm up?", "warm up")])
    started = time.perf_counter()
    batched = [found.answer() for found in reader.read(pairs)]
    reading = time.perf_counter() - started
    started = time.perf_counter()
    scores = score_long_answers(answers, questions, reader)  # the reader remembers what it has just read
    rest = time.perf_counter() - started
    started = time.perf_counter()
    single = read_one_by_one(official, pairs)
    alone = time.perf_counter() - started
    same = sum(a == b for a, b in zip(batched, single, strict=True))
    rows = {"the reader, batched": reading, "ROUGE-L, STR-EM, token F1": rest, "the reader one by one": alone}
    typer.echo(f"{len(questions)} long answers, {len(pairs)} disambiguated questions, reader {reader.name}\n")
    typer.echo(markdown_table(["", "seconds"], ([name, f"{seconds:.1f}"] for name, seconds in rows.items())))
    mean = 100 * sum(score.disambig.f1 for score in scores) / len(scores)
    typer.echo(
        f"\nratio one by one / batched: {alone / reading:.1f}; same answers: {same} of {len(pairs)}; D-F1 {mean:.1f}"
    )


def main(
    questions: Annotated[str, typer.Option(help="Questions with long answers, as for polyqa evaluate.")],
    limit: Annotated[int, typer.Option(help="A random sample of so many questions.")] = 948,
    reader: Annotated[str, typer.Option(help="The reader.")] = EMBEDDED_READER,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
) -> None:
    """Time the scoring of reference answers as if they were a system's."""
    chosen = [one for one in load_questions(questions, seed=seed, limit=limit) if one.long_answers]
    if not chosen:
        raise PolyqaError(f"{questions} has no question with a long answer.")
    run(chosen, Reader(reader))


if __name__ == "__main__":
    typer.run(main)
