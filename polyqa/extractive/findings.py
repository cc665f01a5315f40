"""The calls of `polyqa.programs.Spanwise`: which findings hold, and the answer that tells them."""

from polyqa.metrics.text import with_title

from .evidence import Models, best_support
from .prompt import Prompt, PromptPassage, evidence_in

_HOLDS = 0.2  # support


def verify_finding(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``holds``: Yes iff the finding's title and sentence support an answer to the question."""
    title, sentence, _ = _parts(prompt.inputs.get("finding", ""))
    support = best_support(prompt.question, [PromptPassage(1, title, sentence)], models)
    return {"holds": "Yes" if support >= _HOLDS else "No"}


def tell_findings(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``interpretations`` and ``answer``: the question with what the title adds, the sentences one by one."""
    readings, told = [], []
    for finding in evidence_in(prompt.inputs.get("findings", "")):
        title, sentence, answer = _parts(f"{finding.title} | {finding.text}")
        question = with_title(prompt.question, title)
        readings.append({"question": question, "answer": answer, "pid": str(finding.number)})
        told.append(sentence)
    return {"interpretations": readings, "answer": " ".join(dict.fromkeys(told))}


def _parts(finding: str) -> tuple[str, str, str]:
    """Return title, sentence and answer of a finding's line; a passage may have no title."""
    head, _, answer = finding.rpartition(" | ")
    title, mark, sentence = head.partition(" | ")
    return (title, sentence, answer) if mark else ("", head, answer)
