"""What identifies a run: two runs of equal identity must give equal predictions."""

from importlib.metadata import version
from typing import Annotated, Any

import dspy
from pydantic import BaseModel, BeforeValidator

from polyqa.artifacts.identity import identity_hash
from polyqa.base.ledger import differences
from polyqa.base.values import json_data
from polyqa.colbert_index import ColBERTIndex
from polyqa.lm.adapter import adapter_name
from polyqa.lm.assigned import describe_lms, sampling

_Jsonable = Annotated[dict[str, Any], BeforeValidator(json_data)]
ALCES_CUT = ", ALCE's cut"
"""Stands behind the name of the reader where answers were scored as ALCE cuts them (`polyqa.metrics.alce`)."""


class RunIdentity(BaseModel, frozen=True):
    """What answers which questions, and what scores the answers. Stopped work goes on only with the same.

    Attributes
    ----------
    program, program_state
        The program's name, and a hash of its instructions, demos, constructor settings and, where a program was
        given that was made already, what it searches with.
    lm, lm_settings, adapter
        The language model, its temperature and the like, and DSPy's adapter. Timeouts and retries do not count.
    own_lms
        Predictors that ask a language model of their own: their names, and for each the model with its settings.
    reader, judge
        What Disambig-F1 and the grounded metrics were made with; empty and ``None`` where nothing is scored.
    index
        Name and fingerprint of the index, and the condition that its passages had to fulfil; ``None`` for closed-book
        programs.
    min_confidence
        The bar below which a question was not answered, if one was given.
    questions, n
        Where the questions came from with their fingerprint, and how many there are.
    versions
        Of polyqa and DSPy.
    """

    program: str
    program_state: str = ""
    lm: str
    lm_settings: _Jsonable = {}
    own_lms: _Jsonable = {}
    adapter: str = "ChatAdapter"
    reader: str = ""
    judge: str | None = None
    index: str | None = None
    min_confidence: float | None = None
    questions: str = ""
    n: int = 0
    versions: dict[str, str] = {}

    @classmethod
    def of(
        cls, program: dspy.Module, lm: dspy.LM, *, name: str = "", index: ColBERTIndex | None = None, **more: Any
    ) -> "RunIdentity":
        """Return the identity of a run of a program with a language model.

        Parameters
        ----------
        name
            The program's, by default that of its class.
        index
            What it searches.
        more
            What it is asked and scored with: ``reader``, ``judge``, ``questions``, ``n``; or with ``min_confidence``.
        """
        where = f" where {index.condition}" if index is not None and index.condition is not None else ""
        return cls(
            program=name or type(program).__name__,
            program_state=identity_hash(program),
            lm=str(lm.model),
            lm_settings=sampling(lm),
            own_lms=describe_lms(program),
            adapter=adapter_name(),
            index=f"{index.name} ({index.fingerprint}){where}" if index is not None else None,
            versions={package: version(package) for package in ("polyqa", "dspy")},
            **more,
        )

    def changed_since(self, earlier: "RunIdentity") -> str:
        """Return in words how this identity differs from an earlier one; nothing if they are the same."""
        return differences(earlier.model_dump(), self.model_dump())
