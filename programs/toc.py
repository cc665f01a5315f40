"""Tree of Clarifications (Kim et al., 2023, https://arxiv.org/abs/2310.14696)."""

from collections.abc import Sequence
from typing import NamedTuple, Unpack

import dspy

from polyqa.base.values import Interpretation, Passage, render_passages
from polyqa.colbert_index import Reranker, Retriever
from polyqa.lm.sampling import TOC_ANSWER_SAMPLING, TOC_EXPANSION_SAMPLING
from polyqa.metrics.text import several
from polyqa.signatures import ExtractInterpretations, VerifyAgainstRoot, WriteLongFormAnswer

from .base import RetrievalSettings, RetrievingProgram, write_answer
from .citation import cite, holding
from .spans import rerank
from .steps import Steps, ask_all, work
from .tree import GrowingTree


class _Check(NamedTuple):
    """What is verified against the root question; the names are those of `VerifyAgainstRoot`."""

    passage: str
    candidate: str


class TreeOfClarifications(RetrievingProgram):
    """Clarify the question, then each clarification, breadth first; prune what no longer answers the question.

    Section 3 of the paper: the root is the ambiguous question. To expand a node, the candidate passages
    are ranked by the node's own question and the readings of that question are extracted from the best K
    (section 3.1). A reading that repeats a node of the tree is left out: with ``preset="paper"`` question and
    answer, with ``lean`` either of them, as what has been told would be told again. The others are verified
    against the root question, with the most relevant candidate passage that holds their answer (section 3.2;
    one answer in one passage once, whichever readings have it), and pruned if they fail. The exploration ends
    with ``nodes`` valid nodes, at ``depth``, or after three expansions in a row without a valid new node. If
    fewer than two are left, pruning is undone from the nodes nearest the root. The answer is written
    from up to ten readings in breadth-first order and K passages, those that hold their answers first
    (section 3.3, appendix A.3).

    The released code departs from the paper: its test for passages that hold an answer compares single
    characters, undoing the pruning affects later nodes only, and the answer's passages are not chosen by
    the answers they hold. Here the paper holds. DIVA runs it without pruning.

    Its prediction has ``answer``, ``interpretations`` (cited), ``passages`` (those that the answer was
    written from), ``universe`` (all that were read) and ``tree`` (`tree.ClarificationNode`).

    Parameters
    ----------
    retriever, reranker, settings
        See `base.RetrievingProgram`.
    pruning
        Whether nodes are verified; without it all are valid.
    depth
        How deep the tree gets; the paper's limit is 3. 1 is retrieval-augmented clarification.
    nodes
        How many valid nodes are enough, and how many readings the answer is written from (paper: 10).
    """

    FAILURES = 3
    FEWEST = 2  # the paper says "insufficient"; a question that is held to be ambiguous has at least two readings
    EXPANDED_AT_ONCE = 3  # nodes of a level; it changes neither tree nor answer, only time, and calls that are wasted

    def __init__(
        self,
        retriever: Retriever,
        reranker: Reranker,
        *,
        pruning: bool = True,
        depth: int = 3,
        nodes: int = 10,
        **settings: Unpack[RetrievalSettings],
    ) -> None:
        super().__init__(retriever, reranker, **settings)
        for name, value in (("depth", depth), ("nodes", nodes)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        self.pruning = pruning
        self.depth = depth
        self.nodes = nodes
        self.extract = self.predictor(ExtractInterpretations, paper=TOC_EXPANSION_SAMPLING)
        self.write = self.predictor(WriteLongFormAnswer, paper=TOC_ANSWER_SAMPLING)
        self.verify = self.predictor(VerifyAgainstRoot, paper=TOC_ANSWER_SAMPLING)

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question."""
        candidates = yield from work(self.search, question)
        tree = GrowingTree(question, nodes=self.nodes, depth=self.depth, failures=self.FAILURES, strict=self.lean)
        read: dict[str, Passage] = {}
        verdicts: dict[_Check, bool] = {}
        while batch := tree.to_expand(self.EXPANDED_AT_ONCE):
            near = yield from work(self._nearest, [node for _, node in batch], candidates)
            read |= {passage.pid: passage for passages in near for passage in passages}
            replies = yield from ask_all(
                [
                    (self.extract, {"passages": render_passages(passages), "question": node})
                    for (_, node), passages in zip(batch, near, strict=True)
                ]
            )
            fresh = tree.sprout(
                [
                    (number, cite(reply.interpretations, passages))
                    for (number, _), passages, reply in zip(batch, near, replies, strict=True)
                ]
            )
            checks = yield from work(self._checks, fresh, candidates)
            # The check does not show a node's question: readings with one answer in one passage are one check.
            new = [check for check in dict.fromkeys(checks) if check not in verdicts]
            judged = yield from ask_all([(self.verify, {"question": question, **check._asdict()}) for check in new])
            verdicts |= {check: reply.fitting == "Yes" for check, reply in zip(new, judged, strict=True)}
            tree.settle(fresh, [verdicts[check] for check in checks] if self.pruning else [True] * len(fresh))
        readings, passages = yield from work(self._select, tree, question, candidates)
        answer = yield from write_answer(self.write, question, readings, passages)
        universe = list((read | {passage.pid: passage for passage in passages}).values())
        return dspy.Prediction(
            answer=answer, interpretations=readings, passages=passages, universe=universe, tree=tree.frozen()
        )

    def _nearest(self, questions: Sequence[str], candidates: Sequence[Passage]) -> list[list[Passage]]:
        return [rerank(self.reranker, question, candidates, self.passages) for question in questions]

    def _checks(self, fresh: Sequence[Interpretation], candidates: Sequence[Passage]) -> list[_Check]:
        if not self.pruning:
            return []
        checks = []
        for reading in fresh:
            # An answer in words of the language model's own stands in no passage: the nearest one decides.
            options = holding(candidates, reading.answer) or candidates
            best = render_passages(rerank(self.reranker, reading.question, options, 1))
            checks.append(_Check("".join(best), reading.answer))
        return checks

    def _select(
        self, tree: GrowingTree, question: str, candidates: Sequence[Passage]
    ) -> tuple[list[Interpretation], list[Passage]]:
        """Return the readings in breadth-first order, and K passages that hold their answers first."""
        tree.restore(self.FEWEST)
        readings = tree.readings()[: self.nodes]
        ranked = rerank(self.reranker, question, candidates, len(candidates)) if candidates else []
        by_pid = {passage.pid: passage for passage in ranked}
        cited = [by_pid[reading.pid] for reading in readings if reading.pid is not None]
        answers = [answer for reading in readings for answer in several(reading.answer)]
        telling = [passage for answer in answers for passage in holding(ranked, answer)[:1]]
        chosen = {passage.pid: passage for passage in (*cited, *telling, *ranked)}
        return readings, list(chosen.values())[: self.passages]
