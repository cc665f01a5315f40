"""The embedded language model: DSPy's engine contract over the extractive skills."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import dspy
from dspy.lm15 import InvalidRequestError, Message, Request, Response, Usage

from polyqa import signatures
from polyqa.base.copies import Shared
from polyqa.base.values import Passage
from polyqa.lm.client import RecentLM
from polyqa.lm.recorded import events_of
from polyqa.lm.recorder import messages_of
from polyqa.models import Encoder, Reader, Writer
from polyqa.signatures.lookup import find_by_fields

from .ambiguity import infer_pseudo_interpretations, relax_query, rewrite_query, type_ambiguity
from .choices import select_passages, select_questions
from .clauses import hear
from .direct_answers import answer_closed_book, answer_from_text, answer_refined, asks_a_text, refine_question
from .evidence import Models
from .findings import aggregate_answers, read_document, tell_findings, verify_finding
from .judgements import grade_passage, verify, verify_against_root, verify_all, verify_readings
from .long_answers import clarify, compose_answer
from .own_questions import trust
from .prompt import Prompt, PromptError, parse_prompt, render_reply
from .question_making import ask_of_namesakes, ask_of_passage, detect_answers, generate_question, revise_question
from .readings import extract_interpretations, interpret_passage, locate_answer
from .segments import critique_segment, decide_retrieval, draft_segment

Skill = Callable[[Prompt, Models], dict[str, object]]
# Fields of `Clauses` that say something of a short answer, of readings, of long answers, of verdicts.
_OF_ONE_ANSWER = frozenset({"years"})
_OF_READINGS = _OF_ONE_ANSWER | {"most", "least", "certainty", "agreed"}
_OF_ANSWERS = frozenset({"words", "manner"})
_OF_VERDICTS = frozenset({"doubt"})


class Task(NamedTuple):
    """What the engine does for a prompt with exactly the outputs, and at least the inputs, of a signature.

    ``skill`` makes the outputs; it heeds the fields of `Clauses` in ``obeys``.
    """

    signature: type[dspy.Signature]
    skill: Skill
    obeys: frozenset[str] = frozenset()


TASKS: Mapping[type[dspy.Signature], Task] = {
    task.signature: task
    for task in (
        Task(signatures.TypeAmbiguity, type_ambiguity),
        Task(signatures.InferPseudoInterpretations, infer_pseudo_interpretations, frozenset({"most"})),
        Task(signatures.VerifyInterpretation, verify, _OF_VERDICTS),
        Task(signatures.VerifyInterpretations, verify_all, _OF_VERDICTS),
        Task(signatures.VerifyReadings, verify_readings, _OF_VERDICTS),
        Task(signatures.ClarifyQuestion, clarify, _OF_READINGS | _OF_ANSWERS),
        Task(signatures.ExtractInterpretations, extract_interpretations, _OF_READINGS),
        Task(signatures.WriteLongFormAnswer, compose_answer, _OF_ANSWERS),
        Task(signatures.AnswerClosedBook, answer_closed_book),
        Task(signatures.RefineQuestion, refine_question),
        Task(signatures.AnswerRefined, answer_refined),
        Task(signatures.VerifyAgainstRoot, verify_against_root, _OF_VERDICTS),
        Task(signatures.LocateAnswer, locate_answer, _OF_ONE_ANSWER | _OF_VERDICTS | {"agreed"}),
        Task(signatures.RelaxQuery, relax_query),
        Task(signatures.InterpretPassage, interpret_passage, _OF_ONE_ANSWER | {"certainty"}),
        Task(signatures.VerifyFinding, verify_finding),
        Task(signatures.TellFindings, tell_findings),
        Task(signatures.ReadDocument, read_document),
        Task(signatures.ReviseAnswer, read_document),
        Task(signatures.AggregateAnswers, aggregate_answers),
        Task(signatures.GradePassage, grade_passage),
        Task(signatures.RewriteQuery, rewrite_query),
        Task(signatures.DecideRetrieval, decide_retrieval),
        Task(signatures.DraftSegment, draft_segment),
        Task(signatures.CritiqueSegment, critique_segment),
        Task(signatures.SelectPassages, select_passages),
        Task(signatures.SelectQuestions, select_questions, frozenset({"most", "certainty"})),
        Task(signatures.DetectAnswers, detect_answers),
        Task(signatures.GenerateQuestion, generate_question),
        Task(signatures.ReviseQuestion, revise_question),
        Task(signatures.AskOfPassage, ask_of_passage),
        Task(signatures.AskOfNamesakes, ask_of_namesakes),
    )
}
MODEL_NAME = "polyqa/extractive"
_TYPED = re.compile(r"must be (?:True or False|a single \w+ value|one of: )|must exactly match|must adhere to the JSON")
"""What DSPy says of outputs that are no text."""


class ExtractiveEngine(Shared):
    """Answers the prompts of polyqa's signatures from what stands in them.

    It has no knowledge of its own. Of instructions it obeys the clauses that it knows (`clauses.CLAUSES`). It also
    answers signatures of a user's own that ask a ``question`` of a text and want an ``answer``. The same prompt always
    gets the same reply. Use it as ``dspy.LM("polyqa/extractive", engine=ExtractiveEngine(), …)``, or through
    `embedded_lm`.

    Parameters
    ----------
    encoder, reader, writer
        The models; the embedded ones if not given.
    """

    def __init__(
        self, encoder: Encoder | None = None, reader: Reader | None = None, writer: Writer | None = None
    ) -> None:
        self.models = Models(encoder or Encoder(), reader or Reader(precision="auto"), writer or Writer())

    def complete(self, request: Request) -> Response:
        """Return the reply to a rendered prompt, with its token usage.

        Raises
        ------
        dspy.lm15.InvalidRequestError
            If the messages are no prompt of DSPy, or their signature is not one of polyqa's.
        """
        messages = messages_of(request)
        try:
            prompt = parse_prompt(messages)
        except PromptError as error:
            raise InvalidRequestError(f"The extractive engine cannot read this: {error}.") from error
        task = find_by_fields(TASKS, prompt.input_fields, prompt.output_fields, exact=True)
        skill = _skill(prompt, task)
        if skill is answer_from_text and _TYPED.search(messages[0]["content"]):
            raise InvalidRequestError("The extractive engine quotes; an answer of another type needs another model.")
        if task is not None:
            heard = hear(prompt.instructions, task.signature.instructions, self.models.encoder)
            prompt = replace(prompt, clauses=heard.clauses)
        text = render_reply(prompt, skill(prompt, self.models))
        count = self.models.reader.count_tokens
        return Response(
            id=None,
            model=request.model,
            message=Message.assistant(text),
            finish_reason="stop",
            usage=Usage(input_tokens=sum(count(message["content"]) for message in messages), output_tokens=count(text)),
        )

    def stream(self, request: Request) -> Any:
        """Return the events of the reply; nothing is known before it is there as a whole."""
        return events_of(self.complete(request))

    def unheeded(self, signature: type[dspy.Signature]) -> tuple[str, ...]:
        """Return the sentences of a signature's instructions that this engine does not obey.

        They are neither the task itself, nor a clause that the engine knows and that says something of this task.
        Of a task that the engine does not know nothing is told: it refuses it.
        """
        task = find_by_fields(TASKS, signature.input_fields, signature.output_fields, exact=True)
        if task is None:
            return ()
        heard = hear(signature.instructions, task.signature.instructions, self.models.encoder)
        return heard.unheeded(task.obeys)

    def trust(self, questions: Sequence[tuple[str, str, Passage]]) -> list[float]:
        """Return how far this engine trusts questions that it made, each with answer and passage, in (0, 1).

        See `own_questions.trust`.
        """
        return trust(questions, self.models)

    def dump_state(self) -> dict[str, str]:
        """Return the names of the models, which is all there is to save."""
        models = self.models
        return {"encoder": models.encoder.name, "reader": models.reader.name, "writer": models.writer.name}

    @classmethod
    def load_state(cls, state: dict[str, str]) -> "ExtractiveEngine":
        """Make the engine that `dump_state` described."""
        return cls(
            Encoder(state["encoder"]),
            Reader(state["reader"], precision="auto"),
            Writer(state["writer"]),
        )


def _skill(prompt: Prompt, task: Task | None) -> Skill:
    skill = task and task.skill
    if skill in (None, answer_closed_book) and asks_a_text(prompt.input_fields, prompt.output_fields):
        skill = answer_from_text
    if skill is None:
        raise InvalidRequestError(
            f"The extractive engine does not know the signature {', '.join(prompt.input_fields)} -> "
            f"{', '.join(prompt.output_fields)}. It knows any text, question -> answer, and those of polyqa's "
            "programs. For others use a language model."
        )
    if "question" in prompt.input_fields and "question" not in prompt.inputs:
        raise InvalidRequestError("The prompt holds no question.")
    return skill


class AsyncExtractiveEngine(Shared):
    """The same engine for ``async_engine=``: the work is done in a thread, the loop stays free."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine

    async def complete(self, request: Request) -> Response:
        """Answer a request as the engine does."""
        return await asyncio.to_thread(self.engine.complete, request)

    async def stream(self, request: Request) -> Any:
        """Yield the events of a reply, which is there as a whole."""
        for event in events_of(await self.complete(request)):
            yield event

    def dump_state(self) -> dict[str, str]:
        """See `ExtractiveEngine.dump_state`."""
        return self.engine.dump_state()

    @classmethod
    def load_state(cls, state: dict[str, str]) -> "AsyncExtractiveEngine":
        """See `ExtractiveEngine.load_state`."""
        return cls(ExtractiveEngine.load_state(state))


def embedded_lm(engine: ExtractiveEngine | None = None, **settings: Any) -> Any:
    """Return the embedded language model as a `dspy.LM`.

    Parameters
    ----------
    engine
        The engine to use; a new one if not given.
    settings
        Passed to `dspy.LM`. DSPy's cache is off by default: a call costs milliseconds, and a cache
        on disk would outlive a change of the engine.
    """
    engine = engine or ExtractiveEngine()
    return RecentLM(
        MODEL_NAME,
        engine=engine,
        async_engine=AsyncExtractiveEngine(engine),
        **{"cache": False, "num_retries": 0, **settings},
    )
