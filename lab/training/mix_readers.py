"""Averages two readers: ``python -m lab.training.mix_readers --help``.

The weights of two models that were fine-tuned one from the other lie in one valley; their mean is a little better
than either. The word embeddings, half of all weights, are those of the sentence encoder, so that they need not be
shipped again: training moves them by 3% of their length, which the layers above do not miss. Those of positions and
of the two texts' types move by 7% and 20%, and without that the reader loses 5 points of F1.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

from polyqa.base.errors import PolyqaError
from polyqa.models.compact import encoder_weights

from .backbone import load_for_training
from .commands import run_command, write_report
from .squad import read_squad
from .train_reader import Calibrate, EvalFiles, write_and_measure


def mixed(first: Mapping[str, Any], second: Mapping[str, Any], share: float) -> dict[str, Any]:
    """Return ``share · first + (1 − share) · second``, with the encoder's word embeddings.

    Raises
    ------
    PolyqaError
        If these are no weights of one architecture, or not of the encoder's.
    """
    own = {name: weight for name, weight in encoder_weights().items() if ".word_embeddings." in name}
    shapes = [{name: tuple(weight.shape) for name, weight in model.items()} for model in (first, second)]
    if shapes[0] != shapes[1] or any(shapes[0].get(name) != tuple(weight.shape) for name, weight in own.items()):
        raise PolyqaError("The two readers, and the sentence encoder, must have the same layers.")
    average = {name: share * first[name].float() + (1 - share) * second[name].float() for name in first}
    return average | {name: weight.float() for name, weight in own.items()}


def main(
    first: Annotated[str, typer.Option(help="Folder of a reader.")],
    second: Annotated[str, typer.Option(help="Folder of the reader that was trained from it.")],
    out: Annotated[Path, typer.Option(help="Folder to write: model/ (float16), shipped/ (int8), report.json.")],
    share: Annotated[float, typer.Option(min=0.0, max=1.0, help="Weight of the first.")] = 0.3,
    evaluate: EvalFiles = [],  # noqa: B006 - typer makes a list of its own
    calibrate: Calibrate = None,
) -> None:
    """Average two readers, write and measure the result; without --calibrate its null threshold is 0."""
    models = [load_for_training(AutoModelForQuestionAnswering, name, dropout=0.0) for name in (first, second)]
    models[1].load_state_dict(mixed(models[0].state_dict(), models[1].state_dict(), share))
    held = read_squad(calibrate) if calibrate else []
    settings = {"first": Path(first).name, "second": Path(second).name, "share": share}
    tokenizer = AutoTokenizer.from_pretrained(second)
    report = {"settings": settings} | write_and_measure(models[1], tokenizer, out, held, evaluate)
    write_report(report, out)
    typer.echo(json.dumps(report, indent=2))


if __name__ == "__main__":
    run_command(lambda: typer.run(main))
