"""Output types that accept what language models really write.

DSPy parses a typed field with ``json_repair`` and hands the outcome to pydantic. The types below
put a validator in front, so that a numbered list, ``DQ 1: … / DA 1: …`` lines, one object where a
list is due, ``Yes.`` or ``[ambsub]`` count as the value they plainly mean. Text that means nothing
still fails, with the text in the message.

They are classes with a schema of their own, as pydantic strips ``Annotated`` from a signature's fields
and with it the validator, and DSPy takes nothing but classes when it copies or loads a signature.
Each is named after the type it stands for, because DSPy shows that name to the language model.
"""

import ast
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import dspy
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from .types import AmbiguityType, Grade, Interpretation, Support

_BULLET = re.compile(r"^\s*(?:[-*•–]\s+|\(?\d{1,3}\s*[.):](?!\d)\s*|\[\d{1,3}\]\s*)")
_QUESTION_LINE = re.compile(r"^\s*(?:[-*•–]\s+)?\**(?:DQ|disambiguated question|question)\s*(\d*)\**\s*[:.]\**", re.I)
_ANSWER_LINE = re.compile(
    r"^\s*(?:[-*•–]\s+)?\**(?:DA|disambiguated answer|short answer|answer)\s*(\d*)\**\s*[:.]\**", re.I
)
_LONG_ANSWER_LINE = re.compile(r"^\s*\**answer\**\s*[:.]", re.I)
_INLINE_TAG = re.compile(r"(?<=\S)[ \t]+(?=\**D[QA][ \t]*\d+\**[ \t]*:)")
_PASSAGE_LINE = re.compile(r"^\s*(?:[-*•–]\s+)?\**(?:pid|passage|source)\s*\d*\**\s*[:.]\**", re.I)
_BETWEEN = re.compile(r"[\s,]*")
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+")
_GRADED = re.compile(r"\d *(?:[-–—]|to|through) *\d|\d\.\d|\b(?:yes|no|not|true|false|but|except)\b", re.I)


def _strip_quotes(text: str) -> str:
    text = text.strip()
    while len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`" and text[0] not in text[1:-1]:
        text = text[1:-1].strip()
    return text


def _decode(text: str) -> Any:
    """Return the JSON or Python literal in ``text`` (a code fence around it is fine), else the text."""
    body = re.sub(r"^```\w*\s*|\s*```$", "", text.strip())
    if body[:1] in "[{":
        for decode in (json.loads, ast.literal_eval, _json_lines, _constructed):
            try:
                return decode(body)
            except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
                continue  # literal_eval documents all of these for malformed text
    return _constructed(body) if body.startswith("Interpretation(") else text


def is_json(text: str) -> bool:
    """Return whether text is JSON or a Python literal as it stands, one value or several, in a fence or not."""
    return not isinstance(_decode(text), str)


def _json_lines(text: str) -> list[Any]:
    """Return several JSON values that stand one after the other, with nothing but commas and white space between."""
    decoder, values, at = json.JSONDecoder(), list[Any](), 0
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        values.append(value)
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too
    return values


def _constructed(text: str) -> Any:
    """Return what ``Interpretation(question='…', answer='…')`` means, one, several or in a list; else the text.

    DSPy tells the type as ``list[Interpretation]``, which invites a language model to write Python.
    """
    try:
        tree = ast.parse(text, mode="eval").body
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text
    calls = tree.elts if isinstance(tree, (ast.List, ast.Tuple)) else [tree]
    values: list[dict[str, Any]] = []
    for call in calls:
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != "Interpretation":
            return text
        named = dict(zip(("question", "answer", "pid"), call.args, strict=False))
        named |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        values.append({name: value.value for name, value in named.items() if isinstance(value, ast.Constant)})
    return values


def parse_lines(text: str) -> list[str]:
    r"""Return the items of a bulleted, numbered or plain list, one line each.

    When at least one line carries a bullet or a number, the lines without one are prose around the
    list and are left out.

    >>> parse_lines("Here they are:\n1: Who won in 1998?\n2: Who won in 2002?")
    ['Who won in 1998?', 'Who won in 2002?']
    """
    lines = [line for line in text.splitlines() if line.strip()]
    marked = [line for line in lines if _BULLET.match(line)]
    return [item for line in (marked or lines) if (item := _strip_quotes(_BULLET.sub("", line, count=1)))]


def parse_interpretation_lines(text: str) -> list[Interpretation]:
    """Read ``DQ n: … / DA n: …`` lines (the format of the RAC prompt of Tree of Clarifications).

    Questions and answers that are all numbered belong together by their numbers, in whatever order they stand; others
    by their order, a question and the answer line that follows it, also where that line says that there is no
    answer. A question without an answer is dropped. Lines of other kinds are passed over, but what stands alone after
    an empty ``DQ n:`` or ``DA n:`` is its text. An ``Answer:`` line without a number ends the list, as there the long
    answer begins.

    Raises
    ------
    ValueError
        If an answer has no number and no question before it: whose it is cannot be told.
    """
    entries = _tagged(text)
    numbers = [[one.number for one in entries if one.kind == kind] for kind in ("question", "answer")]
    if all(all(own) and len(set(own)) == len(own) for own in numbers):
        answers = {one.number: one for one in entries if one.kind == "answer"}
        paired = [(one, answers.get(one.number)) for one in entries if one.kind == "question"]
    else:
        paired = _in_order(entries)
    return [
        Interpretation(question=question.text, answer=answer.text, pid=answer.pid)
        for question, answer in paired
        if answer is not None and question.text
    ]


@dataclass
class _Tagged:
    kind: str
    number: str
    text: str
    pid: str | None = None


def _tagged(text: str) -> list[_Tagged]:
    """Return the question and answer lines of a text."""
    entries: list[_Tagged] = []
    tagged = False
    for line in _INLINE_TAG.sub("\n", text).splitlines():
        if match := _QUESTION_LINE.match(line):
            entries.append(_Tagged("question", match[1], _bare(line[match.end() :])))
            tagged = tagged or "DQ" in match[0].upper()
        elif tagged and _LONG_ANSWER_LINE.match(line):
            break
        elif match := _ANSWER_LINE.match(line):
            entries.append(_Tagged("answer", match[1], _bare(line[match.end() :])))
        elif match := _PASSAGE_LINE.match(line):
            if entries and entries[-1].kind == "answer":
                entries[-1].pid = _passage_number(line[match.end() :])
        elif entries and not entries[-1].text and line.strip():
            entries[-1].text = _bare(line)
    return entries


def _in_order(entries: list[_Tagged]) -> list[tuple[_Tagged, _Tagged | None]]:
    pairs: list[tuple[_Tagged, _Tagged | None]] = []
    for one in entries:
        if one.kind == "question":
            pairs.append((one, None))
        elif pairs and pairs[-1][1] is None:
            pairs[-1] = (pairs[-1][0], one)
        else:
            raise ValueError(f"an answer without a question: {one.text!r:.200}")
    return pairs


def _bare(text: str) -> str:
    """Return text without quotes and emphasis around it."""
    return _strip_quotes(_strip_quotes(text).strip("*").strip())


def _passage_number(value: Any) -> str | None:
    if value is None or isinstance(value, bool):
        return None
    text = str(value).strip().strip("[]*").strip()
    named = re.fullmatch(r"(?:passage|source|pid|no\.?)\s*[\[#]?\s*(\d{1,3})\]?\.?", text, re.I)
    return (named[1] if named else text) or None


_QUESTION_KEYS = ("disambiguated_question", "interpretation", "reading", "dq", "question")
_ANSWER_KEYS = ("answer", "short_answer", "disambiguated_answer", "short_answers", "answers", "da")
_LIST_KEYS = ("interpretations", "readings", "disambiguations", "refinements")
_PID_KEYS = ("pid", "passage", "source", "citation")
_TEXT_KEYS = ("text", "answer", "value", "span", "short_answer")


def _first(mapping: dict[str, Any], keys: Iterable[str]) -> Any:
    return next((mapping[key] for key in keys if mapping.get(key) not in (None, "", [])), None)


def _interpretation(value: Any) -> Interpretation | None:
    """Return the reading, ``None`` if its answer is said to be nothing."""
    if isinstance(value, Interpretation):
        return value
    if isinstance(value, (list, tuple)) and len(value) == 2:
        value = {"question": value[0], "answer": value[1]}
    if isinstance(value, dict):
        fields = {str(key).strip().lower(): item for key, item in value.items()}
        question, answer = _first(fields, _QUESTION_KEYS), _first(fields, _ANSWER_KEYS)
        if isinstance(answer, dict):
            answer = _first({str(key).strip().lower(): item for key, item in answer.items()}, _TEXT_KEYS)
        if isinstance(answer, (list, tuple)):
            answer = "; ".join(map(str, answer))
        if question is not None and answer is not None and not (isinstance(answer, str) and is_null(answer)):
            return Interpretation(
                question=str(question).strip(),
                answer=str(answer).strip(),
                pid=_passage_number(_first(fields, _PID_KEYS)),
            )
        if question is not None and fields.keys() & set(_ANSWER_KEYS):
            return None
    raise ValueError(f"not an interpretation with a question and an answer: {value!r:.200}")


def parse_interpretations(value: Any) -> list[Interpretation]:
    """Accept every usual way to write a list of interpretations.

    Parameters
    ----------
    value
        A list of mappings or pairs, one mapping, a mapping that wraps the list, or text: JSON or
        ``DQ n: … / DA n: …`` lines. Empty text, ``None`` and ``N/A`` mean that there is none; a question
        whose answer is empty, null or "none" is left out, as one that the passages do not answer.

    Raises
    ------
    ValueError
        If text holds no pair of question and answer, or an item has no place for one of them.
    """
    if isinstance(value, str):
        value = _decode(value)
    if value is None or (isinstance(value, str) and is_null(value)):
        return []
    if isinstance(value, str):
        pairs = parse_interpretation_lines(value)
        if not pairs:
            raise ValueError(f"no interpretation found in: {value!r:.200}")
        return [pair for pair in pairs if not is_null(pair.answer)]
    if isinstance(value, Interpretation):
        return [value]
    if isinstance(value, dict):
        fields = {str(key).strip().lower(): item for key, item in value.items()}
        inner = [item for item in fields.values() if isinstance(item, list)]
        wrapped = next((fields[key] for key in _LIST_KEYS if isinstance(fields.get(key), list)), None)
        if wrapped is None and len(inner) == 1 and not fields.keys() & set(_QUESTION_KEYS):
            (wrapped,) = inner
        if wrapped is None and fields and not fields.keys() & {*_QUESTION_KEYS, *_ANSWER_KEYS}:
            rows = list(fields.values())  # {"reading_1": {…}, "reading_2": {…}}
            wrapped = rows if all(isinstance(row, dict) for row in rows) else None
        return parse_interpretations(wrapped if wrapped is not None else [value])
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(item, str) for item in value):
            return parse_interpretations("\n".join(value))
        return [reading for item in value if (reading := _interpretation(item)) is not None]
    raise ValueError(f"not a list of interpretations: {value!r:.200}")


def parse_questions(value: Any) -> list[str]:
    """Accept a JSON list, a numbered or bulleted list, lines, or one question.

    Repetitions (case and white space aside) are dropped, the order is kept. An item of fewer than
    two words is no question: a reply cut to pieces by a repairing JSON parser fails here.
    """
    if isinstance(value, str):
        value = _decode(value)
    if isinstance(value, str):
        if looks_like_refusal(value):
            raise ValueError(f"a refusal, no questions: {value!r:.200}")
        value = [] if is_null(value) else _question_lines(value)
    if isinstance(value, dict):
        inner = [item for item in value.values() if isinstance(item, (list, str))]
        value = inner[0] if len(inner) == 1 and isinstance(inner[0], list) else list(value.values())
    if value is None:
        value = []
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"not a list of questions: {value!r:.200}")
    questions: dict[str, str] = {}
    for item in value:
        if isinstance(item, dict):
            item = _first({str(key).lower(): text for key, text in item.items()}, _QUESTION_KEYS)
        if not isinstance(item, str):
            raise ValueError(f"not a question: {item!r:.200}")
        match = _QUESTION_LINE.match(str(item))
        text = _bare(str(item)[match.end() :] if match else _BULLET.sub("", str(item), count=1))
        if len(_WORD.findall(text)) < 2:
            raise ValueError(f"not a question: {text!r:.200}")
        questions.setdefault(" ".join(text.lower().split()), " ".join(text.split()))
    return list(questions.values())


def _question_lines(text: str) -> list[str]:
    """Return the items of a list of questions, without what introduces them."""
    numbered = re.split(r"(?:(?<=\?)|(?<=^))\s*(?:\d{1,2}[.)]\s+|;\s+)(?=\S)", text.strip())
    items = [item for piece in numbered if (item := piece.strip())]
    if "\n" not in text.strip() and len(items) > 1 and all(item.endswith("?") for item in items):
        return items
    lines = parse_lines(text)
    kept = [line for line in lines if not line.rstrip("*").endswith(":")]
    return kept or lines


_NO_ANSWER = ("", "none", "n/a", "null", "no answers", "[]")


def parse_answers(value: Any) -> list[str]:
    r"""Return short answers from a JSON list, a numbered or bulleted list, lines, or text with semicolons.

    Each is kept once, in order; "none" gives none. Numbers count as answers in JSON only: DSPy's repairing
    parser makes a bare number of lines that begin with one.

    >>> parse_answers("- 1901\n- Horace Jones"), parse_answers('["Horace Jones", 1901]')
    (['1901', 'Horace Jones'], ['Horace Jones', '1901'])
    """
    decoded = _decode(value) if isinstance(value, str) else value
    if isinstance(decoded, str):
        if decoded.strip().strip(".").lower() in _NO_ANSWER:
            return []
        lines = parse_lines(decoded)
        decoded = lines[0].split(";") if len(lines) == 1 else lines
    elif isinstance(value, str) and isinstance(decoded, list):
        decoded = [str(item) if isinstance(item, (int, float)) else item for item in decoded]
    if isinstance(decoded, dict) and len(decoded) == 1:
        (decoded,) = decoded.values()
    if not isinstance(decoded, (list, tuple)):
        raise ValueError(f"not a list of answers: {value!r:.200}")
    answers: dict[str, str] = {}
    for item in decoded:
        if isinstance(item, dict):
            item = _first({str(key).lower(): text for key, text in item.items()}, (*_ANSWER_KEYS, "text", "span"))
        if not isinstance(item, str):
            raise ValueError(f"not an answer: {item!r:.200}")
        text = " ".join(_strip_quotes(item).split())
        if text.lower() not in _NO_ANSWER:
            answers.setdefault(text.lower(), text)
    return list(answers.values())


_NOTHING_SAID = re.compile(
    r"(?:null|none|n/a|nil|no answers?|not (?:answerable|answered|mentioned|stated|specified|given|provided|available|"
    r"found|applicable)|unanswerable|unknown|cannot be (?:determined|answered|found)|none of the passages)"
    r"(?:\s*[.!]?\s*(?:$|(?:answers?|says?|mentions?|tells?|contains?|states?)\b.*|"
    r"\(.*|[-–—:;,] .*|(?:in|by|from) (?:the|this|any|these) (?:passages?|text|context)s?\b.*))",
    re.I | re.S,
)
_NO_PASSAGE = re.compile(
    r"(?:the|this|these|no|none of the) (?:passages?|text|context|question|sources?)\b[^.?!]{0,60}?\b"
    r"(?:do(?:es)? not|don['’]t|doesn['’]t|did not|cannot|can['’]t|is not|are not|answers?|contains?|mentions?)\b"
    r"[^?!]{0,80}?\b(?:answers?|contain|mention|say|state|specify|give|provide|tell|answered|answerable|it|this)\b.*",
    re.I | re.S,
)


def is_null(text: str) -> bool:
    """Return whether a language model wrote that there is nothing: empty text, "null", "n/a", "not mentioned".

    Words behind a dash or in brackets may say why. A name that begins with such a word is an answer.

    >>> [is_null(text) for text in ("None.", "**null**", "null (the passage is about a ship)", "Not mentioned.")]
    [True, True, True, True]
    >>> [is_null(text) for text in ("Nonesuch", "None of the Above", "Unknown Pleasures", "No", "Not Fade Away")]
    [False, False, False, False, False]
    """
    bare = _BULLET.sub("", text.strip(), count=1).strip(" \t\n\"'`*_[]().").lower()
    if bare in _NO_ANSWER:
        return True
    bare = _BULLET.sub("", text.strip(), count=1).strip(" \t\n\"'`*_")
    return bool(_NOTHING_SAID.fullmatch(bare)) or says_no_passage_answers(bare)


def says_no_passage_answers(text: str) -> bool:
    """Return whether a reply is a sentence that the passages do not answer.

    >>> says_no_passage_answers("The passages do not contain the answer."), says_no_passage_answers("The Passage")
    (True, False)
    """
    found = _NO_PASSAGE.fullmatch(text.strip())
    return bool(found) and bool(re.search(r"\b(?:no|none|not|cannot)\b|n['’]t\b", text, re.I))


_REFUSAL = re.compile(
    r"\W*(?:i['’]?m (?:very )?sorry\b|sorry[,.! ]|i (?:cannot|can['’]t|am unable|am not able|won['’]t|don['’]t have)\b|"
    r"as an ai\b|i apologi[sz]e\b|unfortunately, i\b)",
    re.I,
)


def looks_like_refusal(text: str) -> bool:
    """Return whether a reply begins as refusals and excuses begin.

    >>> looks_like_refusal("I'm sorry, but I cannot help with that."), looks_like_refusal("I, Robot is a film.")
    (True, False)
    """
    return bool(_REFUSAL.match(text))


_VERDICT = re.compile(r"(?<!\bno )\b(yes|true|no|false)\b(?! doubt)")
_CONCLUSION = re.compile(
    r"\b(?:overall|final(?: answer| verdict)?|answer|verdict|conclusion|therefore|thus|so|hence)\b[\s:*,–—-]{1,6}"
    r"(?:the answer is )?(yes|true|no|false)\b"
)
_UNANSWERED = re.compile(r"\b(?:not answer(?:able|ed)|unanswerable)\b")


def parse_yes_no(value: Any) -> str:
    r"""Return ``"Yes"`` or ``"No"`` from a bool, from 1 and 0, or from what a text says at last.

    A text that leads with its verdict and gives reasons behind it counts by that verdict, unless a conclusion follows
    ("Passage 1: No. Overall: Yes").

    >>> [parse_yes_no(text) for text in ("No. It says yes nowhere.", "There is no doubt: Yes", "1: No\nOverall: Yes")]
    ['No', 'Yes', 'Yes']

    Raises
    ------
    ValueError
        If there is no verdict, or several that contradict each other and no conclusion.
    """
    if isinstance(value, bool) or value in (0, 1):
        return "Yes" if value else "No"
    if isinstance(value, (list, tuple)) and len(value) == 1 and isinstance(value[0], (str, bool)):
        return parse_yes_no(value[0])  # not a number: DSPy's repairing parser makes [1] of "No [1]"
    if isinstance(value, (list, tuple)):
        raise ValueError(f"neither Yes nor No: {value!r:.200}")
    text = str(value).strip()
    lower = text.lower()
    if re.fullmatch(r"\W*[yn]\W*", lower):
        return "Yes" if "y" in lower else "No"
    lines = [line for line in lower.splitlines() if line.strip()]
    last = re.fullmatch(r"\W*(yes|true|no|false)\W*", lines[-1]) if lines else None
    concluded = last or next(iter(list(_CONCLUSION.finditer(lower))[-1:]), None)
    found = [match[1] for match in _VERDICT.finditer(lower)]
    leads = re.match(r"\W*(yes|true|no|false)\b(?! doubt)(?!\s+\w)", lower)
    if concluded:
        said = concluded[1]
    elif leads:
        said = leads[1]
    elif found and len({one in ("yes", "true") for one in found}) == 1:
        said = found[0]
    elif not found and (_UNANSWERED.search(lower) or says_no_passage_answers(text)):
        said = "no"
    else:
        raise ValueError(f"neither Yes nor No: {value!r:.200}")
    return "Yes" if said in ("yes", "true") else "No"


def parse_numbers(value: Any) -> list[int]:
    """Return the whole numbers of a list or a text, each once, in order; empty text and "none" give none.

    Text that grades numbers ("1: yes, 2: no", "all but 2") or gives a range is refused.

    >>> parse_numbers("Covered: 1, 3 and 4.")
    [1, 3, 4]
    """
    decoded = _decode(value) if isinstance(value, str) else value
    if isinstance(decoded, dict) and len(decoded) == 1:
        (decoded,) = decoded.values()
    items = decoded if isinstance(decoded, (list, tuple, set)) else [decoded]
    flat = [inner for item in items for inner in (item if isinstance(item, (list, tuple)) else [item])]
    try:
        return list(dict.fromkeys(number for item in flat for number in _numbers(item)))
    except ValueError:
        raise ValueError(f"no list of numbers: {value!r:.200}") from None


def _numbers(item: Any) -> list[int]:
    if item is None:
        return []
    if isinstance(item, (int, float)) and not isinstance(item, bool) and item == item // 1:
        return [int(item)]  # also 1.0, which DSPy's repairing parser makes of "1."
    if isinstance(item, str) and re.match(r"\W*none of (?:the|these|them)\b", item, re.I):
        return []
    if isinstance(item, str) and not _GRADED.search(item):
        told = re.sub(r"\A[^:\n]*\b\d+ of (?:them|these|the \w+)\b[^:\n]*:", "", item)  # "2 of them: 1, 3"
        numbers = [int(number) for number in _NUMBER.findall(told)] or _numbers_in_words(told)
        if numbers or item.lower().strip(" .[]\n") in ("", "none", "null", "n/a"):
            return numbers
    raise ValueError(item)


_NUMBER_WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]


def _numbers_in_words(text: str) -> list[int]:
    words = re.findall(r"[a-z]+", text.lower())
    nouns = ("number", "candidate", "question", "reading")
    filler = {"the", "and", *nouns, *(f"{noun}s" for noun in nouns)}
    if not words or any(word not in filler and word not in _NUMBER_WORDS and word not in _ORDINALS for word in words):
        return []
    return [
        (_NUMBER_WORDS if word in _NUMBER_WORDS else _ORDINALS).index(word) + 1 for word in words if word not in filler
    ]


_LABELS: dict[str, AmbiguityType] = {
    "ambsub": AmbiguityType.SUBJECT,
    "subject": AmbiguityType.SUBJECT,
    "ambobj": AmbiguityType.OBJECT,
    "object": AmbiguityType.OBJECT,
    "ambpred": AmbiguityType.PREDICATE,
    "predicate": AmbiguityType.PREDICATE,
    "ambtime": AmbiguityType.TIME,
    "time": AmbiguityType.TIME,
    "ambloc": AmbiguityType.LOCATION,
    "location": AmbiguityType.LOCATION,
    "n/a": AmbiguityType.NONE,
    "na": AmbiguityType.NONE,
    "none": AmbiguityType.NONE,
    "unambiguous": AmbiguityType.NONE,
}
_LABEL = re.compile(r"(?<![a-z])(" + "|".join(sorted(map(re.escape, _LABELS), key=len, reverse=True)) + r")(?![a-z])")


_NEGATED = re.compile(
    r"\b(?:not|no|isn['’]t|rather than|instead of|without)\s+(?:an? |the |really |just )*\W{0,2}"
    r"(?:amb)?(?:sub|obj|pred|time|loc|subject|object|predicate|location)\w*\W{0,2}"
    r"(?:\s*(?:,|or|nor|and)\s*\W{0,2}amb(?:sub|obj|pred|time|loc)\W{0,2})*"
)


def parse_ambiguity_types(value: Any) -> list[AmbiguityType]:
    """Read labels in any case, with or without brackets, one or several; ``N/A`` beside another goes.

    >>> parse_ambiguity_types("[ambsub], Time")
    [<AmbiguityType.SUBJECT: 'AmbSub'>, <AmbiguityType.TIME: 'AmbTime'>]
    """
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    if value is None:
        text = "none"
    if text.strip() in ("[]", "{}"):
        return [AmbiguityType.NONE]
    said = _NEGATED.sub(" ", text.lower())
    labels = list(dict.fromkeys(_LABELS[match] for match in _LABEL.findall(said)))
    if not labels:
        raise ValueError(f"no ambiguity type among {', '.join(AmbiguityType)} in: {text!r:.200}")
    return [label for label in labels if label is not AmbiguityType.NONE] or labels


_GRADES: dict[str, Grade] = {grade.lower(): grade for grade in Grade}
_SUPPORTS: dict[str, Support] = {
    "fully": Support.FULLY,
    "full": Support.FULLY,
    "partially": Support.PARTIALLY,
    "partly": Support.PARTIALLY,
    "partial": Support.PARTIALLY,
    "no": Support.NO,
    "none": Support.NO,
    "not supported": Support.NO,
    "unsupported": Support.NO,
}
_Label = TypeVar("_Label", Grade, Support)


def _one_label(value: Any, labels: Mapping[str, _Label]) -> _Label:
    """Return the one label that a text names; one that is named first, or alone, counts."""
    if isinstance(value, (list, tuple)) and len(value) == 1:
        (value,) = value
    words = "|".join(sorted(map(re.escape, labels), key=len, reverse=True))
    found = list(re.finditer(rf"(?<!not )\b(?:{words})\b", str(value).lower())) if isinstance(value, str) else []
    leads = bool(found) and not re.search(r"\w", str(value)[: found[0].start()])
    named = {labels[match[0]] for match in found}
    if not (leads or len(named) == 1):
        raise ValueError(f"not one of {', '.join(dict.fromkeys(labels.values()))}: {value!r:.200}")
    return labels[found[0][0]]


def parse_grade(value: Any) -> Grade:
    """Return the grade that a text names; "not correct", or several grades in one breath, is refused.

    >>> parse_grade("**incorrect.** It is about the ship.")
    <Grade.INCORRECT: 'Incorrect'>
    """
    return _one_label(value, _GRADES)


def parse_support(value: Any) -> Support:
    """Return how much is supported: fully, partially or not, in the usual words.

    >>> parse_support("Partially supported"), parse_support("No support / contradictory")
    (<Support.PARTIALLY: 'Partially'>, <Support.NO: 'No'>)
    """
    return _one_label(value, _SUPPORTS)


def parse_usefulness(value: Any) -> int:
    """Return a mark from 1 to 5; "4/5", "4 out of 5" and "4: well" are understood, other scales are refused.

    >>> parse_usefulness("4/5")
    4
    """
    if isinstance(value, (list, tuple)) and len(value) == 1:
        (value,) = value
    text = "" if isinstance(value, bool) else re.sub(r"\s*(?:/|out of)\s*5\b", "", str(value).lower())
    marks = re.findall(r"\d+(?:[.,]\d+)?", text)
    if len(marks) == 1 and re.fullmatch(r"[1-5](?:[.,]0)?", marks[0]):
        return int(marks[0][0])
    raise ValueError(f"not a mark from 1 to 5: {value!r:.200}")


def _lenient(name: str, strict: Any, parse: Callable[[Any], Any], schema: dict[str, Any] | None = None) -> Any:
    """Return a type that validates as ``strict`` after ``parse``, and bears the name of ``strict``.

    It is a `dspy.Type` because DSPy shows such a type the raw text when what its repairing JSON parser
    made of the text is refused. ``schema`` replaces the JSON schema that DSPy prints into the prompt.
    """

    class Lenient(dspy.Type):
        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
            return core_schema.no_info_before_validator_function(parse, handler.generate_schema(strict))

        @classmethod
        def __get_pydantic_json_schema__(cls, inner: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
            return schema if schema is not None else handler(inner)

    Lenient.__name__ = Lenient.__qualname__ = name
    return Lenient


if TYPE_CHECKING:
    Interpretations = list[Interpretation]
    Questions = list[str]
    Answers = list[str]
    YesNo = Literal["Yes", "No"]
    AmbiguityTypes = list[AmbiguityType]
    Numbers = list[int]
    Readings = list[Interpretation]
    Grades = Grade
    Supports = Support
    Usefulness = int
else:
    Interpretations = _lenient("list[Interpretation]", list[Interpretation], parse_interpretations)
    Questions = _lenient("list[str]", list[str], parse_questions)
    Answers = _lenient("list[str]", list[str], parse_answers)
    YesNo = _lenient("Literal['Yes', 'No']", Literal["Yes", "No"], parse_yes_no)
    AmbiguityTypes = _lenient(
        "list[AmbiguityType]",
        list[AmbiguityType],
        parse_ambiguity_types,
        {"type": "array", "items": {"type": "string", "enum": [str(kind) for kind in AmbiguityType]}},
    )
    Numbers = _lenient("list[int]", list[int], parse_numbers)
    # Where no numbered passages are shown, the schema must not ask for the number of one.
    Readings = _lenient(
        "list[Interpretation]",
        list[Interpretation],
        parse_interpretations,
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {name: {"type": "string"} for name in ("question", "answer")},
                "required": ["question", "answer"],
            },
        },
    )
    Grades = _lenient(
        "Literal['Correct', 'Ambiguous', 'Incorrect']",
        Grade,
        parse_grade,
        {"type": "string", "enum": [str(grade) for grade in Grade]},
    )
    Supports = _lenient(
        "Literal['Fully', 'Partially', 'No']",
        Support,
        parse_support,
        {"type": "string", "enum": [str(level) for level in Support]},
    )
    Usefulness = _lenient("Literal[1, 2, 3, 4, 5]", Literal[1, 2, 3, 4, 5], parse_usefulness)
