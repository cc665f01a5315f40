"""What a question costs with demos: tokens of every program, with both presets.

python -m lab.tokens [--program NAME …] [--k 5] [--questions SOURCE] [--limit N] [--json FILE]

Demos are made from the labels of training questions, and each call shows the nearest ones, as the recipe ``knn`` does
it. Only ambiguous questions are counted. Prompts are those that would be sent; the replies are the embedded engine's.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, NamedTuple

import dspy
import typer
from rich.console import Console
from rich.progress import track

import polyqa
from polyqa.colbert_index import ColBERTIndex
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.prompt_parts import PARTS
from polyqa.evaluation.tables import markdown_table
from polyqa.loading import open_index
from polyqa.metrics.gold import Question
from polyqa.optimizers.compiler import shown_demos
from polyqa.optimizers.labels import label_demos
from polyqa.programs import set_knn_demos
from polyqa.programs.base import Preset
from polyqa.programs.registry import REGISTRY

from .results import Part, keep, today, without_folders

_TOKENIZER = "o200k_base"
_PRESETS: tuple[Preset, ...] = ("paper", "lean")


class Published(NamedTuple):
    """Tokens that a paper reports for a question."""

    input_tokens: int
    output_tokens: int


PAPER: Mapping[str, Published] = MappingProxyType(
    {
        "closed-book": Published(913, 123),
        "rac": Published(3_865, 426),
        "toc": Published(12_814, 1_207),
        "diva": Published(7_873, 515),
    }
)
"""Table 4 of DIVA (In et al., 2024): ASQA, GPT-4, with the demos and the 5 passages of its appendix."""


class Row(Part):
    """What a question takes on average.

    Attributes
    ----------
    calls, depth, input_tokens, output_tokens
        See `polyqa.Cost`.
    parts
        Input tokens by `polyqa.evaluation.prompt_parts.PARTS`.
    """

    calls: float
    depth: float
    input_tokens: float
    output_tokens: float
    parts: dict[str, float]


class Tokens(Part):
    """A measurement.

    Attributes
    ----------
    command, date
        What repeats it, and the ISO date.
    questions, index, tokenizer
        How many questions of what, over which index, counted by which tokenizer.
    demos
        Where they are from, and how many a call shows.
    programs
        By name, then by preset.
    """

    command: str
    date: str
    questions: str
    index: str
    tokenizer: str
    demos: str
    programs: dict[str, dict[str, Row]]

    def table(self) -> str:
        """Return the programs as a table in Markdown, beside what their papers report."""
        heads = ["program", "preset", "calls", "depth", "in", "out", *PARTS, "paper in", "paper out"]
        rows = [
            [f"`{name}`", preset, f"{one.calls:.1f}", f"{one.depth:.1f}"]
            + [f"{amount:,.0f}" for amount in (one.input_tokens, one.output_tokens, *(one.parts[p] for p in PARTS))]
            + ([f"{amount:,}" for amount in PAPER[name]] if name in PAPER else ["–", "–"])
            for name, presets in self.programs.items()
            for preset, one in presets.items()
        ]
        return markdown_table(heads, rows)


def measure(program: dspy.Module, questions: list[Question]) -> Row:
    """Count what a program takes for questions."""
    found = polyqa.cost(program, questions, tokenizer_name=_TOKENIZER)
    return Row(
        calls=round(found.calls.mean, 2),
        depth=round(found.depth.mean, 2),
        input_tokens=round(found.input_tokens.mean, 1),
        output_tokens=round(found.output_tokens.mean, 1),
        parts={part: round(amount, 1) for part, amount in found.parts.items()},
    )


def with_demos(name: str, preset: Preset, index: ColBERTIndex, train: list[Question], k: int) -> dspy.Module:
    """Return a program whose calls show the k nearest demos that labels give."""
    program = polyqa.load(name, index=index, preset=preset)
    demos = label_demos(program, train)
    set_knn_demos(program, {own: demos[own] for own in shown_demos(program) if demos[own]}, k)
    return program


def main(
    program: Annotated[
        list[str] | None, typer.Option(help="A program, several times for several; all if not given.")
    ] = None,
    index: Annotated[str, typer.Option(help="Name or path of the index.")] = "homonyms",
    train: Annotated[str, typer.Option(help="Training questions: demos come from here.")] = "homonyms/train",
    questions: Annotated[str, typer.Option(help="Questions, as for polyqa evaluate.")] = "homonyms/dev",
    limit: Annotated[int | None, typer.Option(min=1, help="A random sample of so many questions.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Demos that a call shows.")] = 5,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the table as JSON.")] = None,
) -> None:
    """Count the tokens of programs with demos."""
    opened = open_index(index)
    training = load_questions(train)
    asked = [one for one in load_questions(questions, limit=limit) if len(one.readings) > 1]
    counted: dict[str, dict[str, Row]] = {}
    made = [(name, preset) for name in program or REGISTRY for preset in _PRESETS]
    for name, preset in track(made, "counting", console=Console(stderr=True)):
        counted.setdefault(name, {})[preset] = measure(with_demos(name, preset, opened, training, k), asked)
    source, trained = without_folders(questions), without_folders(train)
    words = [f"--index {opened.name}", f"--train {trained}", f"--questions {source}", f"-k {k}"]
    words += [f"--limit {limit}"] if limit else []
    words += [f"--program {name}" for name in program or ()]
    measured = Tokens(
        command=f"python -m lab.tokens {' '.join(words)}",
        date=today(),
        questions=f"{source}, {len(asked)} ambiguous questions",
        index=f"{opened.name} ({opened.fingerprint})",
        tokenizer=_TOKENIZER,
        demos=f"the {k} nearest of {trained} ({len(training)} questions)",
        programs=counted,
    )
    typer.echo(f"{measured.questions}, index {measured.index}, demos: {measured.demos}\n")
    typer.echo(measured.table())
    keep(measured, json_file)


if __name__ == "__main__":
    typer.run(main)
