"""Trains what is added to the local model for verifying findings: ``python -m lab.training.train_verifier --help``.

A GPU does it in three minutes (H100, 30,000 tokens a second); a machine without one would take days.
"""

import json
import math
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import torch.nn.functional as F
import typer
from numpy.typing import NDArray

from lab.results import JsonFile, Measured, Table, report, today
from lab.wordings import areas, interval
from polyqa.lm.adapter import LeanAdapter
from polyqa.models.gguf import model_file
from polyqa.programs.finding_examples import finding_demos
from polyqa.signatures import VerifyFinding

from .commands import Seed, draw_curve, run_command
from .findings import Labelled, read_findings
from .loop import LOG
from .qwen2 import Lora, last_states, load_gguf, packed

_LENGTH, _ROWS = 2048, 4  # tokens of a row, rows of a step: about 90 findings
_RANK, _ALPHA, _DROPOUT = 8, 16.0, 0.05
_WARMUP = 20  # steps
_LEAST = 0.05  # of the highest rate, at the end


class Way(StrEnum):
    """How the model is asked."""

    EXAMPLES = "ten examples in the prompt"
    PLAIN = "no examples"
    TRAINED = "no examples, trained weights"


class Prompts:
    """Tokens of the program's prompt: what all findings share, and what each adds."""

    def __init__(self, path: Path) -> None:
        from transformers import AutoTokenizer

        self._tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
        messages = self._messages("", "")
        self.prefix = self._ids(messages[:1])
        shown = self._messages("", "", finding_demos(VerifyFinding))
        self.prefix_with_examples = self._ids(shown[:-1])
        self.yes, self.no = (self._tokenizer.encode(label)[0] for label in ("Yes", "No"))

    def ids(self, question: str, finding: str) -> list[int]:
        """Return the tokens of a finding, without the prefix."""
        return self._ids(self._messages(question, finding), add_generation_prompt=True)[len(self.prefix) :]

    def _messages(self, question: str, finding: str, demos: Sequence[dict[str, Any]] = ()) -> list[dict[str, Any]]:
        inputs = {"question": question, "finding": finding}
        messages: list[dict[str, Any]] = LeanAdapter().format(VerifyFinding, list(demos), inputs)
        return messages

    def _ids(self, messages: Sequence[dict[str, Any]], **settings: Any) -> list[int]:
        ids: list[int] = self._tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False, **settings)
        return ids


def rate_at(progress: float, step: int, highest: float) -> float:
    """Return the learning rate at a share of the run: a rise over the first steps, then a cosine."""
    return highest * min(1, (step + 1) / _WARMUP) * (_LEAST + (1 - _LEAST) * (1 + math.cos(math.pi * progress)) / 2)


class Verifier:
    """A model with weights in training."""

    def __init__(self, path: Path, device: str) -> None:
        self.prompts = Prompts(path)
        self.shape, self.weights = load_gguf(path, device, torch.bfloat16 if device == "cuda" else torch.float32)
        self.lora = Lora(self.shape, rank=_RANK, alpha=_ALPHA, dropout=_DROPOUT, device=device)

    def logits(
        self, findings: Sequence[Labelled], order: Sequence[int], way: Way = Way.TRAINED
    ) -> Iterator[tuple[Any, Any]]:
        """Yield the logits of all tokens, and which findings they are of."""
        tokens = [self.prompts.ids(one.question, one.finding) for one in findings]
        prefix = self.prompts.prefix_with_examples if way is Way.EXAMPLES else self.prompts.prefix
        for batch in packed(prefix, tokens, order, length=_LENGTH, rows=_ROWS):
            states = last_states(self.shape, self.weights, batch, self.lora if way is Way.TRAINED else None)
            yield states.float() @ self.weights["output.weight"].float().T, batch.examples

    def train(self, findings: Sequence[Labelled], folder: Path, *, epochs: int, rate: float, seed: int) -> None:
        """Train on findings; each step's loss and rate are logged."""
        chance, started = random.Random(seed), time.monotonic()
        device = self.weights["output.weight"].device
        labels = torch.tensor([self.prompts.yes if one.right else self.prompts.no for one in findings])
        counts = torch.tensor([one.weight for one in findings])
        optimizer = torch.optim.AdamW(self.lora.parameters(), betas=(0.9, 0.98), weight_decay=0.0)
        step, seen = 0, 0
        self.lora.train()
        with (folder / LOG).open("w", encoding="utf-8") as log:
            for _ in range(epochs):
                order = chance.sample(range(len(findings)), len(findings))
                for logits, which in self.logits(findings, order):
                    weight = counts[which].to(device)
                    losses = F.cross_entropy(logits, labels[which].to(device), reduction="none")
                    loss = (losses * weight).sum() / weight.sum()
                    loss.backward()
                    norm = torch.nn.utils.clip_grad_norm_(self.lora.parameters(), 1.0)
                    for group in optimizer.param_groups:
                        group["lr"] = rate_at(seen / (epochs * len(findings)), step, rate)
                    if torch.isfinite(norm):  # attention with a mask gives NaN once in some hundred steps on the GPU
                        optimizer.step()
                    optimizer.zero_grad()
                    step, seen = step + 1, seen + len(which)
                    row = {"seen": step, "loss": loss.item(), "rate": group["lr"]}
                    log.write(json.dumps({**row, "seconds": round(time.monotonic() - started, 1)}) + "\n")

    def odds(self, findings: Sequence[Labelled], way: Way) -> NDArray[np.float64]:
        """Return the log odds of Yes for each finding."""
        self.lora.eval()
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


def measured(
    held: Sequence[Labelled], odds: Mapping[Way, NDArray[np.float64]], trained_on: int, model: str
) -> Measured:
    """Return the table as the documents show it."""
    return Measured(
        about=(
            f"AUC of the probability of Yes, right findings against wrong ones; local/{model}, trained on "
            f"{trained_on:,} findings of other questions; intervals over questions; {today()}."
        ),
        command=(
            "python -m lab.training.train_verifier --train train.jsonl --evaluate held.jsonl --out runs/verifier "
            f"--model {model}"
        ),
        tables={"": compared(held, odds)},
    )


def main() -> None:
    """Run the command line."""

    def command(
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
        path, findings = model_file(model), read_findings(train)
        held = [] if evaluate is None else read_findings(evaluate)
        verifier = Verifier(path, "cuda" if torch.cuda.is_available() else "cpu")
        verifier.train(findings, out, epochs=epochs, rate=rate, seed=seed)
        verifier.lora.write(out / "lora.gguf", "polyqa verify-finding")
        draw_curve(out / LOG, out / "curve.svg", "Verifier of findings")
        if not held:
            return
        told = measured(held, {way: verifier.odds(held, way) for way in Way}, len(findings), path.stem)
        report(told, json_file)

    run_command(lambda: typer.run(command))


if __name__ == "__main__":
    main()
