"""The forms in which the mutated replies of `lab.replies` are written, each with what it means."""

import json
import random
from collections.abc import Callable
from typing import Any

from .reply_values import ABSTAINING, ANSWERS, QUESTIONS, REFUSALS, dressed, noisy

REFUSED = object()
"""What a reply means that must be refused."""

Row = tuple[str, str, str | None]
Made = tuple[Any, str]
FORMS: dict[tuple[str, str], Callable[[random.Random], Made]] = {}


def _form(kind: str, name: str) -> Callable[[Callable[[random.Random], Made]], Callable[[random.Random], Made]]:
    def kept(make: Callable[[random.Random], Made]) -> Callable[[random.Random], Made]:
        FORMS[kind, name] = make
        return make

    return kept


# --- readings ---------------------------------------------------------------------------------------------------------


def _rows(drawn: random.Random, *, least: int = 1) -> list[Row]:
    questions = drawn.sample(QUESTIONS, drawn.randint(least, 4))
    pids = [drawn.choice((None, "1", "3", "12")) for _ in questions]
    return [(question, drawn.choice(ANSWERS), pid) for question, pid in zip(questions, pids, strict=True)]


def _meant(rows: list[Row]) -> list[Row]:
    return sorted((question, answer.strip('"'), pid) for question, answer, pid in rows)


def _cited(drawn: random.Random, pid: str | None) -> str:
    return "" if pid is None else drawn.choice((" [{}]", " [{}]", " [{}][5]", " [{}, 5]", " [passage {}]")).format(pid)


def _tags(drawn: random.Random) -> tuple[str, str]:
    question, answer = drawn.choice(
        (("DQ {}", "DA {}"), ("DQ{}", "DA{}"), ("dq {}", "da {}"), ("Question {}", "Answer {}"))
    )
    dress = drawn.choice(("{}: ", "{}:", "**{}:** ", "**{}**: ", "- {}: ", "- **{}:** ", "## {}: "))
    return dress.format(question), dress.format(answer)


@_form("readings", "DQ and DA, pair by pair")
def _pairs(drawn: random.Random) -> Made:
    rows, (ask, tell) = _rows(drawn), _tags(drawn)
    lines = []
    for n, (question, answer, pid) in enumerate(rows, 1):
        lines += [ask.format(n) + dressed(drawn, question), tell.format(n) + dressed(drawn, answer)]
        if pid is not None:
            lines.append(
                drawn.choice(("Passage: {}", "**Passage:** {}", "Source: [{}]", "pid: passage {}")).format(pid)
            )
    return _meant(rows), noisy(drawn, "\n".join(lines), fence="")


@_form("readings", "DQ and DA, in any order")
def _shuffled(drawn: random.Random) -> Made:
    rows, (ask, tell) = _rows(drawn, least=2), _tags(drawn)
    asked = [ask.format(n) + question for n, (question, _, _) in enumerate(rows, 1)]
    answered = [tell.format(n) + answer + _cited(drawn, pid) for n, (_, answer, pid) in enumerate(rows, 1)]
    order = drawn.randrange(4)
    if order == 0:
        lines = asked + answered
    elif order == 1:
        lines = answered + asked
    elif order == 2:
        lines = [line for pair in zip(answered, asked, strict=True) for line in pair]
    else:
        lines = asked + answered
        drawn.shuffle(lines)
    return _meant(rows), noisy(drawn, "\n".join(lines))


@_form("readings", "DQ and DA on one line, or under each other")
def _inline(drawn: random.Random) -> Made:
    rows = _rows(drawn)
    if drawn.random() < 0.5:
        gap = drawn.choice((" ", " / ", "  "))
        text = gap.join(f"DQ {n}: {question}{gap}DA {n}: {answer}" for n, (question, answer, _) in enumerate(rows, 1))
    else:
        bold = drawn.choice(("", "**"))
        text = "\n".join(
            f"{bold}DQ {n}:{bold}\n{question}\n{bold}DA {n}:{bold}\n{answer}"
            for n, (question, answer, _) in enumerate(rows, 1)
        )
    return _meant([(question, answer, None) for question, answer, _ in rows]), noisy(drawn, text)


@_form("readings", "Question and Answer, numbered")
def _numbered(drawn: random.Random) -> Made:
    rows = _rows(drawn)
    ask, tell = drawn.choice(
        (("Question: ", "Answer: "), ("**Question**: ", "**Answer**: "), ("Reading: ", "Short answer: "))
    )
    gap = drawn.choice(("\n", "\n   ", "\n   - ", " / "))
    text = "\n".join(
        f"{n}. {ask}{question}{gap}{tell}{answer}{_cited(drawn, pid)}"
        for n, (question, answer, pid) in enumerate(rows, 1)
    )
    return _meant(rows), noisy(drawn, text)


@_form("readings", "JSON")
def _json(drawn: random.Random) -> Made:
    rows = _rows(drawn)
    ask, tell, cite = drawn.choice(
        (
            ("question", "answer", "pid"),
            ("Disambiguated_Question", "Short Answer", "passage"),
            ("interpretation", "answer", "source"),
        )
    )
    original = drawn.random() < 0.3
    told = drawn.choice(
        (lambda answer: answer, lambda answer: answer, lambda answer: {"text": answer}, lambda answer: [answer])
    )
    items: list[dict[str, Any]] = []
    for question, answer, pid in rows:
        item: dict[str, Any] = {"question": "Who is it?"} if original and ask != "question" else {}
        item |= {ask: question, tell: told(answer)}
        if pid is not None:
            item[cite] = drawn.choice((pid, f"[{pid}]", f"Passage {pid}", int(pid)))
        items.append(item)
    shape = drawn.randrange(5)
    spaced = drawn.choice((None, 2))
    if shape == 0:
        text = json.dumps(items, indent=spaced, ensure_ascii=drawn.random() < 0.5)
    elif shape == 1:
        text = "\n".join(json.dumps(item) for item in items)
    elif shape == 2:
        text = json.dumps({"interpretations": items}, indent=spaced)
    elif shape == 3:
        text = json.dumps({f"reading_{n}": item for n, item in enumerate(items, 1)})
    else:
        text = repr(items)
    return _meant(rows), noisy(drawn, text, fence=drawn.choice(("json", "")))


@_form("readings", "calls")
def _calls(drawn: random.Random) -> Made:
    rows = _rows(drawn)
    calls = [
        f"Interpretation(question={question!r}, answer={answer!r}" + (f", pid={pid!r})" if pid else ")")
        for question, answer, pid in rows
    ]
    text = (
        drawn.choice(("[{}]", "interpretations = [{}]")).format(", ".join(calls))
        if drawn.random() < 0.6
        else "\n".join(calls)
    )
    return _meant(rows), noisy(drawn, text, fence="python")


@_form("readings", "reading | answer [3]")
def _barred(drawn: random.Random) -> Made:
    rows = _rows(drawn)
    mark = drawn.choice(("{}. ", "{}. ", "{}) ", "[{}] ", "- ", "", "**{}.** "))
    lines = [
        mark.format(n)
        + dressed(drawn, question)
        + drawn.choice((" | ", " | ", "  |  "))
        + dressed(drawn, answer)
        + _cited(drawn, pid)
        for n, (question, answer, pid) in enumerate(rows, 1)
    ]
    return _meant(rows), noisy(drawn, "\n".join(lines), fence="")


@_form("readings", "reading | answer, all on one line")
def _barred_line(drawn: random.Random) -> Made:
    rows = _rows(drawn, least=2)
    if drawn.random() < 0.6:
        cells = [f"{n}. {question} | {answer}{_cited(drawn, pid)}" for n, (question, answer, pid) in enumerate(rows, 1)]
        return _meant(rows), noisy(drawn, drawn.choice((" ", "  ", "; ")).join(cells))
    cells = [f"{question} | {answer}{_cited(drawn, pid)}" for question, answer, pid in rows]
    return _meant(rows), noisy(drawn, "; ".join(cells), prose=False)


@_form("readings", "table")
def _table(drawn: random.Random) -> Made:
    rows = _rows(drawn)
    number, original = drawn.random() < 0.5, drawn.random() < 0.2
    head = (
        ["#"] * number
        + ["Original question"] * original
        + [drawn.choice(("Question", "Disambiguated question", "Reading"))]
    )
    head += [drawn.choice(("Answer", "Short answer")), "Passage"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for n, (question, answer, pid) in enumerate(rows, 1):
        cells = [str(n)] * number + ["Who is it?"] * original
        cells += [dressed(drawn, text.replace("|", "\\|")) for text in (question, answer)]
        cells.append("" if pid is None else drawn.choice((pid, f"[{pid}]")))
        lines.append("| " + " | ".join(cells) + " |")
    return _meant(rows), noisy(drawn, "\n".join(lines))


@_form("readings", "some without an answer")
def _abstained(drawn: random.Random) -> Made:
    rows = _rows(drawn)
    kept = [drawn.random() < 0.5 for _ in rows]
    rows = [
        (q, a if keep else dressed(drawn, drawn.choice(ABSTAINING)), pid if keep else None)
        for (q, a, pid), keep in zip(rows, kept, strict=True)
    ]
    shape = drawn.randrange(3)
    if shape == 0:
        text = "\n".join(f"DQ {n}: {q}\nDA {n}: {a}{_cited(drawn, pid)}" for n, (q, a, pid) in enumerate(rows, 1))
    elif shape == 1:
        text = "\n".join(f"{n}. {q} | {a}{_cited(drawn, pid)}" for n, (q, a, pid) in enumerate(rows, 1))
    else:
        text = json.dumps([{"question": q, "answer": a, "pid": pid} for q, a, pid in rows])
    return _meant([row for row, keep in zip(rows, kept, strict=True) if keep]), noisy(drawn, text)


@_form("readings", "none at all")
def _no_readings(drawn: random.Random) -> Made:
    text = dressed(drawn, drawn.choice((*ABSTAINING, "", "[]", '{"interpretations": []}', "No readings.")))
    return [], noisy(drawn, text, prose=False)


@_form("readings", "refusal, or a question alone")
def _no_reply(drawn: random.Random) -> Made:
    return REFUSED, noisy(drawn, drawn.choice((*REFUSALS, *QUESTIONS[:8])), prose=False)


# --- lists ------------------------------------------------------------------------------------------------------------


def _listed(drawn: random.Random, items: list[str]) -> str:
    """Return a list, one item a line."""
    mark = drawn.choice(("{}. ", "{}) ", "({}) ", "[{}] ", "{}: ", "- ", "* ", "• ", "**{}.** "))
    return "\n".join(mark.format(n) + dressed(drawn, item) for n, item in enumerate(items, 1))


def _as_json(drawn: random.Random, items: list[str], key: str, one: str) -> str:
    shape = drawn.randrange(4)
    if shape == 0:
        return json.dumps(items, indent=drawn.choice((None, 2)))
    if shape == 1:
        return repr(items)
    return json.dumps({key: items} if shape == 2 else [{one: item} for item in items], ensure_ascii=False)


@_form("questions", "list")
def _questions(drawn: random.Random) -> Made:
    items = drawn.sample(QUESTIONS, drawn.randint(1, 4))
    return [_unquoted(item) for item in items], noisy(drawn, _listed(drawn, items), fence="")


@_form("questions", "tagged")
def _tagged_questions(drawn: random.Random) -> Made:
    items = drawn.sample(QUESTIONS, drawn.randint(1, 4))
    tag = drawn.choice(("DQ {}: ", "**DQ {}:** ", "Question {}: ", "- DQ {}: ", "DQ {}:\n", "{}. Question: "))
    text = "\n".join(tag.format(n) + item for n, item in enumerate(items, 1))
    return [_unquoted(item) for item in items], noisy(drawn, text)


@_form("questions", "JSON")
def _json_questions(drawn: random.Random) -> Made:
    items = drawn.sample(QUESTIONS, drawn.randint(1, 4))
    text = _as_json(drawn, items, "pseudo_interpretations", "question")
    return [_unquoted(item) for item in items], noisy(drawn, text, fence=drawn.choice(("json", "")))


@_form("questions", "one line, or plain lines")
def _plain_questions(drawn: random.Random) -> Made:
    items = drawn.sample(QUESTIONS, drawn.randint(1, 4))
    if drawn.random() < 0.5 and len(items) > 1:
        text = " ".join(f"{n}. {item}" for n, item in enumerate(items, 1))
        return [_unquoted(item) for item in items], noisy(drawn, text, prose=False)
    return [_unquoted(item) for item in items], noisy(drawn, "\n".join(items))


@_form("questions", "refusal")
def _refused_questions(drawn: random.Random) -> Made:
    items = [drawn.choice(REFUSALS)]
    return REFUSED, noisy(drawn, drawn.choice(items) if drawn.random() < 0.5 else _listed(drawn, items), prose=False)


@_form("questions", "none")
def _no_questions(drawn: random.Random) -> Made:
    return [], noisy(drawn, dressed(drawn, drawn.choice(("N/A", "N/A.", "None", "none.", "[]", "null"))), prose=False)


def _answers_of(drawn: random.Random) -> list[str]:
    return drawn.sample([answer for answer in ANSWERS if answer != "3."], drawn.randint(1, 4))


@_form("answers", "list")
def _answers(drawn: random.Random) -> Made:
    items = _answers_of(drawn)
    if len(items) == 1 and ";" in items[0]:
        items = ["Smith"]
    return [_unquoted(item) for item in items], noisy(drawn, _listed(drawn, items), fence="")


@_form("answers", "JSON")
def _json_answers(drawn: random.Random) -> Made:
    items = _answers_of(drawn)
    text = _as_json(drawn, items, "answers", "answer")
    return [_unquoted(item) for item in items], noisy(drawn, text, fence=drawn.choice(("json", "")))


@_form("answers", "one line")
def _answers_in_line(drawn: random.Random) -> Made:
    items = [item for item in _answers_of(drawn) if ";" not in item] or ["Smith"]
    numbered = " ".join(f"{n}. {item}" for n, item in enumerate(items, 1))
    text = numbered if len(items) > 1 and drawn.random() < 0.5 else "; ".join(items)
    return [_unquoted(item) for item in items], noisy(drawn, text, prose=False)


@_form("answers", "none")
def _no_answers(drawn: random.Random) -> Made:
    text = dressed(drawn, drawn.choice(ABSTAINING))
    return [], noisy(drawn, drawn.choice(("", "", "- ")) + text, prose=False)


def _unquoted(text: str) -> str:
    return text.strip('"')


# --- single values ----------------------------------------------------------------------------------------------------

_REASONS = (
    "Passage 1 gives the year, passage 2 does not.",
    "No passage names the host, but the second says where.",
    "There is no doubt about the year.",
    "The reader may or may not know it.",
    "Passage 1: No\nPassage 2: Yes\nPassage 3: No",
    "Passage [1] says yes to one and no to the other.",
)


@_form("yes or no", "word")
def _word(drawn: random.Random) -> Made:
    verdict = drawn.choice(("Yes", "No"))
    word = drawn.choice(
        (verdict, verdict.upper(), verdict.lower(), verdict[0], {"Yes": "True", "No": "False"}[verdict])
    )
    ending = drawn.choice(("", "", ".", "!", " [1]", " (passage 2)")) if len(word) > 1 else ""
    text = drawn.choice(
        (dressed(drawn, word) + ending, f"[{word}]", f'{{"answerable": "{word}"}}' if len(word) > 1 else word)
    )
    return verdict, noisy(drawn, text, prose=False)


@_form("yes or no", "verdict, then its reason")
def _verdict_first(drawn: random.Random) -> Made:
    verdict = drawn.choice(("Yes", "No"))
    reasons = {
        "Yes": ("the second passage says so.", "it names the year; no other does.", "there is no doubt."),
        "No": ("the passage is about 2006.", "although one passage is close.", "the host is not mentioned."),
    }
    gap = drawn.choice((", ", ". ", ": ", " - ", "\n", "\n\n", "; ", " because "))
    return verdict, noisy(drawn, dressed(drawn, verdict) + gap + drawn.choice(reasons[verdict]), prose=False)


@_form("yes or no", "reason, then the verdict")
def _verdict_last(drawn: random.Random) -> Made:
    verdict = drawn.choice(("Yes", "No"))
    lead = drawn.choice(
        (
            "\n",
            "\nOverall: ",
            " Overall: ",
            "\nFinal answer: ",
            "\n**Answer:** ",
            "\nVerdict: ",
            " Therefore: ",
            "\nAnswer = ",
        )
    )
    text = drawn.choice(_REASONS) + lead + dressed(drawn, verdict) + drawn.choice(("", "."))
    return verdict, noisy(drawn, text, prose=False)


@_form("yes or no", "no answer in the passages")
def _unanswerable(drawn: random.Random) -> Made:
    told = (
        "Not answerable",
        "Not answerable.",
        "The passages do not contain the answer.",
        "The answer is not mentioned.",
        "It cannot be determined from the passages.",
        "No passage says so.",
        "There is no information on it.",
        "The passage does not mention the year.",
        "This question is unanswerable from the passages.",
    )
    return "No", noisy(drawn, dressed(drawn, drawn.choice(told)), prose=False)


@_form("yes or no", "contradictory, or none")
def _contradictory(drawn: random.Random) -> Made:
    told = (
        "Passage 1: No\nPassage 2: Yes",
        "Yes for 1998. No for 2002.",
        "maybe",
        "N/A",
        "It depends.",
        "Unknown",
        "Passage 1: Yes\nPassage 2: No\nPassage 3: Yes",
        "There is no doubt about it.",
        "Perhaps yes, perhaps no.",
    )
    return REFUSED, noisy(drawn, drawn.choice(told), prose=False)


_NTH = ("", "first", "second", "third", "fourth", "fifth", "sixth")
_COUNT = ("none", "one", "two", "three", "four", "five", "six")


@_form("numbers", "figures")
def _figures(drawn: random.Random) -> Made:
    numbers = drawn.sample(range(1, 20), drawn.randint(1, 4))
    words = list(map(str, numbers))
    gap, form = drawn.choice((", ", ",", " and ", "; ", "\n", " ")), drawn.choice(("{}", "{}", "[{}]", "#{}", "**{}**"))
    text = gap.join(form.format(word) for word in words)
    text = drawn.choice(
        (
            text,
            text,
            str(numbers),
            json.dumps({"covered": numbers}),
            json.dumps(words),
            "\n".join(f"- {n}" for n in words),
        )
    )
    if drawn.random() < 0.3 and not text.startswith(("-", "{")):
        text = drawn.choice(("Covered: ", "The readings that hold are ", "Readings ", "Answer: ")) + text
    return numbers, noisy(drawn, text, prose=False)


@_form("numbers", "words")
def _number_words(drawn: random.Random) -> Made:
    numbers = sorted(drawn.sample(range(1, 7), drawn.randint(1, 3)))
    ordinals = [f"the {_NTH[n]}" for n in numbers]
    cardinals = [_COUNT[n] for n in numbers]
    listed = _and(drawn.choice((ordinals, cardinals)))
    text = drawn.choice(
        (
            listed,
            listed.capitalize() + ".",
            f"{_and(ordinals)} reading{'s' * (len(numbers) > 1)}",
            f"Readings {_and(cardinals)}",
        )
    )
    return numbers, noisy(drawn, dressed(drawn, text), prose=False)


def _and(words: list[str]) -> str:
    return ", ".join(words[:-1]) + (" and " if len(words) > 1 else "") + words[-1]


@_form("numbers", "counted, or with their readings")
def _counted(drawn: random.Random) -> Made:
    numbers = sorted(drawn.sample(range(1, 9), drawn.randint(1, 4)))
    listed = _and([str(n) for n in numbers])
    count = drawn.choice((str(len(numbers)), _COUNT[len(numbers)]))
    rows = drawn.sample(QUESTIONS, len(numbers))
    text = drawn.choice(
        (
            f"{count} of them: {listed}",
            f"{count} of the 9 candidates: {listed}",
            f"There are {count}: {listed}",
            "\n".join(f"{n}. {row}" for n, row in zip(numbers, rows, strict=True)),
            "\n".join(f"[{n}] {row}" for n, row in zip(numbers, rows, strict=True)),
            "\n".join(f"Reading {n}: {row}" for n, row in zip(numbers, rows, strict=True)),
        )
    )
    return numbers, noisy(drawn, text, prose=False)


@_form("numbers", "none")
def _no_numbers(drawn: random.Random) -> Made:
    told = (
        "none",
        "None.",
        "[]",
        "N/A",
        "null",
        "None of the 5 candidates",
        "None of them.",
        "None of the readings is covered.",
        "No readings.",
        "none of the 3 readings",
        "**none**",
        '{"covered": []}',
    )
    return [], noisy(drawn, drawn.choice(told), prose=False)


@_form("numbers", "graded, ranges, or unclear")
def _graded(drawn: random.Random) -> Made:
    told = (
        "1: yes\n2: no",
        "all but 2",
        "1-3",
        "1 to 3",
        "1, 3 (not 2)",
        "only one reading is covered",
        "both",
        "all",
        "1, 3 (2 has another year)",
        "2 readings",
        "the first three",
        "1 is covered and 2 isn't",
        *REFUSALS,
    )
    return REFUSED, noisy(drawn, drawn.choice(told), prose=False)


_TYPES = ("AmbSub", "AmbObj", "AmbPred", "AmbTime", "AmbLoc")


@_form("types", "labels")
def _types(drawn: random.Random) -> Made:
    labels = drawn.sample(_TYPES, drawn.randint(1, 3))
    case = drawn.choice((str, str.lower, str.upper))
    form, gap = drawn.choice(("{}", "[{}]", "**{}**", "`{}`")), drawn.choice((", ", " ", "\n", " and ", "; ", "\n- "))
    text = gap.join(form.format(case(label)) for label in labels)
    text = drawn.choice((text, text, json.dumps(labels), json.dumps({"ambiguity_types": labels}), f"Types: {text}"))
    return labels, noisy(drawn, text, fence="")


@_form("types", "some denied")
def _denied(drawn: random.Random) -> Made:
    labels = drawn.sample(_TYPES, drawn.randint(2, 3))
    form = drawn.choice(
        ("{} (not {})", "{}, not {}", "{}; no {}", "{}: yes\n{}: no", "{} rather than {}", "{}. {} does not apply.")
    )
    return labels[:-1], noisy(drawn, form.format(", ".join(labels[:-1]), labels[-1]), prose=False)


@_form("types", "none")
def _no_types(drawn: random.Random) -> Made:
    told = (
        "N/A",
        "[N/A]",
        "n/a.",
        "none",
        "None.",
        "[]",
        "Unambiguous",
        "The question is not ambiguous.",
        "**N/A**",
        '["N/A"]',
    )
    return ["N/A"], noisy(drawn, drawn.choice(told), prose=False)


_LONG = (
    "It may mean two games. In 1998 they were held in Nagano [1], in 2002 in Salt Lake City [2].",
    '"Hello" was first sung by Adele, then by others. No, not by Lionel Richie: his is another "Hello".',
    "It can mean several things:\n\n1. In 1998, Nagano.\n2. In 2002, Salt Lake City.\n\nNeither hosted twice.",
    "None of the Above is a film of 1998; Unknown Pleasures is an album.",
)


@_form("long answer", "text")
def _long(drawn: random.Random) -> Made:
    meant = drawn.choice(_LONG)
    text = drawn.choice(
        (
            meant,
            meant,
            f"Answer: {meant}",
            f"**Answer**: {meant}",
            f"**Answer:**\n{meant}",
            f"## Answer\n{meant}",
            f"```\n{meant}\n```",
        )
    )
    text += drawn.choice(("", "", "\n\nI hope this helps!", "\n\nNote: the passages disagree on the year."))
    return meant, noisy(drawn, text, prose=False, lines=False)


@_form("long answer", "refusal, or empty")
def _no_long(drawn: random.Random) -> Made:
    return REFUSED, noisy(drawn, drawn.choice((*REFUSALS, "", "Answer:", "null", "**None**", "```\n```")), prose=False)


@_form("nothing", "abstentions")
def _nothing(drawn: random.Random) -> Made:
    return True, noisy(drawn, drawn.choice(("", "", "- ")) + dressed(drawn, drawn.choice(ABSTAINING)), prose=False)


@_form("nothing", "answers that look like abstentions")
def _something(drawn: random.Random) -> Made:
    return False, noisy(drawn, drawn.choice(("", "", "- ")) + dressed(drawn, drawn.choice(ANSWERS)), prose=False)
