"""What programs share: how their steps run, how passages are found, how an answer comes from a few passages."""

from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple, TypedDict, Unpack, get_args

import dspy

from polyqa.base.text import in_paragraphs
from polyqa.base.values import Interpretation, Passage, render_passages
from polyqa.colbert_index import Reranker, Retriever
from polyqa.lm.attempts import CallLog
from polyqa.lm.calls import Fallback
from polyqa.lm.sampling import NO_SAMPLING, Sampling
from polyqa.metrics.text import SECTION, content_words, split_title
from polyqa.models import Encoder, SpanReader
from polyqa.signatures import (
    AnswerClosedBook,
    ClarifyQuestion,
    DraftSegment,
    ExtractInterpretations,
    GradePassage,
    InferPseudoInterpretations,
    InterpretPassage,
    TypeAmbiguity,
    WriteLongFormAnswer,
)

from .citation import cite, number_citations
from .knn import KNNPredict
from .sources import compare_sources, disagreements, settled
from .spans import rerank_found, search
from .steps import Steps, adrive, ask, drive, work

Preset = Literal["paper", "lean"]
"""``lean`` makes fewer calls that say the same; ``paper`` makes those of the publication."""
_WITH_EXAMPLES = (
    AnswerClosedBook,
    DraftSegment,
    GradePassage,
    InferPseudoInterpretations,
    InterpretPassage,
    TypeAmbiguity,
)
"""Without examples a small model finds an answer in every passage. A user's own signature may have the same fields."""
_TOGETHER = 8  # passages, with those that are like sections of documents of one title


class CallLimits(NamedTuple):
    """How many calls a question takes at most, if every reply can be read, and how many wait for each other."""

    calls: int
    depth: int


class Settings(TypedDict, total=False):
    """The settings of every program; its constructor takes them as keywords and hands them on."""

    encoder: Encoder | None
    source_reader: SpanReader | None
    preset: Preset


class RetrievalSettings(Settings, total=False):
    """The settings of every program that retrieves."""

    passages: int
    candidates: int


class Program(dspy.Module):
    """A question goes in, an answer that covers its readings comes out.

    A program holds its predictors as attributes and writes its algorithm once, as `steps`; ``program(question=…)``
    and ``await program.acall(question=…)`` both run it. The prediction has at least ``answer`` (text),
    ``interpretations`` (list of `Interpretation`), ``passages`` (list of `Passage`) and ``faults`` (list of
    `polyqa.lm.attempts.FailedCall`: calls that failed twice, and the fallback used for each). With a source reader it
    has ``sources`` (a `Sources` for each interpretation), no reading that more of them
    contradict, and sentences at the end of the answer that say who disagrees (see `sources.compare_sources`).

    Parameters
    ----------
    encoder
        For kNN demos, see `knn.KNNPredict`.
    source_reader
        Finds out which passages say otherwise; without one sources are not compared.
    preset
        ``lean``, the default, or ``paper``. Programs that can do with fewer calls than their publication (see
        `GroundedProgram`) make the fewer with ``lean``; the others make the same calls with both. With ``paper`` calls
        are sampled as the publication says.
    """

    paper_sampling: ClassVar[Sampling] = NO_SAMPLING
    """How the publication samples; nothing where it does not say."""
    per_reading: ClassVar[tuple[str, ...]] = ()
    """Fields of the prediction that have an item for each interpretation."""
    source_reader: SpanReader | None = None
    preset: Preset = "lean"

    def __init__(
        self, *, encoder: Encoder | None = None, source_reader: SpanReader | None = None, preset: Preset = "lean"
    ) -> None:
        super().__init__()
        if preset not in get_args(Preset):
            raise ValueError(f"preset is paper or lean, got {preset!r}")
        self.preset = preset
        self.encoder = encoder
        self.source_reader = source_reader

    @property
    def lean(self) -> bool:
        """Whether calls are put together, in programs that can."""
        return self.preset == "lean"

    def predictor(
        self,
        signature: type[dspy.Signature],
        *,
        brief: bool = False,
        probabilities: bool = False,
        paper: Sampling | None = None,
    ) -> KNNPredict:
        """Return a predictor that can pick its demos with the program's encoder.

        A small language model on this machine is shown the worked examples of its signature while it has no demos.
        With ``preset="paper"`` it is sampled as ``paper`` says, by default as ``paper_sampling`` of the class does.
        """
        published = self.paper_sampling if paper is None else paper
        sampling = NO_SAMPLING if self.lean else published
        return KNNPredict(
            signature,
            encoder=self.encoder,
            brief=brief,
            sampling=sampling,
            probabilities=probabilities,
            examples=signature in _WITH_EXAMPLES,
        )

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question, as a generator of steps (see `polyqa.programs.steps`)."""
        raise TypeError(f"{type(self).__name__} has no steps: a program says in steps() how it answers a question.")

    @property
    def call_limits(self) -> CallLimits | None:
        """How many calls a question takes at most; ``None`` if that cannot be known."""
        return None

    def _answer(self, question: str) -> Steps[dspy.Prediction]:
        prediction = yield from self.steps(question)
        if self.source_reader is not None and prediction.get("interpretations"):
            yield from work(self.tell_sources, question, prediction, self.source_reader)
        return prediction

    def tell_sources(self, question: str, prediction: dspy.Prediction, reader: SpanReader) -> None:
        """Add to a prediction which passages back its readings and which say otherwise."""
        readings, passages = prediction.interpretations, list(prediction.passages)
        universe = list({one.pid: one for one in (*passages, *(prediction.get("universe") or ()))}.values())
        prediction.sources = compare_sources(question, readings, universe, reader)
        self.keep_readings(prediction, settled(readings, prediction.sources))
        sides = [side for source in prediction.sources for side in (source, *source.otherwise)]
        source_pids = {pid for side in sides for pid in side.pids}
        prediction.passages = [*passages, *(one for one in universe[len(passages) :] if one.pid in source_pids)]
        disputes = disagreements(prediction.interpretations, prediction.sources)
        prediction.answer = in_paragraphs(prediction.answer, disputes) if disputes else prediction.answer

    def keep_readings(self, prediction: dspy.Prediction, places: Sequence[int]) -> None:
        """Leave some of its readings in a prediction, by their places from 0, and what it says of each."""
        for name in ("interpretations", "sources", *self.per_reading):
            if prediction.get(name):
                prediction[name] = [prediction[name][place] for place in places]

    def forward(self, question: str) -> dspy.Prediction:
        """Answer a question; what is white space in it becomes a blank."""
        log = CallLog.of(self)
        prediction = drive(self._answer(" ".join(question.split())), log)
        prediction.faults = log.failed
        return prediction

    async def aforward(self, question: str) -> dspy.Prediction:
        """Answer a question without blocking the event loop."""
        log = CallLog.of(self)
        prediction = await adrive(self._answer(" ".join(question.split())), log)
        prediction.faults = log.failed
        return prediction


class RetrievingProgram(Program):
    """Finds K passages for a question.

    Parameters
    ----------
    retriever
        Finds the candidate passages.
    reranker
        Orders them by a question.
    passages
        K, how many passages the language model sees (papers: 5); with ``lean`` there may be more, see `nearest`.
    candidates
        How many passages the retriever pools (papers: about 200, 100 of each of two retrievers).
    settings
        See `Program`.
    """

    def __init__(
        self,
        retriever: Retriever,
        reranker: Reranker,
        *,
        passages: int = 5,
        candidates: int = 200,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(**settings)
        if not 1 <= passages <= candidates:
            raise ValueError(f"need 1 <= passages <= candidates, got {passages} and {candidates}")
        self.retriever = retriever
        self.reranker = reranker
        self.passages = passages
        self.candidates = candidates

    def search(self, question: str) -> list[Passage]:
        """Return the candidates."""
        return search(self.retriever, question, self.candidates)

    def retrieve(self, question: str) -> list[Passage]:
        """Return the K best of the candidates."""
        return self.nearest(question, self.search(question))

    @property
    def most_passages(self) -> int:
        """How many passages `nearest` gives at most."""
        return max(self.passages, _TOGETHER) if self.lean else self.passages

    def nearest(self, question: str, candidates: Sequence[Passage]) -> list[Passage]:
        """Return the K best of the passages that were found for a question, best first, and with ``lean`` counterparts.

        Where some are sections of documents of one title (*Contract (Acme) › Fees*), none of which the question names,
        the same sections of further such documents follow, until there are eight passages.
        """
        best = rerank_found(self.reranker, question, candidates, self.passages)
        apart = [_apart(passage) for passage in best]
        sections = {section for section, document in apart if document}
        named_words = {*content_words(question)} & {word for _, document in apart for word in content_words(document)}
        if not sections or named_words or len(best) >= self.most_passages:
            return best
        pids = {passage.pid for passage in best}
        counterparts = [one for one in candidates if one.pid not in pids and _apart(one)[0] in sections]
        return [*best, *rerank_found(self.reranker, question, counterparts, self.most_passages - len(best))]


def _apart(passage: Passage) -> tuple[str, str]:
    """Return a section with its document's title, and what tells the document apart; of other passages nothing.

    >>> _apart(Passage(pid="1", title="Contract (Acme) › Fees", text="")), _apart(Passage(pid="2", text=""))
    (('Contract › Fees', 'Acme'), ('', ''))
    """
    section, document = split_title(passage.title)
    return (section, document) if SECTION in section else ("", "")


class GroundedProgram(RetrievingProgram):
    """Extract the readings from passages (equation 1 of DIVA), then answer from them (equation 2).

    Parameters
    ----------
    retriever, reranker, settings
        See `RetrievingProgram`. With ``preset="lean"``, the default, one reply gives readings and answer, as the
        prompt of Tree of Clarifications does; the passages are sent, paid for and waited for once, and of the demos
        the nearest one alone is shown with its passages. With ``paper`` these are two calls, one after the other.
    """

    def __init__(self, retriever: Retriever, reranker: Reranker, **settings: Unpack[RetrievalSettings]) -> None:
        super().__init__(retriever, reranker, **settings)
        if self.lean:
            self.clarify = self.predictor(ClarifyQuestion, brief=True)
        else:
            self.extract = self.predictor(ExtractInterpretations)
            self.write = self.predictor(WriteLongFormAnswer)

    @property
    def answering_calls(self) -> int:
        """How many calls make readings and an answer of passages."""
        return 1 if self.lean else 2

    def answer_from(
        self, question: str, passages: Sequence[Passage], fallback: Fallback | None = None
    ) -> Steps[tuple[str, list[Interpretation]]]:
        """Return the long-form answer and the cited interpretations; for ``fallback`` see `steps.CallTuple`."""
        rendered = render_passages(passages)
        if self.lean:
            both = yield from ask(self.clarify, fallback=fallback, passages=rendered, question=question)
            return both.answer, cite(both.interpretations, passages)
        readings = (yield from ask(self.extract, passages=rendered, question=question)).interpretations
        written = yield from ask(
            self.write, fallback=fallback, passages=rendered, question=question, interpretations=readings
        )
        return written.answer, cite(readings, passages)


def write_answer(
    write: dspy.Module, question: str, readings: Sequence[Interpretation], passages: Sequence[Passage]
) -> Steps[str]:
    """Return the long-form answer that tells cited readings: in the prompt passage ids become passage numbers."""
    rendered, numbered = render_passages(passages), number_citations(readings, passages)
    written = yield from ask(write, passages=rendered, question=question, interpretations=numbered)
    return written.answer
