"""Answers ambiguous questions completely, over your own corpus, with sources.

>>> import polyqa
>>> result = polyqa.ask("When did Titanic come out?")  # doctest: +SKIP
>>> result.answer, result.interpretations  # doctest: +SKIP

Everything here loads lazily: importing polyqa imports neither torch nor DSPy.
"""

import os
from typing import TYPE_CHECKING

from polyqa.base.lazy import lazy_names

if TYPE_CHECKING:
    from polyqa.adapting import adapt as adapt
    from polyqa.asking import Result as Result
    from polyqa.asking import aask as aask
    from polyqa.asking import ask as ask
    from polyqa.base.errors import PolyqaError as PolyqaError
    from polyqa.base.values import Coverage as Coverage
    from polyqa.base.values import Interpretation as Interpretation
    from polyqa.base.values import Passage as Passage
    from polyqa.batch import Answered as Answered
    from polyqa.batch import Batch as Batch
    from polyqa.batch import answer_many as answer_many
    from polyqa.cluster import Ray as Ray
    from polyqa.colbert_index import ColBERTIndex as ColBERTIndex
    from polyqa.colbert_index import build_index as build_index
    from polyqa.compiling import Budget as Budget
    from polyqa.compiling import Teacher as Teacher
    from polyqa.compiling import compile as compile
    from polyqa.costing import Cost as Cost
    from polyqa.costing import cost as cost
    from polyqa.evaluating import evaluate as evaluate
    from polyqa.extractive import embedded_lm as embedded_lm
    from polyqa.hub import Pulled as Pulled
    from polyqa.hub import Pushed as Pushed
    from polyqa.hub import pull as pull
    from polyqa.hub import push as push
    from polyqa.language_models import LMSettings as LMSettings
    from polyqa.language_models import Models as Models
    from polyqa.language_models import language_model as language_model
    from polyqa.lm.recorded import recorded as recorded
    from polyqa.loading import load as load
    from polyqa.loading import open_index as open_index
    from polyqa.question_building import build_questions as build_questions
    from polyqa.question_sets import Questions as Questions
    from polyqa.question_sets import Sets as Sets
    from polyqa.rechecking import recheck as recheck
    from polyqa.tracing import traced as traced

__version__ = "0.1.0"

# Both are read once, when torch and LiteLLM are loaded: they hold for scripts, notebooks and workers as for commands.
# Threads of torch that wait for each other by spinning take the cores from those of another process: two of them on
# two cores encode a question in 34 ms so, and in 20 when they sleep; alone it makes no difference.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# LiteLLM has a list of models and prices; for a newer one it would ask the network, and wait for it.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

__getattr__, __dir__, __all__ = lazy_names(__name__)
