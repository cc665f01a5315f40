"""From the reader's span to a whole answer: "18 February 1925", not "February 1925" of it or a clause around it."""

import re

from polyqa.metrics.text import content_words, sentences
from polyqa.models import Span

from .answer_kinds import answer_kind
from .grammar import DATE

_MARKS = " .,;:"
_AROUND = "\"'`,;:.!?“”‘’«»"
_CLOSING = {")": "(", "]": "[", ">": "<"}
_CODE = re.compile(r"\w_\w|[$~=\\]|^[^\w/]*--?[a-z]|/.*/|^\W*/\w")
_PAIRS = (("(", ")"), ("“", "”"), ("[", "]"))


_NAME = r"[^;:.]{1,40}: "
_ROW = re.compile(
    rf"(?:(?<=\. )|\A){_NAME}[^;]{{1,300}}?(?:; {_NAME}[^;]{{1,300}}?)+(?=\.(?: {_NAME}[^;]{{1,300}}; {_NAME}|\s*\Z))"
)
_FIELD = re.compile(r"(?:(?<=; )|\A)([^;:]{1,40}): ([^;]+)")


def within_a_sentence(question: str, text: str, span: Span) -> Span:
    """Return the part of a span that is in one sentence; of the rows of a table, a single value.

    The reader sometimes begins in one sentence or row and ends in another. Of several sentences the one with the
    fewest words counts: it is a name or a date, not a clause. Of rows, ``name: Rain gauge; price: 78 euros``, the one
    with most of the question's words counts, and of its values the one whose column the question names.

    >>> row = "name: Bell; price: 9 euros. name: Rain gauge; price: 78 euros."
    >>> within_a_sentence("What price has the rain gauge?", row, Span(row[19:61], 19, 61, 1.0)).text
    '78 euros'
    """
    if not re.search(r"[.!?。！？;]", span.text[:-1]):
        return span
    question_words = set(content_words(question))
    rows = [row for row in _ROW.finditer(text) if row.start() < span.end and row.end() > span.start]
    if rows and rows[0].start() <= span.start:
        row = max(rows, key=lambda one: len(question_words & set(content_words(one[0]))))
        values = [
            (field[1], row.start() + field.start(2), row.start() + field.end(2)) for field in _FIELD.finditer(row[0])
        ]
        touched = [value for value in values if value[1] < span.end and value[2] > span.start]
        if touched:
            _, start, end = max(touched, key=lambda value: len(question_words & set(content_words(value[0]))))
            return _between(text, start, end, span)
    ends = [(max(one.start, span.start), min(one.end, span.end)) for one in sentences(text)]
    parts = [(start, end) for start, end in ends if content_words(text[start:end])]
    return _between(text, *min(parts, key=lambda one: len(text[slice(*one)].split())), span) if len(parts) > 1 else span


def _between(text: str, start: int, end: int, span: Span) -> Span:
    part = text[start:end].rstrip()
    return Span(part, start, start + len(part), span.score)


def whole_answer(question: str, text: str, span: Span) -> str:
    """Return the answer that a span of a text stands for.

    Marks at its ends go, and brackets or quotation marks without their other half. A path, a name of a program or an
    option of which the span holds a part is completed. So is a date, and what stands around a single one goes where a
    time is asked for.

    >>> text = "It is $XDG_CONFIG_HOME/zim/style.conf, see --help-all."
    >>> whole_answer("Where is it?", text, Span("HOME/zim/style", 18, 32, 1.0))
    '$XDG_CONFIG_HOME/zim/style.conf'
    """
    answer = _balanced(_with_whole_code(text, span).strip(_MARKS))
    return (_date(text, span) or answer) if answer_kind(question) == "time" else answer


def _with_whole_code(text: str, span: Span) -> str:
    start, end = span.start, span.end
    for run in re.finditer(r"\S+", text):
        if run.start() < span.end and run.end() > span.start and _CODE.search(run[0]):
            core = run[0].strip(_AROUND).lstrip("([<")
            while core[-1:] in _CLOSING and core.count(core[-1]) > core.count(_CLOSING[core[-1]]):
                core = core[:-1].rstrip(_AROUND)
            core = core.lstrip(_AROUND)
            begin = run.start() + run[0].index(core)
            start, end = min(start, begin), max(end, begin + len(core))
    return text[start:end]


def _balanced(answer: str) -> str:
    for left, right in _PAIRS:
        opened, closed = answer.count(left), answer.count(right)
        if opened != closed:
            before, _, after = answer.rpartition(left) if opened > closed else answer.partition(right)
            answer = before if len(before) > len(after) else after
    if answer.count('"') % 2:
        answer = answer.replace('"', "")
    if answer.endswith(("'", "’")) and not answer.startswith(("'", "‘")):
        answer = answer[:-1]
    return answer.strip(_MARKS)


def _date(text: str, span: Span) -> str:
    touched = [match[0] for match in DATE.finditer(text) if match.start() < span.end and match.end() > span.start]
    return touched[0] if len(touched) == 1 else ""
