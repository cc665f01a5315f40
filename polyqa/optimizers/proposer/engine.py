"""The embedded writer of instructions as a language model: answers the prompts of DSPy's optimizers, and no others."""

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from dspy.lm15 import InvalidRequestError, Message, Request, Response, Usage, response_to_events

from polyqa.extractive import PROPOSER
from polyqa.extractive.engine import InThread, messages_of
from polyqa.extractive.prompt import Prompt, PromptError, parse_prompt, render_reply
from polyqa.lm.client import RecentLM

from .feedback import suggestions
from .proposals import attempts_in, clauses_of, proposals

_MODULE = re.compile(r"^Module (\S+)$", re.M)
_LIMIT = re.compile(r"\d[\d,]*")


class ProposerEngine:
    """Writes instructions for COPRO, MIPROv2, SIMBA and GEPA: the instruction that it is given, with one more clause.

    It proposes clauses of `polyqa.optimizers.clauses.LIBRARY`, those first that feedback or better scores speak for.
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
        outputs = frozenset(prompt.output_fields)
        skill = next((own for fields, own in self._skills.items() if fields == outputs), None)
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
        """Return of what is offered the first that was not told of this matter yet."""
        with self._lock:
            told = self._asked[about]
            self._asked[about] += 1
        return next(islice(offered, told, None))

    def _for_copro(self, prompt: Prompt) -> dict[str, object]:
        given = prompt.inputs.get("basic_instruction", "")
        tried = attempts_in(prompt.inputs.get("attempted_instructions", ""))
        best = max(tried, key=lambda text: tried[text]) if tried else given
        return {
            "proposed_instruction": self._next(best, proposals(best, tried=tried)),
            "proposed_prefix_for_output_field": "",
        }

    def _for_mipro(self, prompt: Prompt) -> dict[str, object]:
        given = prompt.inputs.get("basic_instruction", "")
        return {"proposed_instruction": self._next(given, proposals(given))}

    def _for_gepa(self, prompt: Prompt) -> dict[str, object]:
        given = prompt.inputs.get("current_instruction", "")
        feedback = prompt.inputs.get("examples_with_feedback", "").replace("\\n", "\n")
        wanted = suggestions(feedback, clauses_of(given))
        return {"new_instruction": self._next(given, proposals(given, wanted))}

    def _for_simba(self, prompt: Prompt) -> dict[str, object]:
        described = dict(_modules(prompt.inputs.get("modules_defn", "")))
        said = prompt.inputs.get("worse_reward_info", "").replace("\\n", "\n")
        advice = {}
        for name, text in described.items():
            candidates = clauses_of(text)
            wanted = suggestions(said, candidates)
            advice[name] = self._next(name, _texts([*wanted, *(one for one in candidates if one not in wanted)]))
        return {"discussion": "One clause for each module.", "module_advice": advice}


def _texts(candidates: Iterable[Any]) -> Iterator[str]:
    ordered = [one.text for one in candidates]
    while True:
        yield from ordered


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
    """Return the embedded writer of instructions as a `dspy.LM`, a new one each time: it counts what it told."""
    engine = ProposerEngine()
    given = {"cache": False, "num_retries": 0, "temperature": 1.0, **settings}
    return RecentLM(PROPOSER, engine=engine, async_engine=InThread(engine), **given)
