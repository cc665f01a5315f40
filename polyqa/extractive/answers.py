"""From the reader's span to a whole answer: "18 February 1925", not "February 1925" of it or a clause around it."""

from polyqa.models import Span

from .answer_kinds import answer_kind
from .grammar import DATE

_MARKS = " .,;:"
_PAIRS = (("(", ")"), ("“", "”"), ("[", "]"))


def whole_answer(question: str, text: str, span: Span) -> str:
    """Return the answer that a span of a text stands for.

    Marks at its ends go, and brackets or quotation marks without their other half. A date of which the span holds a
    part is completed, and what stands around a single date goes where a time is asked for.
    """
    answer = _balanced(span.text.strip(_MARKS))
    return (_date(text, span) or answer) if answer_kind(question) == "time" else answer


def _balanced(answer: str) -> str:
    for left, right in _PAIRS:
        if answer.count(left) > answer.count(right):
            before, _, after = answer.rpartition(left)
            answer = before if len(before) > len(after) else after
        elif answer.count(right) > answer.count(left):
            before, _, after = answer.partition(right)
            answer = before if len(before) > len(after) else after
    if answer.count('"') % 2:
        answer = answer.replace('"', "")
    if answer.endswith(("'", "’")) and not answer.startswith(("'", "‘")):
        answer = answer[:-1]
    return answer.strip(_MARKS)


def _date(text: str, span: Span) -> str:
    touched = [match[0] for match in DATE.finditer(text) if match.start() < span.end and match.end() > span.start]
    return touched[0] if len(touched) == 1 else ""
