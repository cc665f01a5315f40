"""The embedded writer of instructions: answers the prompts of DSPy's optimizers, and no others; no key, no network.

What it proposes is the instruction that it is given, with one more clause of the library, those first that
feedback (`polyqa.metrics.feedback`, read back) or better scores speak for.
"""

import random
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle, islice
from statistics import mean
from typing import Any

import dspy
from dspy.lm15 import InvalidRequestError, Message, Request, Response, Usage, response_to_events

from polyqa.extractive import PROPOSER
from polyqa.extractive.clauses import parts_of
from polyqa.extractive.engine import InThread, messages_of
from polyqa.extractive.prompt import Prompt, PromptError, parse_prompt, render_reply
from polyqa.lm.client import RecentLM
from polyqa.metrics.text import normalize_words

from .clauses.library import LIBRARY, Candidate

_MODULE = re.compile(r"^Module (\S+)$", re.M)
_LIMIT = re.compile(r"\d[\d,]*")
_ATTEMPT = re.compile(r"Instruction #(?P<number>\d+): (?P<text>.*?)(?=\s*Prefix #(?P=number):)", re.S)
_MARKS = re.compile(r"^\[\d+\] «+\n?|\n?»+$", re.M)  # what DSPy puts around the items of a list
_SCORE = re.compile(r"Resulting Score #(\d+): (\d+(?:\.\d+)?)")
# What feedback says, and the clauses that would have helped, by name.
_SAYS: Mapping[str, tuple[str, ...]] = {
    r"overlooked readings whose answers stand in its passages": ("possible", "no-lone-reading"),
    r"(?m)^Missed:": ("possible", "no-lone-reading"),
    r"extracted readings that are not wanted": ("certain", "agree", "three-readings", "two-readings"),
    r"question has one meaning, yet": ("few-guesses",),
    r"called the question ambiguous; it has one meaning": ("plain-in-doubt",),
    r"but the answer reads as": ("brief", "full-names", "titles", "agree"),
    r"this step said Yes, but the passages do not hold": ("no-in-doubt", "strict"),
    r"this step said No, but the passages do hold": ("yes-in-doubt", "lenient"),
    r"does not hold, for its answer is not wanted": ("strict", "no-in-doubt"),
    r"(?<!not )holds, for its answer is wanted": ("lenient", "yes-in-doubt"),
    r"given these readings and left their answers out": ("state",),
}
_LENGTH = re.compile(r"It has \d+ words; good answers to this question have about (\d+)\.")


class ProposerEngine:
    """Writes instructions for COPRO, MIPROv2, SIMBA and GEPA: the instruction that it is given, with one more clause.

    What it is asked again it answers with the next proposal, as a language model at a high temperature does; asked the
    same things in the same order it says the same. It knows nothing of the data.
    """

    def __init__(self) -> None:
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Response:
        """Return the reply to an optimizer's prompt.

        Raises
        ------
        dspy.lm15.InvalidRequestError
            If it is no prompt of one of those optimizers.
        """
        messages = messages_of(request)
        try:
            prompt = parse_prompt(messages)
        except PromptError as error:
            raise InvalidRequestError(f"{PROPOSER} cannot read this: {error}.") from error
        skill = self._skills.get(frozenset(prompt.output_fields))
        if skill is None:
            raise InvalidRequestError(
                f"{PROPOSER} writes instructions for DSPy's optimizers and answers nothing else; it was asked for "
                f"{', '.join(prompt.output_fields)}. Give a language model that answers with --lm."
            )
        text = render_reply(prompt, skill(prompt))
        usage = Usage(input_tokens=sum(len(text.split()) for _, text in messages), output_tokens=len(text.split()))
        message = Message.assistant(text)
        return Response(id=None, model=request.model, message=message, finish_reason="stop", usage=usage)

    def stream(self, request: Request) -> Any:
        """Return the events of the whole reply."""
        return response_to_events(self.complete(request))

    def close(self) -> None:
        """Do nothing: the engine holds no connection."""

    def dump_state(self) -> dict[str, str]:
        """Return nothing: there is nothing to save."""
        return {}

    @classmethod
    def load_state(cls, state: Mapping[str, str]) -> "ProposerEngine":
        """Make an engine."""
        return cls()

    def __deepcopy__(self, memo: dict[int, object]) -> "ProposerEngine":
        return self

    @property
    def _skills(self) -> Mapping[frozenset[str], Callable[[Prompt], dict[str, object]]]:
        return {
            frozenset({"proposed_instruction", "proposed_prefix_for_output_field"}): self._for_copro,
            frozenset({"proposed_instruction"}): self._for_mipro,
            frozenset({"new_instruction"}): self._for_gepa,
            frozenset({"shortened_instruction"}): _shortened,
            frozenset({"discussion", "module_advice"}): self._for_simba,
            frozenset({"program_description"}): lambda prompt: {
                "program_description": "The program answers a question that may have several readings."
            },
            frozenset({"module_description"}): lambda prompt: {"module_description": "One step of the program."},
            frozenset({"observations"}): lambda prompt: {"observations": "COMPLETE"},
            frozenset({"summary"}): lambda prompt: {"summary": "Questions of people with their answers."},
        }

    def _next(self, about: str, offered: Iterator[str]) -> str:
        """Return the first offer that was not made for this matter yet."""
        with self._lock:
            times = self._asked[about]
            self._asked[about] += 1
        return next(islice(offered, times, None))

    def _for_copro(self, prompt: Prompt) -> dict[str, object]:
        tried = attempts_in(prompt.inputs.get("attempted_instructions", ""))
        best = max(tried, key=lambda text: tried[text], default=prompt.inputs.get("basic_instruction", ""))
        return {
            "proposed_instruction": self._next(best, proposals(best, tried=tried)),
            "proposed_prefix_for_output_field": "",
        }

    def _for_mipro(self, prompt: Prompt) -> dict[str, object]:
        instruction = prompt.inputs.get("basic_instruction", "")
        return {"proposed_instruction": self._next(instruction, proposals(instruction))}

    def _for_gepa(self, prompt: Prompt) -> dict[str, object]:
        instruction = prompt.inputs.get("current_instruction", "")
        feedback = prompt.inputs.get("examples_with_feedback", "").replace("\\n", "\n")
        wanted = suggestions(feedback, clauses_of(instruction))
        return {"new_instruction": self._next(instruction, proposals(instruction, wanted))}

    def _for_simba(self, prompt: Prompt) -> dict[str, object]:
        feedback = prompt.inputs.get("worse_reward_info", "").replace("\\n", "\n")
        advice = {}
        for name, text in _modules(prompt.inputs.get("modules_defn", "")):
            candidates = clauses_of(text)
            ordered = dict.fromkeys([*suggestions(feedback, candidates), *candidates])
            advice[name] = self._next(name, cycle(candidate.text for candidate in ordered))
        return {"discussion": "One clause for each module.", "module_advice": advice}


def _modules(described: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the description of each module that SIMBA shows."""
    described = described.replace("\\n", "\n").replace("\\t", " ")
    heads = list(_MODULE.finditer(described))
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        yield head[1], described[head.end() : following.start() if following else len(described)]


def _shortened(prompt: Prompt) -> dict[str, object]:
    """Drop lines from the end but one until an instruction is short enough: the last one is the clause that is new."""
    lines = prompt.inputs.get("instruction", "").splitlines()
    found = _LIMIT.search(prompt.inputs.get("length_limit", ""))
    most = int(found[0].replace(",", "")) if found else 0
    while len(lines) > 1 and len("\n".join(lines)) > most:
        del lines[-2]
    return {"shortened_instruction": "\n".join(lines)}


def proposer_lm(**settings: Any) -> RecentLM:
    """Return the embedded writer of instructions as a `dspy.LM`, a new one each time: it counts what it proposed."""
    engine = ProposerEngine()
    settings = {"cache": False, "num_retries": 0, "temperature": 1.0, **settings}
    return RecentLM(PROPOSER, engine=engine, async_engine=InThread(engine), **settings)


def suggestions(feedback: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the clauses that feedback speaks for, those for which it says most first.

    Where it says how many words good answers have, a clause with their mean is made.
    """
    votes: Counter[str] = Counter()
    for pattern, names in _SAYS.items():
        said = len(re.findall(pattern, feedback))
        for rank, name in enumerate(names):
            votes[name] += said * (len(names) - rank)
    wanted = sorted((one for one in candidates if votes[one.name]), key=lambda one: -votes[one.name])
    lengths = [int(words) for words in _LENGTH.findall(feedback)]
    if lengths and any(one.group == "length" for one in candidates):
        words = round(mean(lengths), -1) or 10
        text = f"Write about {words:g} words."
        wanted.insert(0, Candidate(f"{words:g}-words", "length", text, "good answers have so many"))
    return wanted


def clauses_of(instruction: str) -> Sequence[Candidate]:
    """Return the clauses for the task that an instruction describes: the one most of whose sentences stand in it.

    Of an instruction that describes none of polyqa's tasks, those of all tasks.
    """
    sentences = _sentences(instruction)

    def share(task: type[dspy.Signature]) -> float:
        wanted = _sentences(task.instructions)
        return len(wanted & sentences) / len(wanted)

    best = max(LIBRARY, key=share)
    if share(best) > 0:
        return LIBRARY[best]
    return list(dict.fromkeys(one for clauses in LIBRARY.values() for one in clauses))


def _sentences(text: str) -> frozenset[str]:
    return frozenset(normalize_words(part) for part in parts_of(" ".join(text.split())))


def with_clause(instruction: str, clause: Candidate, others: Sequence[Candidate]) -> str:
    r"""Return an instruction with a clause at its end; others of the same group, which it contradicts, go.

    >>> two, one = (Candidate(n, "number", f"Give {n}.", "") for n in ("two", "one"))
    >>> with_clause("Find all. Give two.", one, [two, one])
    'Find all.\nGive one.'
    """
    for other in others:
        if other.group == clause.group:
            instruction = instruction.replace(other.text, "")
    lines = (line.strip() for line in instruction.splitlines())
    return "\n".join([*filter(None, lines), clause.text])


def proposals(
    instruction: str, suggested: Sequence[Candidate] = (), tried: Mapping[str, float] | None = None
) -> Iterator[str]:
    """Yield instructions to try, without end: with each clause that is not in it, the suggested ones first.

    Parameters
    ----------
    instruction
        What is to be made better.
    suggested
        Clauses that something speaks for, the likeliest first.
    tried
        Instructions that were tried, with their scores. Clauses that stand in one are passed over at first.

    Notes
    -----
    The order beyond the suggested ones is random, but always the same for an instruction. When every clause was
    proposed, pairs of them follow.
    """
    candidates = clauses_of(instruction)
    draw = random.Random(instruction)
    rest = [one for one in draw.sample(list(candidates), len(candidates)) if one not in suggested]
    fresh = [one for one in (*suggested, *rest) if one.text not in instruction]
    seen = " ".join(tried or ())
    fresh.sort(key=lambda one: one.text in seen)  # stable: the order stays otherwise
    for one in fresh:
        yield with_clause(instruction, one, candidates)
    while fresh:
        first, second = draw.choice(fresh), draw.choice(fresh)
        yield with_clause(with_clause(instruction, first, candidates), second, candidates)
    while True:
        yield instruction


def attempts_in(text: str) -> dict[str, float]:
    """Return the instructions that an optimizer's list of attempts names, with their scores (COPRO's form)."""
    text = _MARKS.sub("", text)
    scores = {number: float(score) for number, score in _SCORE.findall(text)}
    return {
        found["text"].strip(): scores[found["number"]] for found in _ATTEMPT.finditer(text) if found["number"] in scores
    }
