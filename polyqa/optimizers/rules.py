"""DSPy's InferRules: a language model says which rules labelled examples follow, and the best rules on dev stay."""

import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError

from polyqa.replies.text import parse_lines

from .labels import Demo

_EXAMPLES = 10
_PASSAGES = frozenset({"passages", "passage", "document"})


class WriteRules(dspy.Signature):
    """Say which rules the outputs of these examples follow, so that others can do the task the same way.

    Give short rules of one sentence each that hold for all examples: what an output contains, how long it is, how it is
    worded. Name no subject of an example.
    """

    examples: str = dspy.InputField(desc="examples of a task: inputs and the right outputs")
    rules: str = dspy.OutputField(desc="the rules, one a line")


class LabelledRules(dspy.InferRules):
    """InferRules that learns from labels, and whose candidates do not share their instructions.

    DSPy's own (3.4) shows the rule writer the training examples as they are, which are questions without answers here;
    it writes rules into a signature's class, which all copies of a program have in common, so that the program that it
    returns has the rules of the last candidate and not of the best; and the language model that answers writes them.
    Passages are left out of the examples: ten of them do not fit into a small model's context.

    Parameters
    ----------
    labelled
        Examples for the predictors, by name.
    program
        Whose predictors these are. One without examples keeps its instructions.
    writer
        The language model that writes the rules.
    settings
        Of `dspy.InferRules`, such as ``num_candidates``. It takes ``num_rules`` rules at most.
    """

    def __init__(
        self,
        labelled: Mapping[str, Sequence[Demo]],
        program: dspy.Module,
        writer: dspy.LM,
        *,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self.rules_induction_program = dspy.Predict(WriteRules)
        self._writer, self._draw = writer, random.Random(seed)
        self._tried: list[dict[str, Any]] = []
        self._demos = {name: one.demos for name, one in program.named_predictors()}
        self._labelled = {frozenset(one.signature.fields): labelled[name] for name, one in program.named_predictors()}

    def compile(self, student: dspy.Module, **sets: Any) -> dspy.Module:
        """See `dspy.InferRules.compile`; what was tried stays on the program, as other optimizers leave it."""
        best: dspy.Module = super().compile(student, **sets)
        best.candidate_programs = self._tried
        return best

    def _train(self) -> dspy.Module:
        """Return the student with its own demos, which DSPy takes from it, where it makes none."""
        student: dspy.Module = super()._train()
        for name, predictor in student.named_predictors():
            predictor.demos = predictor.demos or self._demos[name]
        return student

    def evaluate_program(self, program: dspy.Module, dataset: Any) -> float:
        """Return the score of a candidate in per cent."""
        score: float = super().evaluate_program(program, dataset)
        self._tried.append({"program": program, "score": score})
        return score

    def get_predictor_demos(self, trainset: Any, predictor: dspy.Predict) -> list[Demo]:
        """Return the labelled examples of a predictor, without passages."""
        labelled = self._labelled[frozenset(predictor.signature.fields)][:_EXAMPLES]
        return [{name: value for name, value in demo.items() if name not in _PASSAGES} for demo in labelled]

    def induce_natural_language_rules(self, predictor: dspy.Predict, trainset: Any) -> str:
        """Return the rules for a predictor; none where there is nothing to learn from, or the writer writes none."""
        examples = self.format_examples(self.get_predictor_demos(trainset, predictor), predictor.signature)
        if examples:
            lm = self._writer.copy(rollout_id=self._draw.randint(0, 10**9), temperature=1.0)
            with dspy.context(lm=lm), suppress(AdapterParseError):
                rules = parse_lines(self.rules_induction_program(examples=examples).rules)
                return "\n".join(f"- {rule}" for rule in rules[: self.num_rules])
        return ""

    def update_program_instructions(self, predictor: dspy.Predict, natural_language_rules: str) -> None:
        """Give one predictor the rules, and no other that has its signature."""
        if natural_language_rules:
            told = f"{predictor.signature.instructions}\n\nFollow these rules:\n{natural_language_rules}"
            predictor.signature = predictor.signature.with_instructions(told)
