"""Replies in plausible dresses, by an author who knew another parser: a second set beside `plausible_replies`.

Replies are made of values whose right reading is known: a format, a dress (bold, brackets, fences), and noise
(thoughts, words before and after). Some mean two things, or nothing; those must be refused.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab.replies import long_answer
from polyqa import replies as read
from polyqa.base.values import AmbiguityType, Interpretation

REPLIES = 12_000
REFUSED = "refused"  # the right outcome for text that means two things, or nothing
_QUESTIONS = (
    "Who won the men's 1998 World Cup?",
    'Who sang "Hello" first?',
    "When did the film “Titanic” (1953) come out in the U.S.?",
    "How many are there: two, or three?",
    "What does N.A.S.A. stand for?",
    "Which two are on the $1 | $2 bills?",
    "Who sang No, No, Nanette in São Paulo?",
    "Who wrote it; and when?",
    "Why is it called [sic] so?",
    "When was 2001: A Space Odyssey released?",
    "300: Rise of an Empire came out when?",
    "What is the answer to question 7 [of 9]?",
    "Where is 東京 (Tokyo) Tower?",
    "Who's the voice in Dr. No - the first one?",
    "who founded alexandria",
)
_ANSWERS = (
    *("France", "18 April 1953", "No", "Yes", "None of the Above", "Unknown Pleasures", "Nullarbor Plain", "$1.50"),
    *("Paris, Texas", "1,000 [approx]", "“Yes” (single)", "Nagano; Japan", "AC | DC", "O'Neill", "São Paulo", "1998"),
    *(
        "The Unanswered Question",
        "Answer Me",
        "9:30 p.m.",
        "M*A*S*H",
        "Not Fade Away",
        "No. 5",
        "東京",
        "Apollo 13",
        "3",
    ),
    *(
        "No Country for Old Men",
        '"Hello" and "Goodbye"',
        "-40 °C",
        "(I Can't Get No) Satisfaction",
        "Information Society",
    ),
)
_NOTHING = (
    *("null", "None", "N/A.", "**null**", "`null`", "no answer.", "No answer", "Not answerable", "unknown", "Unknown."),
    *("Not mentioned in the passages", "not stated", "Not specified.", "null (the passage only tells of the ship)"),
    *("The passages do not contain the answer.", "Cannot be determined from the passages", "none (not about this)"),
    *("N/A - the passages only mention the year", "The passage doesn't say who.", "It is not mentioned.", "(none)"),
)
_REFUSALS = (
    "I'm sorry, but I can't help with that.",
    "I cannot answer this question based on the passages.",
    "As an AI language model, I do not have access to the passages.",
    "Sorry, I am unable to provide that information.",
    "Unfortunately, I cannot determine the readings.",
    "I apologize, but the passages were cut off.",
)
_LIKE_REFUSALS = (
    "I Can't Help Falling in Love was sung by Elvis Presley in 1961.",
    "I'm Sorry was sung by Brenda Lee in 1960.",
    "Sorry was released by Justin Bieber in 2015, and by Madonna in 2006.",
    "As an adult, Mozart lived in Vienna; as a child in Salzburg.",
    "It depends on the film: Titanic came out in 1953 and in 1997.",
    "Unfortunately Named was the first of two albums; the second came out in 1998.",
)
_THOUGHTS = (
    "<think>Yes? No. 1. What | then [9]\nDQ 1: Hm?\nDA 1: Hm</think>\n",
    "<think>\nOverall: No. [AmbLoc] [7]\n```json\n[9]\n```\n</think>\n\n",
    'The user wants {"answer": "x"}. Answer: Yes.\n- 4\nFinal answer: none\n</think>\n\n',
    "<thinking>I cannot help with that.</thinking>",
)
_INTROS = (
    "Here is what I found:\n",
    "Sure!\n\n",
    "Based on the passages:\n\n",
    "**Readings:**\n",
    "Certainly, here they are:\n",
)
_CLOSINGS = (
    "\n\nI hope this helps!",
    "\n\nLet me know if you need more.",
    "\n\nNote: only what the passages say is told.",
)
_KINDS = list(AmbiguityType)[:-1]
Draw = random.Random


@dataclass(frozen=True)
class Reply:
    """A reply, the parser that reads it, and what it means (`REFUSED` if it must not be read)."""

    kind: str
    parser: str
    text: str
    meaning: Any


@dataclass(frozen=True)
class Outcome:
    """How one reply was read: ``read``, ``refused`` or ``wrong``, and as what."""

    reply: Reply
    outcome: str
    found: Any


PARSERS: Mapping[str, Callable[[str], Any]] = {
    "readings": read.parse_interpretations,
    "questions": read.parse_questions,
    "answers": read.parse_answers,
    "verdict": read.parse_yes_no,
    "numbers": read.parse_numbers,
    "types": read.parse_ambiguity_types,
    "nothing": read.is_null,
    "refusal": read.looks_like_refusal,
    "long answer": long_answer,
}


def replies(count: int = REPLIES, seed: int = 0) -> Iterator[Reply]:
    """Yield replies of every kind in turn, each with its right reading."""
    draw = random.Random(seed)
    makers = [*_MAKERS.items()]
    for number in range(count):
        kind, (parser, make) = makers[number % len(makers)]
        text, meaning = make(draw)
        if parser not in ("nothing", "refusal"):
            text = _noisy(text, draw)
        yield Reply(kind, parser, text, meaning)


def outcome(reply: Reply, parsers: Mapping[str, Callable[[str], Any]] = PARSERS) -> Outcome:
    """Read one reply. What must be refused and is, counts as read."""
    try:
        found = parsers[reply.parser](reply.text)
    except ValueError as error:
        return Outcome(reply, "read" if reply.meaning == REFUSED else "refused", error)
    return Outcome(reply, "read" if found == reply.meaning else "wrong", found)


def tally(outcomes: Iterator[Outcome]) -> dict[str, Counter[str]]:
    """Return for each kind how many replies are read rightly, refused, and read wrongly."""
    table: dict[str, Counter[str]] = {}
    for one in outcomes:
        table.setdefault(one.reply.kind, Counter())[one.outcome] += 1
    return table


def _noisy(text: str, draw: Draw) -> str:
    """Return a reply with thoughts before it, line ends of another system, or white space around it."""
    if draw.random() < 0.25:
        text = draw.choice(_THOUGHTS) + text
    if draw.random() < 0.1:
        text = text.replace("\n", "\r\n")
    return draw.choice(("", "", "\n", "  ")) + text if not text.startswith(" ") and draw.random() < 0.2 else text


def _around(text: str, draw: Draw) -> str:
    """Return a reply with words that lead to it and close it."""
    intro = draw.choice(_INTROS) if draw.random() < 0.3 else ""
    return intro + text + (draw.choice(_CLOSINGS) if draw.random() < 0.2 else "")


# --- readings ----------------------------------------------------------------------------------------


def _drawn(draw: Draw, least: int = 1) -> list[Interpretation]:
    count = draw.randint(least, 4)
    pids = [draw.choice((None, str(draw.randint(1, 9)))) for _ in range(count)]
    parts = zip(draw.sample(_QUESTIONS, count), draw.sample(_ANSWERS, count), pids, strict=True)
    return [Interpretation(question=question, answer=answer, pid=pid) for question, answer, pid in parts]


def _cited(pid: str | None, draw: Draw) -> str:
    if pid is None:
        return ""
    return draw.choice((" [{0}]", " [{0}]", " [{0}][8]", " [{0}, 8]", " (passage {0})", " [passage {0}]")).format(pid)


def _row_texts(readings: Sequence[Interpretation], draw: Draw) -> list[str]:
    bold = draw.choice(("{}", "{}", "**{}**"))
    return [f"{bold.format(one.question)} | {one.answer}{_cited(one.pid, draw)}" for one in readings]


def _rows(readings: Sequence[Interpretation], draw: Draw) -> str:
    mark = draw.choice(("{}. ", "{}. ", "{}) ", "- ", "* ", "{}: ", "({}) ", "[{}] "))
    return "\n".join(mark.format(n) + text for n, text in enumerate(_row_texts(readings, draw), 1))


def _one_line(readings: Sequence[Interpretation], draw: Draw) -> str:
    texts = _row_texts(readings, draw)
    if draw.random() < 0.3:
        return "; ".join(texts)
    return draw.choice((" ", "  ", "; ")).join(f"{n}. {text}" for n, text in enumerate(texts, 1))


def _pid_lines(one: Interpretation, draw: Draw) -> list[str]:
    if one.pid is None:
        return []
    forms = ("Passage: {}", "**Passage:** {}", "Passage {}", "[{}]", "passage [{}]", "Source: [{}]", "(passage {})")
    return [draw.choice(forms).format(one.pid)]


def _tagged(readings: Sequence[Interpretation], draw: Draw) -> str:
    bold, gap = draw.choice(("", "", "**")), draw.choice((" ", " ", ""))
    d, a = draw.choice((("DQ", "DA"), ("DQ", "DA"), ("dq", "da"), ("Question", "Answer"), ("Q", "A")))
    bullet = draw.choice(("", "", "- "))
    lines: list[str] = []
    for n, one in enumerate(readings, 1):
        asked, told = (f"{bullet}{bold}{tag}{gap}{n}:{bold}" for tag in (d, a))
        broken = draw.random()
        lines.append(f"{asked}\n{one.question}" if broken < 0.1 else f"{asked} {one.question}")
        lines.append(f"{told}\n{one.answer}" if broken > 0.9 else f"{told} {one.answer}")
        lines += _pid_lines(one, draw)
    return draw.choice(("\n", "\n", "\n\n")).join(lines)


def _by_number(readings: Sequence[Interpretation], draw: Draw) -> str:
    bold = draw.choice(("", "**"))
    asked = [f"{bold}DQ {n}:{bold} {one.question}" for n, one in enumerate(readings, 1)]
    told = [f"{bold}DA {n}:{bold} {one.answer}{_cited(one.pid, draw)}" for n, one in enumerate(readings, 1)]
    order = draw.choice(("questions first", "answers first", "shuffled", "answer before question", "one line"))
    if order == "shuffled":
        draw.shuffle(told)
    if order == "answers first":
        return "\n".join([*told, *asked])
    if order in ("answer before question", "one line"):
        pairs = zip(told, asked, strict=True) if order != "one line" else zip(asked, told, strict=True)
        return (" " if order == "one line" else "\n").join(text for pair in pairs for text in pair)
    return "\n".join([*asked, *told])


def _named(readings: Sequence[Interpretation], draw: Draw) -> str:
    bold, between = draw.choice(("", "**")), draw.choice(("\n", "\n   ", " / "))
    pieces = []
    for n, one in enumerate(readings, 1):
        piece = f"{n}. {bold}Question:{bold} {one.question}{between}{bold}Answer:{bold} {one.answer}"
        pieces.append("\n".join([piece, *_pid_lines(one, draw)]))
    return draw.choice(("\n", "\n\n")).join(pieces)


def _records(readings: Sequence[Interpretation], draw: Draw) -> list[dict[str, Any]]:
    asked, told, cited = draw.choice(
        (
            ("question", "answer", "pid"),
            ("question", "answer", "passage"),
            ("Question", "Short Answer", "source"),
            ("dq", "da", "pid"),
            ("disambiguated_question", "short_answer", "pid"),
            ("interpretation", "answer", "citation"),
        )
    )
    number = draw.choice(("{}", "[{}]", "Passage {}", "passage [{}]"))
    return [
        {asked: one.question, told: one.answer} | ({cited: number.format(one.pid)} if one.pid is not None else {})
        for one in readings
    ]


def _dumped(value: Any, draw: Draw) -> str:
    return json.dumps(value, ensure_ascii=draw.random() < 0.3, indent=draw.choice((None, None, 2)))


def _json(readings: Sequence[Interpretation], draw: Draw) -> str:
    records: Any = _records(readings, draw)
    shape = draw.choice(("list", "list", "wrapped", "numbered", "nested", "both", "flat", "mapping"))
    if shape == "wrapped":
        records = {draw.choice(("interpretations", "readings", "result")): records, "note": "done"}
    elif shape == "numbered":
        records = {f"reading_{n}": record for n, record in enumerate(records, 1)}
    elif shape == "nested":
        records = [one.model_dump() | {"answer": {"text": one.answer}} for one in readings]
    elif shape == "both":
        settled = draw.choice(("disambiguated_question", "dq", "rewritten_question"))
        records = [
            {"question": "Who?", settled: one.question, "answer": one.answer, "pid": one.pid} for one in readings
        ]
    elif shape == "flat" and all(one.pid is None for one in readings):
        records = {f"{name}{n}": text for n, one in enumerate(readings, 1) for name, text in _pair(one)}
    elif shape == "mapping" and all(one.pid is None and one.question.endswith("?") for one in readings):
        records = {one.question: one.answer for one in readings}
    text = _dumped(records, draw)
    return draw.choice(("{}", "{}", "```json\n{}\n```", "```\n{}\n```")).replace("{}", text)


def _pair(one: Interpretation) -> tuple[tuple[str, str], tuple[str, str]]:
    return ("DQ ", one.question), ("DA ", one.answer)


def _json_lines(readings: Sequence[Interpretation], draw: Draw) -> str:
    mark = draw.choice(("{0}", "{0}", "{0},", "{1}. {0}", "- {0}"))
    lines = [json.dumps(one, ensure_ascii=False) for one in _records(readings, draw)]
    return "\n".join(mark.replace("{0}", line).replace("{1}", str(n)) for n, line in enumerate(lines, 1))


def _json_in_prose(readings: Sequence[Interpretation], draw: Draw) -> str:
    text = _dumped(_records(readings, draw), draw)
    fence = draw.choice(("{}", "```json\n{}\n```"))
    intro = draw.choice(("Here are the readings:\n", "As passage [1] says:\n\n", "The answer is below.\n"))
    return intro + fence.replace("{}", text) + draw.choice(("", *_CLOSINGS))


def _python(readings: Sequence[Interpretation], draw: Draw) -> str:
    shown = [(f", pid={one.pid!r}" if one.pid is not None or draw.random() < 0.3 else "", one) for one in readings]
    calls = [f"Interpretation(question={one.question!r}, answer={one.answer!r}{pid})" for pid, one in shown]
    return draw.choice((f"[{', '.join(calls)}]", "\n".join(calls), f"```python\n[{', '.join(calls)}]\n```"))


def _table(readings: Sequence[Interpretation], draw: Draw) -> str:
    numbered, cited = draw.random() < 0.5, any(one.pid for one in readings)
    heads = [draw.choice(("Question", "Reading", "Disambiguated question", "**Interpretation**")), "Answer", "Passage"]
    rows = [heads[: 2 + cited], ["---"] * (2 + cited)]
    for one in readings:
        cells = [one.question.replace("|", "\\|"), one.answer.replace("|", "\\|")]
        rows.append([*cells, *([f"[{one.pid}]" if one.pid else ""] if cited else [])])
    marks = ["#", "---", *map(str, range(1, len(readings) + 1))]
    return "\n".join(
        f"| {' | '.join([mark, *row] if numbered else row)} |" for mark, row in zip(marks, rows, strict=True)
    )


_READING_FORMATS: Mapping[str, tuple[bool, Callable[[Sequence[Interpretation], Draw], str]]] = {
    "readings: rows": (True, _rows),
    "readings: one line": (False, _one_line),
    "readings: DQ and DA": (True, _tagged),
    "readings: DQ and DA, by number": (False, _by_number),
    "readings: Question and Answer": (True, _named),
    "readings: JSON": (False, _json),
    "readings: JSON lines": (True, _json_lines),
    "readings: JSON in prose": (False, _json_in_prose),
    "readings: Python": (False, _python),
    "readings: table": (True, _table),
}
_Made = tuple[str, Any]


def _of_format(talks: bool, write: Callable[[Sequence[Interpretation], Draw], str]) -> Callable[[Draw], _Made]:
    def make(draw: Draw) -> _Made:
        readings = _drawn(draw)
        text = write(readings, draw)
        return (_around(text, draw) if talks else text), readings

    return make


def _abstaining(draw: Draw) -> _Made:
    """One reading of several has no answer, or the whole reply says that there is none."""
    if draw.random() < 0.3:
        return draw.choice(_NOTHING), []
    readings = _drawn(draw)
    without = draw.randrange(len(readings))
    shown = [
        one.model_copy(update={"answer": draw.choice(_NOTHING), "pid": None}) if n == without else one
        for n, one in enumerate(readings)
    ]
    write = draw.choice((_rows, _tagged, _by_number, _named, _json, _json_lines, _table))
    return write(shown, draw), [one for n, one in enumerate(readings) if n != without]


def _unclear_readings(draw: Draw) -> _Made:
    """What is cut off, contradicts itself, or refuses."""
    readings = _drawn(draw, 2)
    whole = json.dumps([one.model_dump() for one in readings])
    asked = [f"Question: {one.question}" for one in readings]
    told = [f"Answer: {one.answer}" for one in readings]
    return (
        draw.choice(
            (
                draw.choice(_REFUSALS[:4]),
                whole[: draw.randint(whole.index("}") + 3, len(whole) - 3)],
                "\n".join([*told, *asked]),
                f"```json\n{whole}\n```\nOr rather:\n```json\n[]\n```",
                "\n".join(one.question for one in readings),
                f"<think>1. {readings[0].question} | {readings[0].answer}",
            )
        ),
        REFUSED,
    )


# --- questions, answers ------------------------------------------------------------------------------


def _listed(items: Sequence[str], draw: Draw) -> str:
    mark = draw.choice(("{}. ", "{}. ", "{}) ", "- ", "* ", "• ", "({}) ", "{}: "))
    dress = draw.choice(("{}", "{}", "**{}**", '"{}"', "`{}`"))
    dress = "{}" if any(one in item for item in items for one in '"`*') else dress
    return "\n".join(mark.format(n) + dress.replace("{}", item) for n, item in enumerate(items, 1))


def _questions(draw: Draw) -> _Made:
    items = draw.sample(_QUESTIONS, draw.randint(1, 5))
    text = draw.choice(
        (
            _around(_listed(items, draw), draw),
            _around("\n".join(f"DQ {n}: {item}" for n, item in enumerate(items, 1)), draw),
            _around("\n".join(items), draw),
            _dumped(items, draw),
            _dumped([{"question": item} for item in items], draw),
            _dumped({"questions": items}, draw),
            repr(items),
            "Here are the questions:\n```json\n" + json.dumps(items) + "\n```",
            "\n".join(json.dumps({"question": item}) for item in items),
        )
    )
    return text, items


def _questions_in_a_line(draw: Draw) -> _Made:
    items = draw.sample(_QUESTIONS, draw.randint(2, 4))
    numbered = draw.choice((" ", "; ")).join(f"{n}. {item}" for n, item in enumerate(items, 1))
    return draw.choice((numbered, "; ".join(items))), items


def _no_questions(draw: Draw) -> _Made:
    refusal = draw.choice(_REFUSALS)
    return draw.choice(
        (
            (draw.choice(("N/A.", "None", "n/a", "**N/A**", "[]", "null")), []),
            (refusal, REFUSED),
            (f"- {refusal}", REFUSED),
            (json.dumps([refusal]), REFUSED),
            (f"1. {_QUESTIONS[0]}\n2. {_QUESTIONS[1]}\n3. N/A", list(_QUESTIONS[:2])),
            (f"**\n{_QUESTIONS[0]}\n**", [_QUESTIONS[0]]),
            ("The question has one plain meaning.", REFUSED),
            (f"Here are the questions:\n\n{_QUESTIONS[0]}\n{_QUESTIONS[1]}\n\nThese cover it.", list(_QUESTIONS[:2])),
        )
    )


def _answers(draw: Draw) -> _Made:
    items = draw.sample(_ANSWERS, draw.randint(2, 5))
    plain = [item for item in items if ";" not in item]
    return draw.choice(
        (
            (_around(_listed(items, draw), draw), items),
            (_dumped(items, draw), items),
            (_dumped({"answers": items}, draw), items),
            (repr(items), items),
            ("; ".join(plain), plain),
            ("\n".join(items), items),
            (_dumped([*items, "None"], draw), items),
            (_listed([*items, draw.choice(_NOTHING[:3])], draw), items),
            (draw.choice(_NOTHING), []),
            (draw.choice(_REFUSALS[:1]), REFUSED),
        )
    )


# --- verdicts, numbers, labels -----------------------------------------------------------------------


def _verdict(draw: Draw) -> _Made:
    said = draw.choice(("Yes", "No"))
    other = "No" if said == "Yes" else "Yes"
    texts = [
        *(said, f"{said}.", said.upper(), said[0], f"**{said}**", f"[{said}]", f"`{said}`", f'"{said}"', f"- {said}"),
        *(
            f"Answer: {said}",
            f"**Answer:** {said}.",
            f"{said}, passage [2] says so.",
            f"{said} [1]",
            f"{said}. See [1].",
        ),
        f"{said}, although passage 2 is about something else.",
        f"The passages were read with care.\n\n{said}",
        json.dumps({"answerable": said}),
        json.dumps({"reason": f"{other} passage is about it", "answerable": said}),
        f"Passage 1: {said}\nPassage 2: {said}",
        f"Yes or No: {said}",
    ]
    return draw.choice(texts), said


def _concluding(draw: Draw) -> _Made:
    said = draw.choice(("Yes", "No"))
    other = "No" if said == "Yes" else "Yes"
    word = draw.choice(
        ("Overall", "Final answer", "Verdict", "Conclusion", "**Overall**", "Final verdict", "In conclusion")
    )
    texts = [
        f"Passage 1: {other}\nPassage 2: {said}\n{word}: {said}",
        f"Passage 1: {other}. Passage 2: {other}. {word}: {said}.",
        f"{other} at first sight.\n{word}: **{said}**",
        f"Passage 1: {other}\nPassage 2: {said}\n\n{said}",
        f"{word}: {said}\n\nPassage 1: {other}",
        f"It seems that {other.lower()}. Therefore, {said.lower()}.",
    ]
    return draw.choice(texts), said


def _worded(draw: Draw) -> _Made:
    """Verdicts in other words than Yes and No, and words that look like them."""
    return draw.choice(
        (
            ("There is no doubt: Yes", "Yes"),
            ("No doubt, yes.", "Yes"),
            ("There's no question about it: yes, in passage 2.", "Yes"),
            ("Not answerable", "No"),
            ("Not answerable.", "No"),
            ("The passages do not contain the answer.", "No"),
            ("The passages don't mention who hosted.", "No"),
            ("Cannot be determined from the passages.", "No"),
            ("No passage answers the question.", "No"),
            ("The question is unanswerable.", "No"),
            ("Answerable", "Yes"),
        )
    )


def _contradicting(draw: Draw) -> _Made:
    first, second = draw.sample(("Yes", "No"), 2)
    return draw.choice(
        (
            f"Passage 1: {first}\nPassage 2: {second}",
            f"Passage 1: {first}. Passage 2: {second}. Passage 3: {first}.",
            f"{first} and {second.lower()}.",
            f"{first}. Wait, {second.lower()}.",
            f"Overall: {first}\n{second}",
            "Maybe.",
            "I would have to look it up",
        )
    ), REFUSED


_CARDINALS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


def _and(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _numbers(draw: Draw) -> _Made:
    numbers = draw.sample(range(1, 10), draw.randint(1, 5))
    row, said = ", ".join(map(str, numbers)), _and([str(number) for number in numbers])
    texts = [
        *(
            row,
            f"[{row}]",
            f"({row})",
            f"{row}.",
            said,
            f"Covered: {row}",
            f"**{row}**",
            f"`[{row}]`",
            f"Covered: [{row}]",
        ),
        "\n".join(f"- {number}" for number in numbers),
        " ".join(f"[{number}]" for number in numbers),
        json.dumps({"covered": numbers}),
        f"```json\n{json.dumps(numbers)}\n```",
        f"The covered readings are {said}.",
        f"Readings {said}",
        ", ".join(f"{number} (Nagano, 1998)" for number in numbers),
    ]
    return draw.choice(texts), numbers


def _counted(draw: Draw) -> _Made:
    """How many were chosen is no number of one that was chosen."""
    numbers = draw.sample(range(1, 10), draw.randint(2, 4))
    row, count = ", ".join(map(str, numbers)), len(numbers)
    texts = [
        f"{count} of them: {row}",
        f"{count} of the 9 candidates: {row}",
        f"I choose {count} passages: {row}.",
        f"{_and([str(number) for number in numbers])} of the 9 candidates",
        "\n".join(f"{n}. {number}" for n, number in enumerate(numbers, 1)),
        f"The following {count} are covered: {row}",
    ]
    return draw.choice(texts), numbers


def _in_words(draw: Draw) -> _Made:
    numbers = draw.sample(range(1, 10), draw.randint(1, 4))
    firsts, ones = [_ORDINALS[n - 1] for n in numbers], [_CARDINALS[n - 1] for n in numbers]
    texts = [
        f"the {_and(firsts)}",
        f"The {_and(firsts)} readings" if len(numbers) > 1 else f"The {firsts[0]} reading",
        _and(ones),
        f"Covered: {_and(ones)}.",
        f"Only the {_and(firsts)}.",
        ", ".join(f"the {word}" for word in firsts),
    ]
    return draw.choice(texts), numbers


def _no_numbers(draw: Draw) -> _Made:
    nothing = (
        *("none", "None.", "[]", "N/A", "null", "**None**", "None of the 5 candidates", "None of them.", "`[]`"),
        *("No readings are covered.", "None of the 3 readings is covered."),
    )
    refused = (
        *("1: yes, 2: no", "all but 2", "1-3", "1, 3 (not 2)", "all 5", "the top 3", "2 of the 5 candidates", "1 or 3"),
        *("1 to 4", "Reading 1 asks about 1998", "2 readings", "two of them", "first and 3", "every second one", "1.5"),
        *("1, 2 except 2", "I'm sorry, but I can't", "2 are covered", "At least 2"),
    )
    return draw.choice([*((text, []) for text in nothing), *((text, REFUSED) for text in refused)])


def _types(draw: Draw) -> _Made:
    chosen = draw.sample(_KINDS, draw.randint(1, 3))
    texts = [
        ", ".join(chosen),
        " ".join(f"[{kind}]" for kind in chosen),
        "".join(f"[{kind}]" for kind in chosen),
        " and ".join(chosen),
        "\n".join(f"- {kind.lower()}" for kind in chosen),
        "\n".join(f"{n}. **{kind}**" for n, kind in enumerate(chosen, 1)),
        json.dumps(chosen),
        repr([str(kind) for kind in chosen]),
        json.dumps({"ambiguity_types": chosen}),
        json.dumps({kind: kind in chosen for kind in _KINDS}),
        f"Ambiguity types: {', '.join(chosen)}",
        f"N/A, {', '.join(chosen)}",
    ]
    text = draw.choice(texts)
    return text, sorted(chosen, key=_KINDS.index) if text.startswith('{"Amb') else chosen


def _denied(draw: Draw) -> _Made:
    chosen = draw.sample(_KINDS, 2)
    others = [kind for kind in _KINDS if kind not in chosen]
    first, second = others[:2]
    row = ", ".join(chosen)
    texts = [
        f"{row} (not {first})",
        f"{row}, but not {first}",
        f"{row}; no {first}",
        f"{row}, neither {first} nor {second}",
        f"{row}. It is not {first} or {second}.",
        "\n".join([*(f"{kind}: yes" for kind in chosen), f"{first}: no", f"{second}: No."]),
        f"{row} rather than {first}",
        f"{row}. {first} does not apply.",
        f"{row} – {first} isn't meant",
    ]
    return draw.choice(
        [*((text, chosen) for text in texts), (f"not {first}, {second}", REFUSED), (f"no {first}", REFUSED)]
    )


def _no_types(draw: Draw) -> _Made:
    none = [AmbiguityType.NONE]
    texts = (
        "N/A",
        "[N/A]",
        "[]",
        "none",
        "None.",
        "Unambiguous",
        '["N/A"]',
        "n/a.",
        "**N/A**",
        "The question is not ambiguous.",
    )
    refused = ("", "banana", "meantime", "I'm sorry, but I can't.", "The time of the event is not given here")
    return draw.choice([*((text, none) for text in texts), *((text, REFUSED) for text in refused)])


# --- nothing, refusals, long answers -----------------------------------------------------------------


def _nothing(draw: Draw) -> _Made:
    if draw.random() < 0.5:
        return draw.choice(_ANSWERS), False
    text = draw.choice(_NOTHING)
    return draw.choice(("{}", "{}", "- {}", "**{}**", '"{}"', " {} ", "<think>Is it Nagano?</think>{}")).replace(
        "{}", text
    ), True


def _refusal(draw: Draw) -> _Made:
    refuses = draw.random() < 0.5
    text = draw.choice(_REFUSALS if refuses else _LIKE_REFUSALS)
    return draw.choice(("{}", "{}", "**{}**", " {}", "{}\n\nAsk again.", "<think>Hm.</think>{}")).replace(
        "{}", text
    ), refuses


def _long_answer(draw: Draw) -> _Made:
    if draw.random() < 0.2:
        return draw.choice((*_REFUSALS, "", "null", "N/A", "```\n```", "Answer:")), REFUSED
    text = draw.choice(
        (*_LIKE_REFUSALS, 'Two songs are meant. "Hello" is by Adele and "Hello, Goodbye" by the "Beatles"')
    )
    text = draw.choice((text, text, f"{text}\n\nIn 1998 France won [1]; Answer: see above."))
    dress = draw.choice(
        (
            "{}",
            "{}",
            "Answer: {}",
            "**Answer:** {}",
            "**Answer**: {}",
            "```\n{}\n```",
            "Long answer: {}",
            "“{}”",
            "## Answer:\n{}",
        )
    )
    closing = "" if "`" in dress or "“" in dress else draw.choice(("", "", *_CLOSINGS))
    return dress.replace("{}", text) + closing, text


_MAKERS: Mapping[str, tuple[str, Callable[[Draw], _Made]]] = {
    **{name: ("readings", _of_format(talks, write)) for name, (talks, write) in _READING_FORMATS.items()},
    "readings: abstentions": ("readings", _abstaining),
    "readings: to refuse": ("readings", _unclear_readings),
    "questions": ("questions", _questions),
    "questions: one line": ("questions", _questions_in_a_line),
    "questions: none, to refuse": ("questions", _no_questions),
    "answers": ("answers", _answers),
    "verdicts": ("verdict", _verdict),
    "verdicts: concluded": ("verdict", _concluding),
    "verdicts: in other words": ("verdict", _worded),
    "verdicts: to refuse": ("verdict", _contradicting),
    "numbers": ("numbers", _numbers),
    "numbers: counted": ("numbers", _counted),
    "numbers: in words": ("numbers", _in_words),
    "numbers: none, to refuse": ("numbers", _no_numbers),
    "types": ("types", _types),
    "types: denied": ("types", _denied),
    "types: none, to refuse": ("types", _no_types),
    "nothing, or an answer": ("nothing", _nothing),
    "refusal, or an answer": ("refusal", _refusal),
    "long answers": ("long answer", _long_answer),
}
KINDS = tuple(_MAKERS)
