"""The lenient types by name: how each is read alone, and as a field of a reply."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import dspy

from polyqa.replies import (
    parse_ambiguity_types,
    parse_answers,
    parse_grade,
    parse_interpretations,
    parse_numbers,
    parse_questions,
    parse_support,
    parse_usefulness,
    parse_yes_no,
)
from polyqa.signatures import (
    CritiqueSegment,
    DetectAnswers,
    ExtractInterpretations,
    GradePassage,
    InferPseudoInterpretations,
    MatchInterpretations,
    TypeAmbiguity,
    VerifyInterpretation,
)


@dataclass(frozen=True)
class Kind:
    """A lenient type: its parser, and a field of a signature that has the type."""

    parse: Callable[[Any], Any]
    signature: type[dspy.Signature]
    name: str
    others: Mapping[str, str] = field(default_factory=dict)

    def reply(self, text: str) -> Any:
        """Parse a reply of ChatAdapter's format, the way `dspy.Predict` does."""
        fields = {**self.others, self.name: text, "completed": ""}
        reply = "\n\n".join(f"[[ ## {name} ## ]]\n{value}" for name, value in fields.items())
        return dspy.ChatAdapter().parse(self.signature, reply)[self.name]


KINDS = {
    "questions": Kind(parse_questions, InferPseudoInterpretations, "pseudo_interpretations"),
    "interpretations": Kind(parse_interpretations, ExtractInterpretations, "interpretations"),
    "types": Kind(parse_ambiguity_types, TypeAmbiguity, "ambiguity_types", {"reason": "The name is shared."}),
    "yes or no": Kind(parse_yes_no, VerifyInterpretation, "answerable"),
    "numbers": Kind(parse_numbers, MatchInterpretations, "covered"),
    "answers": Kind(parse_answers, DetectAnswers, "answers"),
    "grade": Kind(parse_grade, GradePassage, "grade"),
    "support": Kind(parse_support, CritiqueSegment, "support", {"usefulness": "5"}),
    "mark": Kind(parse_usefulness, CritiqueSegment, "usefulness", {"support": "No"}),
}
