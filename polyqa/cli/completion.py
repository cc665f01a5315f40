"""What a shell completes: the values of options, told without loading what knows them.

The names are written down here, as the registries bring torch and DSPy along, and a shell waits at every key. Tests
hold them against the registries.
"""

from collections.abc import Callable, Iterable
from pathlib import Path


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


PROGRAM_NAMES = _words(
    "auto closed-book query-refinement rac spanwise jpr crag self-rag madam-rag sixpaq diva toc verdict dtv"
)
LANGUAGE_MODELS = ("polyqa/extractive", "local", "openai/", "ollama_chat/", "anthropic/", "gemini/")
RECIPE_NAMES = _words(
    "labeled-few-shot knn bootstrap-few-shot bootstrap-random-search knn-bootstrap clauses clauses-then-knn copro "
    "miprov2 simba infer-rules gepa gepa-then-knn knn-then-bootstrap"
)
QUESTION_SETS = ("homonyms/train", "homonyms/dev", "homonyms/test")
FORMAT_NAMES = _words("asqa ambignq situatedqa ramdocs kilt triviaqa squad popqa multi-answer dpr nq-open plain")
RETRIEVER_NAMES = ("colbert", "bm25", "fused")
_ROOT = Path(__file__).resolve().parents[2]

Complete = Callable[[str], list[str]]


def one_of(*names: str) -> Complete:
    """Return what completes the beginning of one of some names."""
    return lambda incomplete: _beginning(names, incomplete)


def programs(incomplete: str) -> list[str]:
    """Complete the name of a program, or of a compiled one."""
    return _beginning((*PROGRAM_NAMES, *_folders(_ROOT / "polyqa" / "compiled", "card.json")), incomplete)


def indexes(incomplete: str) -> list[str]:
    """Complete the name of an index."""
    from polyqa.base.folders import index_home

    return _beginning(_folders(index_home(), "current"), incomplete)


def _folders(home: Path, file: str) -> list[str]:
    return sorted(path.parent.name for path in home.glob(f"*/{file}") if path.parent.name[0] != ".")


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
