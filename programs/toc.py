"""Tree of Clarifications (Kim et al., 2023, https://arxiv.org/abs/2310.14696)."""

from collections import deque
from collections.abc import Sequence
from typing import Unpack

import dspy

from polyqa.base.values import Interpretation, Passage, render_passages
from polyqa.colbert_index import Reranker, Retriever
from polyqa.lm.sampling import TOC_ANSWER_SAMPLING, TOC_EXPANSION_SAMPLING
from polyqa.metrics.text import normalize_answer, several
from polyqa.signatures import ExtractInterpretations, VerifyAgainstRoot, WriteLongFormAnswer

from .base import RetrievalSettings, RetrievingProgram, write_answer
from .citation import cite, holding
from .spans import rerank
from .steps import Steps, ask, ask_all, work
from .tree import ClarificationNode, NodeStatus, repeats


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
        root = ClarificationNode(question=question)
        queue, asked_questions, failed = deque([root]), {normalize_answer(question)}, 0
        read: dict[str, Passage] = {}
        verdicts: dict[tuple[str, str], bool] = {}
        while queue and failed < self.FAILURES and len(root.kept()) < self.nodes:
            node = queue.popleft()
            passages = yield from work(rerank, self.reranker, node.question, candidates, self.passages)
            read |= {passage.pid: passage for passage in passages}
            reply = yield from ask(self.extract, passages=render_passages(passages), question=node.question)
            fresh = self._fresh(root, cite(reply.interpretations, passages))
            fitting = yield from self._verified(question, fresh, candidates, verdicts)
            failed = 0 if any(fitting) else failed + 1
            for reading, fits in zip(fresh, fitting, strict=True):
                child = node.add(reading, NodeStatus.VALID if fits else NodeStatus.PRUNED)
                if len(root.kept()) == self.nodes:
                    break
                # To a question that was asked before the reply would be the same.
                if fits and (text := normalize_answer(reading.question)) not in asked_questions:
                    asked_questions.add(text)
                    queue += [child] if child.depth < self.depth else []
        readings, passages = yield from work(self._select, root, question, candidates)
        answer = yield from write_answer(self.write, question, readings, passages)
        universe = list((read | {passage.pid: passage for passage in passages}).values())
        return dspy.Prediction(answer=answer, interpretations=readings, passages=passages, universe=universe, tree=root)

    def _fresh(self, root: ClarificationNode, readings: Sequence[Interpretation]) -> list[Interpretation]:
        """Return the readings that repeat no node of the tree (de-duplication)."""
        tree_readings = [node.reading for node in root.breadth_first()][1:]
        fresh: list[Interpretation] = []
        for reading in readings:
            if not repeats(reading, [*tree_readings, *fresh], strict=self.lean):
                fresh.append(reading)
        return fresh

    def _verified(
        self,
        question: str,
        readings: Sequence[Interpretation],
        candidates: Sequence[Passage],
        verdicts: dict[tuple[str, str], bool],
    ) -> Steps[list[bool]]:
        """Return for each reading whether it answers the root question; ``verdicts`` holds those of earlier checks."""
        if not self.pruning:
            return [True] * len(readings)
        checks = yield from work(self._checks, readings, candidates)
        # The check does not show a node's question: readings with one answer in one passage are one check.
        new = [check for check in dict.fromkeys(checks) if check not in verdicts]
        judged = yield from ask_all(
            [(self.verify, {"question": question, "passage": passage, "candidate": answer}) for passage, answer in new]
        )
        verdicts.update({check: reply.fitting == "Yes" for check, reply in zip(new, judged, strict=True)})
        return [verdicts[check] for check in checks]

    def _checks(self, readings: Sequence[Interpretation], candidates: Sequence[Passage]) -> list[tuple[str, str]]:
        """Return for each reading the most relevant passage that holds its answer, and the answer."""
        checks = []
        for reading in readings:
            # An answer in words of the language model's own stands in no passage: the nearest one decides.
            options = holding(candidates, reading.answer) or candidates
            best = render_passages(rerank(self.reranker, reading.question, options, 1))
            checks.append(("".join(best), reading.answer))
        return checks

    def _select(
        self, root: ClarificationNode, question: str, candidates: Sequence[Passage]
    ) -> tuple[list[Interpretation], list[Passage]]:
        """Return the readings in breadth-first order, and K passages that hold their answers first."""
        root.restore(self.FEWEST)
        readings = [node.reading for node in root.kept()][: self.nodes]
        ranked = rerank(self.reranker, question, candidates, len(candidates)) if candidates else []
        by_pid = {passage.pid: passage for passage in ranked}
        cited = [by_pid[reading.pid] for reading in readings if reading.pid is not None]
        answers = [answer for reading in readings for answer in several(reading.answer)]
        telling = [passage for answer in answers for passage in holding(ranked, answer)[:1]]
        chosen = {passage.pid: passage for passage in (*cited, *telling, *ranked)}
        return readings, list(chosen.values())[: self.passages]
