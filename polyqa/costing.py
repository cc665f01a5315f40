"""What a question costs with a program, before anything is sent: calls, round trips, tokens, money."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import dspy

from polyqa.colbert_index import ColBERTIndex
from polyqa.evaluation.dry_run import DryCall, DryRun, Rehearsal
from polyqa.evaluation.prices import CACHED_FROM, Price, price_of
from polyqa.evaluation.prompt_cache import repeated_tokens
from polyqa.evaluation.prompt_parts import PARTS, count_parts
from polyqa.evaluation.tokens import Tokenizer, tokenizer, tokenizer_of
from polyqa.programs.registry import most_calls

from .asking import check_question
from .helper_lm import give_helper
from .language_models import embedded_engine
from .loading import DEFAULT_PROGRAM, load
from .question_sets import Given, Questions, as_questions

SAMPLE = Questions("homonyms/dev", limit=5)


@dataclass(frozen=True)
class CallCost:
    """What one call takes.

    Attributes
    ----------
    step
        Name of the predictor.
    lm
        What is asked: the language model that is priced, or the predictor's own; ``None`` if it is not named.
    parts
        Input tokens by `polyqa.evaluation.prompt_parts.PARTS`.
    output_tokens
        Of the reply.
    cached_tokens
        Input tokens that the provider may have cached.
    dollars, dollars_cached
        Without and with the provider's cache; ``None`` if the price is not known.
    """

    step: str
    lm: str | None
    parts: dict[str, int]
    output_tokens: int
    cached_tokens: int
    dollars: float | None
    dollars_cached: float | None

    @property
    def input_tokens(self) -> int:
        """All tokens of the prompt."""
        return sum(self.parts.values())


@dataclass(frozen=True)
class QuestionCost:
    """What one question takes: its calls, and how many round trips it waits for, one after the other."""

    question: str
    calls: Sequence[CallCost]
    depth: int


class Spread(NamedTuple):
    """A figure over the questions: its mean, the lowest and the highest."""

    mean: float
    low: float
    high: float


class StepCost(NamedTuple):
    """What the calls of one predictor take on average, for each question."""

    step: str
    calls: float
    parts: dict[str, float]
    output_tokens: float

    @property
    def input_tokens(self) -> float:
        """All tokens of its prompts."""
        return sum(self.parts.values())


class LMCost(NamedTuple):
    """What the calls of one language model take on average, for each question.

    Its fields are those of `StepCost` and `CallCost`; ``steps`` are the predictors that ask it.
    """

    lm: str | None
    steps: list[str]
    calls: float
    input_tokens: float
    cached_tokens: float
    output_tokens: float
    dollars: float | None
    dollars_cached: float | None


@dataclass(frozen=True)
class Cost:
    """What a question costs with a program.

    Attributes
    ----------
    program, tokenizer, lm
        Their names; the language model is the one that answers, if it is priced. What others take stands in ``lms``.
    source
        Where the questions are from.
    questions
        What each of them takes.
    most_calls
        How many calls the program makes at most; ``None`` if there is no telling.
    price
        Of the language model; ``None`` if it is not known.
    """

    program: str
    tokenizer: str
    lm: str | None
    source: str
    questions: Sequence[QuestionCost] = field(repr=False)
    most_calls: int | None
    price: Price | None

    @property
    def calls(self) -> Spread:
        """Calls of language models."""
        return self._spread(lambda one: len(one.calls))

    @property
    def depth(self) -> Spread:
        """Round trips that a question waits for, one after the other."""
        return self._spread(lambda one: one.depth)

    @property
    def input_tokens(self) -> Spread:
        """Tokens of all prompts."""
        return self._spread(lambda one: sum(call.input_tokens for call in one.calls))

    @property
    def cached_tokens(self) -> Spread:
        """Those of the input tokens that the provider may have cached."""
        return self._spread(lambda one: sum(call.cached_tokens for call in one.calls))

    @property
    def output_tokens(self) -> Spread:
        """Tokens of all replies."""
        return self._spread(lambda one: sum(call.output_tokens for call in one.calls))

    @property
    def dollars(self) -> Spread | None:
        """US dollars without the provider's cache; ``None`` if a price is not known."""
        return self._dollars(lambda call: call.dollars)

    @property
    def dollars_cached(self) -> Spread | None:
        """US dollars if the provider caches what prompts begin alike with; ``None`` if there is no price of that."""
        known = self.price is not None and self.price.cached is not None
        return self._dollars(lambda call: call.dollars_cached) if known else None

    @property
    def steps(self) -> list[StepCost]:
        """The means by step, in the order in which the steps are first taken."""
        count = len(self.questions)
        every = [call for one in self.questions for call in one.calls]
        steps = []
        for name in dict.fromkeys(call.step for call in every):
            own = [call for call in every if call.step == name]
            parts = {part: sum(call.parts[part] for call in own) / count for part in PARTS}
            steps.append(StepCost(name, len(own) / count, parts, sum(call.output_tokens for call in own) / count))
        return steps

    @property
    def lms(self) -> list[LMCost]:
        """The means by language model, the one that answers first."""
        every = [call for one in self.questions for call in one.calls]
        names = dict.fromkeys(call.lm for call in every)
        return [
            self._lm_cost(name, [call for call in every if call.lm == name])
            for name in sorted(names, key=lambda name: name != self.lm)
        ]

    @property
    def parts(self) -> dict[str, float]:
        """Mean input tokens by part."""
        return {part: sum(step.parts[part] for step in self.steps) for part in PARTS}

    def to_dict(self) -> dict[str, Any]:
        """Return the cost as JSON data."""
        spreads = ("calls", "depth", "input_tokens", "cached_tokens", "output_tokens", "dollars", "dollars_cached")
        found = {name: getattr(self, name) for name in spreads}
        return {
            "program": self.program,
            "tokenizer": self.tokenizer,
            "lm": self.lm,
            "source": self.source,
            "questions": [one.question for one in self.questions],
            "most_calls": self.most_calls,
            **{name: None if one is None else one._asdict() for name, one in found.items()},
            "parts": self.parts,
            "steps": [{**step._asdict(), "input_tokens": step.input_tokens} for step in self.steps],
            "lms": [one._asdict() for one in self.lms],
            "price": None if self.price is None else asdict(self.price),
        }

    def _spread(self, figure: Callable[[QuestionCost], float]) -> Spread:
        figures = [figure(one) for one in self.questions]
        return Spread(fmean(figures), min(figures), max(figures))

    def _lm_cost(self, name: str | None, calls: Sequence[CallCost]) -> LMCost:
        count = len(self.questions)

        def mean(figures: Sequence[float | None]) -> float | None:
            known = [figure for figure in figures if figure is not None]
            return sum(known) / count if len(known) == len(figures) else None

        return LMCost(
            lm=name,
            steps=list(dict.fromkeys(call.step for call in calls)),
            calls=len(calls) / count,
            input_tokens=sum(call.input_tokens for call in calls) / count,
            cached_tokens=sum(call.cached_tokens for call in calls) / count,
            output_tokens=sum(call.output_tokens for call in calls) / count,
            dollars=mean([call.dollars for call in calls]),
            dollars_cached=mean([call.dollars_cached for call in calls]),
        )

    def _dollars(self, figure: Callable[[CallCost], float | None]) -> Spread | None:
        sums: list[float] = []
        for one in self.questions:
            figures = [figure(call) for call in one.calls]
            known = [dollars for dollars in figures if dollars is not None]
            if len(known) < len(figures):
                return None
            sums.append(sum(known))
        return Spread(fmean(sums), min(sums), max(sums))


def cost(
    program: str | Path | dspy.Module = DEFAULT_PROGRAM,
    questions: Given = SAMPLE,
    *,
    question: str | Sequence[str] | None = None,
    lm: str | None = None,
    helper_lm: str | dspy.LM | None = None,
    tokenizer_name: str | None = None,
    index: str | Path | ColBERTIndex | None = None,
    **settings: Any,
) -> Cost:
    """Return what a question costs; nothing is sent.

    The program is run with the embedded engine in the place of the language model. Prompts are those that would be
    sent; later prompts hold the engine's earlier replies, and another model's may be longer or shorter. What a
    reasoning model thinks is not among the tokens.

    Parameters
    ----------
    program
        A name or path that `polyqa.load` takes, or a program from it.
    questions
        Of what kind; by default five of the shipped ones. Take such as are asked of your index.
    question
        One question, or several, in place of those.
    lm
        Whose price counts, such as ``openai/gpt-4o-mini``. A predictor that has a language model of its own is priced
        by that.
    helper_lm
        A second language model for the calls that it would make (`polyqa.helper_lm`), by name: it needs no key here.
        Its tokens are counted as those of ``lm``.
    tokenizer_name
        See `polyqa.evaluation.tokens.tokenizer`; by default that of ``lm`` if tiktoken knows it, else
        ``o200k_base``.
    index, settings
        See `polyqa.load`; not used if ``program`` is a program.

    Raises
    ------
    PolyqaError
        If something the user gave is missing or wrong.
    """
    counting = tokenizer(tokenizer_name or tokenizer_of(lm))
    asked = as_questions(questions)
    given = [question] if isinstance(question, str) else question
    texts = [check_question(one) for one in given] if given is not None else [one.question for one in asked.asked]
    ready = load(program, index=index, **settings) if isinstance(program, (str, Path)) else program
    if helper_lm is not None:
        ready = _helped(ready, helper_lm)
    rehearsal = Rehearsal(ready, embedded_engine())
    runs = [rehearsal.run(text) for text in texts]
    repeated = repeated_tokens(runs, counting)
    return Cost(
        program=str(program) if isinstance(program, (str, Path)) else type(program).__name__,
        tokenizer=counting.name,
        lm=lm,
        source="your question" if question is not None else asked.described,
        questions=[
            _question_cost(text, run, shared, counting, lm)
            for text, run, shared in zip(texts, runs, repeated, strict=True)
        ],
        most_calls=most_calls(ready),
        price=price_of(lm) if lm else None,
    )


def _helped(program: dspy.Module, helper_lm: str | dspy.LM) -> dspy.Module:
    """Return a copy of a program in which a helper makes its calls; a key is not needed, as nothing is sent."""
    copy = program.deepcopy()
    give_helper(copy, dspy.LM(helper_lm, api_key="none") if isinstance(helper_lm, str) else helper_lm)
    return copy


def _question_cost(
    question: str, run: DryRun, repeated: Sequence[int], counting: Tokenizer, lm: str | None
) -> QuestionCost:
    calls = [_call_cost(call, alike, counting, lm) for call, alike in zip(run.calls, repeated, strict=True)]
    return QuestionCost(question, calls, run.depth)


def _call_cost(call: DryCall, repeated: int, counting: Tokenizer, lm: str | None) -> CallCost:
    parts = count_parts(call, counting)
    input_tokens, output_tokens = sum(parts.values()), len(counting.encode(call.reply).ids)
    own = call.lm or lm
    price = price_of(own) if own else None
    cached = repeated if repeated >= (CACHED_FROM if price is None else price.cached_from) else 0
    return CallCost(
        step=call.step,
        lm=own,
        parts=parts,
        output_tokens=output_tokens,
        cached_tokens=cached,
        dollars=None if price is None else price.of(input_tokens, output_tokens),
        dollars_cached=None if price is None else price.of(input_tokens, output_tokens, cached),
    )
