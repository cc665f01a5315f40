"""Questions made from a passage (SIXPAQ): what may be asked for, a clause turned round, and the question revised."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from polyqa.metrics.text import Sentence, content_words, holds, sentences, split_title
from polyqa.models import Task, Writer, Written

from .answer_kinds import fits_kind, names_and_figures
from .evidence import Models
from .grammar import BASE_OF_PAST, DATE, PAST_OF_PARTICIPLE, Clause, candidate_spans, clauses
from .prompt import Prompt, PromptPassage
from .titles import named, stands_for_title, subject_for_question, topic_nouns
from .wordings import well_formed

_MOST = 8
_MOST_TOLD = re.compile(r"\bAt most (\d+)\b")
_NO_QUESTION = "None"
# Mean log-probability of the writer's tokens: below it most questions are none that a person would ask.
_SURE = -0.55
_PLACED_VERBS = "born buried built cast crowned discovered erected filmed held launched made rebuilt"
_PLACED = frozenset(_PLACED_VERBS.split())
_PASSED_ON = frozenset({"sold", "given", "awarded", "leased", "transferred", "donated"})
_INFINITIVES = frozenset(BASE_OF_PAST.values())
_CALLED = frozenset({"renamed", "called", "nicknamed", "named"})
_MEASURES = {"tall", "long", "high", "wide", "deep"}
# Adjuncts are left out of a question, complements stay: "moved inland", "raised to 150 feet".
_COMPLEMENT = re.compile(r"^(?:to|into|with|as|for)\b(?!.*(?:ly|ago)$)")
_ADJUNCT = re.compile(r"\s*\b(?:by|in|on|at|under|during|near|after|before|until|since|between)\b.*$")
# Nothing or a short object, and after it nothing but adjuncts.
_OBJECT = re.compile(r"((?:the|an?) (?:[a-z-]+ )?[a-z]+)?(?:(?:^| )(?:by|in|on|at|from|near|under|during|off)\b.*)?$")
_ROLES = (
    r"(?:chief |lead |consulting |first |main )?(?:architect|engineer|designer|builder|director|author|composer|"
    r"captain|founder|owner|leader|contractor|producer|sculptor|painter|inventor|manager|president|editor)"
)
_ROLE_TOLD = re.compile(rf"(?:Its|The|the|its) {_ROLES}\b")
_DONE_BY = re.compile(r"[A-Z][a-z]+ by ")
# A name that a noun follows is a part of what is meant: "by the Acme glassworks".
_NAME_ENDS = re.compile(r"\s*(?:$|[,.;:]|(?:and|as|at|before|for|from|in|near|of|on|to|under|until|who|whose|with)\b)")
_POINTS = re.compile(
    r"\b(?:it|its|this|these|those|he|him|his|she|her|they|them|their|here|above|the (?:passage|text|article))\b"
)
_PRONOUN = re.compile(r"\b(?:it|this)\b(?= (?:[a-z]+|\?)|\?)")


def detect_answers(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``answers``: at most eight spans, or as many as the instructions say in figures.

    Those come first that a rule makes a question for, then those for which the writer is surest of its question.
    """
    passage = prompt.passages("passage")[0]
    found = candidate_spans(passage)
    ruled = [span for span in found if next(questions_for(passage, span), None)]
    written = written_questions(passage, [span for span in found if span not in ruled], models.writer)
    asked = [*ruled, *sorted(written, key=lambda span: -written[span].score)]
    told = _MOST_TOLD.search(prompt.instructions)
    most = int(told[1]) if told else _MOST
    return {"answers": [*asked, *(span for span in found if span not in asked)][:most]}


def generate_question(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``question``: of the sentences that hold the answer, the first that a rule can turn round.

    The question has the fewest words that lead to the answer: who did it is left out when it is asked
    when, and the other way round. Where no rule fits the writer writes it. ``None`` stands for no question.
    """
    passage = prompt.passages("passage")[0]
    answer = prompt.inputs.get("answer", "").strip()
    if not answer or not passage.text:
        return {"question": _NO_QUESTION}
    made = next(questions_for(passage, answer), None)
    if made is None and (written := written_questions(passage, [answer], models.writer)):
        made = written[answer].question
    return {"question": made or _NO_QUESTION}


def written_questions(passage: PromptPassage, spans: Sequence[str], writer: Writer) -> dict[str, Written]:
    """Return what the writer asks for spans of a passage, where it is sure of a well-formed question about a name."""
    places = {span: passage.text.find(span) for span in spans}
    found = {span: Task(passage.text, at, at + len(span), passage.title) for span, at in places.items() if at >= 0}
    written = dict(zip(found, writer.write(list(found.values())), strict=True))
    return {
        span: one
        for span, one in written.items()
        if one.score >= _SURE and well_formed(one.question, span) and _named(one.question)
    }


def _named(question: str) -> bool:
    """Return whether a question has a name or a figure, and that before what points to something: "their", "him".

    "It" may stand first where revision puts the title in its place.
    """
    points = _POINTS.search(_PRONOUN.sub("", question))
    return bool(names_and_figures(question[: points.start()] if points else question))


def revise_question(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``revised_question``: one thing that is missing is added at a time, nothing if none is.

    First "it" or "the bridge" becomes the title's name; when the name stands there, its qualifier follows
    in brackets. A word that would tell the answer is not added.
    """
    question, passage = prompt.question, prompt.passages("passage")[0]
    answer = prompt.inputs.get("answer", "")
    name, qualifier = split_title(passage.title)
    revised = question
    if name and not holds(question, name):
        nouns = "|".join(sorted(map(re.escape, topic_nouns(passage))))
        pattern = re.compile(rf"\b(?:the|this) (?:{nouns})\b(?! [A-Z])") if nouns else _PRONOUN
        for one in (_PRONOUN, pattern):
            if one.search(question):
                revised = one.sub(lambda _: named(passage), question, count=1)
                break
    elif name and qualifier and not set(content_words(qualifier)) <= set(content_words(question)):
        place = re.search(re.escape(name), question)
        if place:
            revised = f"{question[: place.end()]} ({qualifier}){question[place.end() :]}"
    return {"revised_question": question if answer and holds(revised, answer) else revised}


def ask_of_namesakes(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill no question: this engine asks of one passage at a time; `polyqa.questions` joins what it asks."""
    return dict.fromkeys(("question", "first_answer", "second_answer"), _NO_QUESTION)


class _Gap(NamedTuple):
    """A clause in which an answer stands after the verb, and how a question names the clause's subject."""

    clause: Clause
    answer: str
    before: str
    """What stands between the verb and the answer."""
    subject: str
    passage: PromptPassage


def questions_for(passage: PromptPassage, answer: str) -> Iterator[str]:
    """Yield the questions that the rules make for an answer, in the order of the passage."""
    for sentence in sentences(passage.text):
        if not holds(sentence.text, answer):
            continue
        for question in (own(sentence, answer, passage) for own in (_role, _maker, _opening)):
            if question:
                yield question
        for clause in clauses(sentence.text):
            before = _before(clause, answer)
            subject = None if before is None else subject_for_question(clause.subject, passage)
            if before is None or subject is None:
                continue
            for rule in _RULES:
                question = rule(_Gap(clause, answer, before, subject, passage))
                if question and not holds(question, answer):
                    yield f"{' '.join(question.split())}?"


def _before(clause: Clause, answer: str) -> str | None:
    """Return what stands between the verb and the answer, if the answer stands there as it is."""
    if answer not in clause.rest:  # here and below: compiling a pattern for every answer costs more than all else
        return None
    match = re.search(rf"(?<![\w’'-]){re.escape(answer)}(?![\w’'-])", clause.rest)
    return clause.rest[: match.start()].rstrip() if match else None


def _complement(text: str) -> str:
    text = text.strip()
    kept = _ADJUNCT.sub("", text).strip(" ,")
    return kept if kept and _COMPLEMENT.match(kept) and len(kept.split()) <= 5 else ""


def _when(gap: _Gap) -> str | None:
    clause, subject = gap.clause, gap.subject
    if not DATE.fullmatch(gap.answer) or not re.search(r"(?:^| )(?:in|on)$", gap.before):
        return None
    if not clause.verb or clause.verb in ("has", "had"):
        return None
    before = re.sub(r"(?:^| )(?:in|on)$", "", gap.before)
    if re.search(r",|\band\b", before) or any(word in _INFINITIVES for word in re.findall(r"\bto ([a-z]+)", before)):
        return None  # the date may belong to something else
    if clause.auxiliary:
        return f"When {clause.auxiliary} {subject} {clause.adverb} {clause.verb} {_complement(before)}"
    base = BASE_OF_PAST.get(clause.verb)
    whole = _OBJECT.match(before.strip())
    if not base or not whole or (whole[1] and split_title(gap.passage.title)[0] not in subject):
        return None  # "When did A add a wing?" leaves open to what
    return f"When did {subject} {base} {whole[1] or ''}"


def _who_by(gap: _Gap) -> str | None:
    clause = gap.clause
    past = PAST_OF_PARTICIPLE.get(clause.verb)
    if not clause.auxiliary or past is None:
        return None
    agent = re.search(r"(?:^|^(?P<kept>.*?) )by(?: (?:the|a|an|his|her))?(?: [a-z]+){0,3}$", gap.before)
    if not agent or not fits_kind(gap.answer, "person") or DATE.search(gap.answer):
        return None
    if not _NAME_ENDS.match(_after(gap)):
        return None
    kept = (agent["kept"] or "").strip()
    kept = "" if _ADJUNCT.fullmatch(f" {kept}") else kept
    if kept and not _complement(kept):
        return None
    adverb = f"{clause.adverb} " if clause.adverb else ""
    return f"Who {adverb}{past} {gap.subject} {kept}"


def _to_whom(gap: _Gap) -> str | None:
    clause = gap.clause
    if not clause.auxiliary or clause.verb not in _PASSED_ON or gap.before != "to":
        return None
    return f"Who {clause.auxiliary} {gap.subject} {clause.verb} to"


def _what_called(gap: _Gap) -> str | None:
    clause = gap.clause
    if not clause.auxiliary or clause.verb not in _CALLED or gap.before not in ("", "the"):
        return None
    return f"What {clause.auxiliary} {gap.subject} {clause.verb}"


def _where(gap: _Gap) -> str | None:
    clause = gap.clause
    if not clause.auxiliary or clause.verb not in _PLACED or DATE.search(gap.answer):
        return None
    return f"Where {clause.auxiliary} {gap.subject} {clause.verb}" if gap.before in ("in", "at", "near") else None


def _how_much(gap: _Gap) -> str | None:
    clause, subject = gap.clause, gap.subject
    after = _after(gap).split()
    if gap.before:
        return None
    if clause.auxiliary and not clause.verb and after and after[0].strip(",") in _MEASURES:
        return f"How {after[0].strip(',')} {clause.auxiliary} {subject}"
    if clause.verb in ("has", "had") and after and gap.answer[-1:].isalnum():
        counted = []
        for word in after:
            counted.append(word.strip(",."))
            if not re.fullmatch(r"[a-z-]+", counted[-1]):
                return None
            if counted[-1].endswith("s"):
                does = "does" if clause.verb == "has" else "did"
                return f"How many {' '.join(counted)} {does} {subject} have" if len(counted) <= 2 else None
    return f"How much did {subject} cost" if clause.verb == "cost" else None


def _after(gap: _Gap) -> str:
    return gap.clause.rest[len(gap.before) :].strip().removeprefix(gap.answer)


def _role(sentence: Sentence, answer: str, passage: PromptPassage) -> str | None:
    """Turn round "Its architect was A" and "A was the engineer of the bridge"."""
    name, text = re.escape(answer), sentence.text
    if not _ROLE_TOLD.search(text):
        return None
    match = re.match(rf"(?:Its|The) ({_ROLES}) was {name}\b", text)
    if not match:
        match = re.match(rf"{name} was (?:the|its) ({_ROLES})(?: of ((?:the|this) [a-z]+))?(?=[.,; ]|$)", text)
        if match and match[2] and not stands_for_title(match[2], passage):
            return None
        after = text[match.end() :] if match else ""
        if match and not match[2] and after.startswith(" of "):
            return None
    return f"Who was the {match[1]} of {named(passage)}?" if match and fits_kind(answer, "person") else None


def _maker(sentence: Sentence, answer: str, passage: PromptPassage) -> str | None:
    """Turn round "A, a Swiss engineer, designed the first bridge at Westminster"."""
    if not sentence.text.startswith(answer):
        return None
    match = re.match(
        rf"{re.escape(answer)}(?:, [^,]*,)? ([a-z]+) ((?:this|the)(?: [\w’'-]+){{1,5}}?)"
        r"(?=[.,;]| (?:on|at|in|of|as|over|under|between|which|that|with|off|across|and|from|for)\b)",
        sentence.text,
    )
    if not match or match[1] not in BASE_OF_PAST or not fits_kind(answer, "person"):
        return None
    return f"Who {match[1]} {named(passage)}?" if stands_for_title(match[2], passage) else None


def _opening(sentence: Sentence, answer: str, passage: PromptPassage) -> str | None:
    """Turn round "Designed by A, the bridge ..."."""
    if not _DONE_BY.match(sentence.text):
        return None
    match = re.match(rf"([A-Z][a-z]+) by (?:the [a-z]+ )?{re.escape(answer)}, (\w+(?: [a-z]+)?)\b", sentence.text)
    past = PAST_OF_PARTICIPLE.get(match[1].lower()) if match else None
    about = [words for words in (match[2], match[2].split()[0]) if stands_for_title(words, passage)] if match else []
    return f"Who {past} {named(passage)}?" if past and about and fits_kind(answer, "person") else None


_RULES: tuple[Callable[[_Gap], str | None], ...] = (_when, _who_by, _how_much, _to_whom, _what_called, _where)
