"""Rules that labelled examples follow: a language model writes several lists of them, and the best one on dev stays."""

import random
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError

from polyqa.replies.text import parse_lines

from .labels import NO_DEMOS, Demo
from .recipes import Recipe

CANDIDATES, RULES = 10, 10
"""Lists of rules, and rules of a list, if the recipe says nothing else."""
_EXAMPLES = 10
_PASSAGES = frozenset({"passages", "passage", "document"})  # ten do not fit into a small model's context


class WriteRules(dspy.Signature):
    """Say which rules the outputs of these examples follow, so that others can do the task the same way.

    Give short rules of one sentence each that hold for all examples: what an output contains, how long it is, how it is
    worded. Name no subject of an example.
    """

    examples: str = dspy.InputField(desc="examples of a task: inputs and the right outputs")
    rules: str = dspy.OutputField(desc="the rules, one a line")


def search_rules(
    program: dspy.Module,
    recipe: Recipe,
    labelled: Mapping[str, Sequence[Demo]],
    writer: dspy.LM,
    evaluate: dspy.Evaluate,
    seed: int = 0,
) -> dspy.Module:
    """Return the program with the rules that score best; what was tried stays on it, as DSPy's optimizers leave it.

    This is `dspy.InferRules` for labels. That (3.4) shows its writer the training examples as they are, which are
    questions without answers here; it writes into a signature's class, which all copies of a program have in common, so
    that what it returns has the rules of the last candidate; and the language model that answers writes them.

    Parameters
    ----------
    program
        It is not changed.
    recipe
        Its ``settings``: ``num_candidates`` lists are written, of ``num_rules`` rules at most.
    labelled
        Examples for the predictors, by name; one without any keeps its instructions, and there is a warning if all do.
    writer
        The language model that writes the rules.
    evaluate
        Scores a candidate.
    """
    if not any(labelled.values()):
        warnings.warn(NO_DEMOS, stacklevel=2)
        return program
    draw, write, rule_limit = random.Random(seed), dspy.Predict(WriteRules), recipe.number("num_rules", RULES)
    tried: list[dict[str, Any]] = []
    for _ in range(recipe.number("num_candidates", CANDIDATES)):
        candidate = program.deepcopy()
        for name, predictor in candidate.named_predictors():
            examples = "".join(_example(demo, predictor.signature) for demo in labelled[name][:_EXAMPLES])
            if not examples:
                continue
            lm, rules = writer.copy(rollout_id=draw.randint(0, 10**9), temperature=1.0), []
            with dspy.context(lm=lm), suppress(AdapterParseError):
                rules = [f"- {rule}" for rule in parse_lines(write(examples=examples).rules)[:rule_limit]]
            if rules:
                instructions = "\n".join([predictor.signature.instructions, "", "Follow these rules:", *rules])
                predictor.signature = predictor.signature.with_instructions(instructions)
        tried.append({"program": candidate, "score": evaluate(candidate).score})
    best: dspy.Module = max(tried, key=lambda trial: trial["score"])["program"]
    best.candidate_programs = tried
    return best


def _example(demo: Demo, signature: type[dspy.Signature]) -> str:
    inputs, outputs = (
        "\n".join(f"{name}: {value}" for name, value in demo.items() if name in fields and name not in _PASSAGES)
        for fields in (signature.input_fields, signature.output_fields)
    )
    return f"Input Fields:\n{inputs}\n\n=========\nOutput Fields:\n{outputs}\n\n"
