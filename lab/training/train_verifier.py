"""Trains what is added to the local model for verifying findings: ``python -m lab.training.train_verifier --help``.

A GPU does it in three minutes (H100, 30,000 tokens a second); a machine without one would take days.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import torch.nn.functional as F
import typer
from numpy.typing import NDArray
from transformers import AutoTokenizer

from lab.results import JsonFile, Seed, Table, report
from polyqa.lm.adapter import LeanAdapter
from polyqa.models.gguf import model_file
from polyqa.programs.finding_examples import finding_demos
from polyqa.signatures import VerifyFinding

from .areas import areas, interval
from .commands import draw_curve, run_command
from .findings import Labelled
from .loop import LOG
from .lora import add_lora, fit, last_states, load_gguf, packed, write_lora
from .rows import read_rows

_LENGTH, _ROWS = 2048, 4  # tokens of a row, rows of a step: about 90 findings
_RANK, _ALPHA, _DROPOUT = 8, 16.0, 0.05


class Way(StrEnum):
    """How the model is asked."""

    EXAMPLES = "ten examples in the prompt"
    PLAIN = "no examples"
    TRAINED = "no examples, trained weights"


class Prompts:
    """Tokens of the program's prompt: what all findings share, and what each adds."""

    def __init__(self, path: Path) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
        self.prefix = self._ids(_messages("", "")[:1])
        self.prefix_with_examples = self._ids(_messages("", "", finding_demos(VerifyFinding))[:-1])
        self.yes, self.no = (self.tokenizer.encode(label)[0] for label in ("Yes", "No"))

    def ids(self, question: str, finding: str) -> list[int]:
        """Return the tokens of a finding, without the prefix."""
        return self._ids(_messages(question, finding), add_generation_prompt=True)[len(self.prefix) :]

    def _ids(self, messages: Sequence[dict[str, Any]], **settings: Any) -> list[int]:
        ids: list[int] = self.tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False, **settings)
        return ids


def _messages(question: str, finding: str, demos: Sequence[dict[str, Any]] = ()) -> list[dict[str, Any]]:
    inputs = {"question": question, "finding": finding}
    messages: list[dict[str, Any]] = LeanAdapter().format(VerifyFinding, list(demos), inputs)
    return messages


class Verifier:
    """A model with weights in training."""

    def __init__(self, path: Path) -> None:
        self.prompts = Prompts(path)
        self.device, dtype = ("cuda", torch.bfloat16) if torch.cuda.is_available() else ("cpu", torch.float32)
        self.model = load_gguf(path, self.device, dtype)
        self.added = add_lora(self.model, rank=_RANK, alpha=_ALPHA, dropout=_DROPOUT)

    def logits(
        self, findings: Sequence[Labelled], order: Sequence[int], way: Way = Way.TRAINED
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield the logits of all tokens, and which findings they are of."""
        tokens = [self.prompts.ids(one.question, one.finding) for one in findings]
        prefix = self.prompts.prefix_with_examples if way is Way.EXAMPLES else self.prompts.prefix
        for lora in self.added.values():
            lora.on = way is Way.TRAINED
        for batch in packed(prefix, tokens, order, length=_LENGTH, rows=_ROWS):
            states = last_states(self.model, batch)
            yield states.float() @ self.model.lm_head.weight.float().T, batch.examples

    def train(self, findings: Sequence[Labelled], folder: Path, *, epochs: int, rate: float, seed: int) -> None:
        """Train on findings; see `lora.fit`."""
        labels = torch.tensor([self.prompts.yes if one.right else self.prompts.no for one in findings])
        counts = torch.tensor([one.weight for one in findings])

        def losses() -> Iterator[tuple[torch.Tensor, int]]:
            chance = random.Random(seed)
            for _ in range(epochs):
                for logits, which in self.logits(findings, chance.sample(range(len(findings)), len(findings))):
                    weight = counts[which].to(self.device)
                    each = F.cross_entropy(logits, labels[which].to(self.device), reduction="none")
                    yield (each * weight).sum() / weight.sum(), len(which)

        fit(self.model, losses(), epochs * len(findings), folder / LOG, rate)

    def odds(self, findings: Sequence[Labelled], way: Way) -> NDArray[np.float64]:
        """Return the log odds of Yes for each finding."""
        self.model.eval()
        odds = torch.zeros(len(findings))
        with torch.no_grad():
            for logits, which in self.logits(findings, range(len(findings)), way):
                odds[which] = (logits[:, self.prompts.yes] - logits[:, self.prompts.no]).cpu()
        return odds.double().numpy()


def compared(findings: Sequence[Labelled], odds: Mapping[Way, NDArray[np.float64]]) -> Table:
    """Return for each source how well each way to ask tells right findings from wrong ones, by AUC."""
    sources: dict[str, dict[str, list[int]]] = {}
    for at, one in enumerate(findings):
        sources.setdefault(one.source, {}).setdefault(one.question, []).append(at)
    rows = []
    for source, questions in sources.items():
        right = [np.array([findings[at].right for at in own]) for own in questions.values()]
        cells = [interval(areas([odds[way][own] for own in questions.values()], right)) for way in odds]
        count = sum(map(len, right))
        rows.append([source, str(len(questions)), f"{count:,}", f"{100 * sum(map(sum, right)) / count:.0f}%", *cells])
    return Table(heads=["questions of", "n", "findings", "right", *odds], rows=rows)


def read_labelled(path: Path) -> list[Labelled]:
    """Return the findings of a file; see `rows.read_rows`."""
    return read_rows(path, Labelled, "findings", "lab.training.findings")


def main(
    train: Annotated[Path, typer.Option(help="Findings to train on, made by lab.training.findings.")],
    out: Annotated[Path, typer.Option(help="Folder for the weights, the log and the report.")],
    evaluate: Annotated[Path | None, typer.Option(help="Findings to report on.")] = None,
    model: Annotated[str, typer.Option(help="The language model: a name of polyqa model list, or a file.")] = "",
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the data.")] = 2,
    rate: Annotated[float, typer.Option(help="Highest learning rate.")] = 1.5e-4,
    seed: Seed = 0,
    json_file: JsonFile = None,
) -> None:
    """Train a verifier of findings."""
    torch.manual_seed(seed)
    out.mkdir(parents=True, exist_ok=True)
    path, findings = model_file(model), read_labelled(train)
    held = [] if evaluate is None else read_labelled(evaluate)
    verifier = Verifier(path)
    verifier.train(findings, out, epochs=epochs, rate=rate, seed=seed)
    write_lora(verifier.added, _ALPHA, out / "lora.gguf", "polyqa verify-finding")
    draw_curve(out / LOG, out / "curve.svg", "Verifier of findings")
    if held:
        about = (
            f"AUC of the probability of Yes, right findings against wrong ones; local/{path.stem}, trained on "
            f"{len(findings):,} findings of other questions; intervals over questions"
        )
        report(about, compared(held, {way: verifier.odds(held, way) for way in Way}), json_file)


if __name__ == "__main__":
    run_command(lambda: typer.run(main))
