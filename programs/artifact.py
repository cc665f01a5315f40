"""Compiled programs on disk: ``compiled/<name>/`` with ``program.json``, ``card.json`` and ``README.md``.

Everything is JSON and checked; nothing in an artifact can run code, name a class by its path, or set a
language model, an address or a key.
"""

import json
import warnings
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dspy
from pydantic import ValidationError

from colbert_index import ColBERTIndex
from embedded_models import EMBEDDED_ENCODER, Encoder
from signatures import PolyqaError

from .assembly import PARTS, READER_RERANKER, assemble, retrieves
from .card import Card
from .registry import PROGRAMS
from .state import dump_program, load_program, signature_fingerprints

STATE, CARD, README = "program.json", "card.json", "README.md"
_MOST_BYTES = 64 << 20


@dataclass(frozen=True)
class Artifact:
    """An artifact as it was read: its folder, its card, and the unchecked state of its program."""

    path: Path
    card: Card
    state: Any


def compiled_home() -> Path:
    """Return the folder of the shipped artifacts."""
    return Path(__file__).resolve().parents[1] / "compiled"


def find_artifact(name: str | Path) -> Path | None:
    """Return the folder of an artifact: a path to one, or a name in `compiled_home`; ``None`` if there is none."""
    given = Path(name)
    if (given / CARD).is_file():
        return given
    named = compiled_home() / given
    if len(given.parts) == 1 and given.name not in (".", "..") and (named / CARD).is_file():
        return named
    return None


def artifact_names() -> list[str]:
    """Return the names of the shipped artifacts."""
    return sorted(card.parent.name for card in compiled_home().glob(f"*/{CARD}"))


def read_artifact(name: str | Path) -> Artifact:
    """Read an artifact without making its program.

    Raises
    ------
    PolyqaError
        If there is none, a file is no regular file of the folder, too large or not JSON, or the card is
        not one.
    """
    path = find_artifact(name)
    if path is None:
        known = ", ".join(artifact_names()) or "none"
        raise PolyqaError(
            f"There is no compiled program {str(name)!r:.200}: name a folder with a {CARD}, or one of: {known}."
        )
    data = read_json(path / CARD)
    try:
        card = Card.model_validate(data)
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"]))[:120]
        raise PolyqaError(
            f"{path / CARD} is not a card of this version: {place or 'its top'}: {problem['msg']}."
        ) from error
    return Artifact(path, card, read_json(path / STATE))


def read_json(path: Path) -> Any:
    """Read a JSON file of data from anywhere: of limited size, a regular file, no NaN.

    Raises
    ------
    PolyqaError
        If it is not such a file.
    """
    if not path.is_file() or path.is_symlink():
        raise PolyqaError(f"{path} is missing, or is no regular file.")
    if path.stat().st_size > _MOST_BYTES:
        raise PolyqaError(f"{path} is larger than {_MOST_BYTES >> 20} MB, which no saved program is.")
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError and JSONDecodeError among them
        raise PolyqaError(f"{path} is not JSON ({str(error)[:200]}).") from error


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def load(
    name: str | Path,
    *,
    index: str | Path | ColBERTIndex | None = None,
    encoder: Encoder | None = None,
    reranker: str | None = None,
    questions: str | Path | None = None,
    strict: bool = True,
) -> dspy.Module:
    """Load a compiled program.

    Parameters
    ----------
    name
        The name of a shipped artifact, or the path of an artifact's folder.
    index
        The index to search; the one of the card, by name, if not given.
    encoder
        Must be the card's; made if not given.
    reranker
        In place of the card's, see `assembly.make_reranker`.
    questions
        See `assembly.assemble`.
    strict
        Whether another version of DSPy, or an index of the card's name with another content, is an
        error; else it is a warning. An index that is given is never an error.

    Returns
    -------
    dspy.Module
        Ready to be called under ``dspy.context(lm=…, adapter=dspy.ChatAdapter())``.

    Raises
    ------
    PolyqaError
        If the artifact is missing or damaged, or does not fit this version of polyqa.
    """
    artifact = read_artifact(name)
    card = artifact.card
    if card.program not in PROGRAMS:
        raise PolyqaError(f"{artifact.path}: unknown program {card.program!r:.80}; there are {', '.join(PROGRAMS)}.")
    if parts := sorted(card.settings.keys() & PARTS):
        raise PolyqaError(f"{artifact.path}: its card gives {parts[0]!r} as a setting of the program, which it is not.")
    _check_version(artifact, strict)
    own_encoder = _encoder(artifact, encoder)
    opened: str | Path | ColBERTIndex = ""
    if retrieves(card.program):
        opened = _open_index(artifact, index, strict)
    program = assemble(
        card.program,
        index=opened,
        encoder=own_encoder,
        reranker=reranker or _known_reranker(artifact),
        questions=questions,
        **card.settings,
    )
    found = signature_fingerprints(program)
    for predictor, fingerprint in found.items():
        if card.signatures.get(predictor) != fingerprint:
            raise PolyqaError(
                f"{artifact.path}: the signature of {predictor} is not the one it was compiled with "
                f"({card.signatures.get(predictor, 'none')!r:.40}, now {fingerprint}); compile it anew."
            )
    load_program(program, artifact.state, str(artifact.path / STATE))
    return program


# The card is data from anywhere: it may not make this process load weights from a path or a hub.


def _encoder(artifact: Artifact, given: Encoder | None) -> Encoder:
    name = artifact.card.encoder
    if (given.name if given is not None else EMBEDDED_ENCODER) != name:
        raise PolyqaError(
            f"{artifact.path} was compiled with the encoder {name!r:.120}: load it with encoder= of that name, if you "
            "trust it."
        )
    return given or Encoder(EMBEDDED_ENCODER)


def _known_reranker(artifact: Artifact) -> str | None:
    name = artifact.card.reranker
    if name not in (None, READER_RERANKER):
        raise PolyqaError(
            f"{artifact.path} was compiled with the reranker {name!r:.120}: load it with reranker= of that name, if "
            "you trust it."
        )
    return name


def _check_version(artifact: Artifact, strict: bool) -> None:
    made, have = artifact.card.versions.get("dspy", "unknown"), version("dspy")
    if made.split(".")[:2] != have.split(".")[:2]:
        _complain(f"{artifact.path} was compiled with DSPy {made:.40}, this is {have}; prompts may differ.", strict)


def _open_index(artifact: Artifact, given: str | Path | ColBERTIndex | None, strict: bool) -> ColBERTIndex:
    card = artifact.card.index
    if given is not None:
        opened = given if isinstance(given, ColBERTIndex) else ColBERTIndex(given)
        if card is not None and opened.fingerprint != card.fingerprint:
            warnings.warn(
                f"{artifact.path.name} was compiled over the index {card.name}, not {opened.name}: its demos are "
                "about other passages, and its figures do not hold here.",
                stacklevel=3,
            )
        return opened
    if card is None:
        raise PolyqaError(f"{artifact.path}: its card names no index; give one.")
    if Path(card.name).name != card.name or card.name in ("", ".", ".."):
        raise PolyqaError(f"{artifact.path}: its card names the index by a path ({card.name!r:.80}); give an index.")
    opened = ColBERTIndex(card.name)
    if opened.fingerprint != card.fingerprint:
        _complain(
            f"{artifact.path}: the index {card.name} holds other passages now ({opened.fingerprint}, was "
            f"{card.fingerprint:.40}). Give the index explicitly to use it all the same, or compile anew.",
            strict,
        )
    return opened


def _complain(text: str, strict: bool) -> None:
    if strict:
        raise PolyqaError(text)
    warnings.warn(text, stacklevel=4)


def save_artifact(program: dspy.Module, card: Card, folder: str | Path, readme: str) -> Path:
    """Write an artifact; an older one in the folder is replaced file by file, the card last.

    Parameters
    ----------
    program
        Of the card's class.
    card
        Its ``signatures`` must be the program's.
    folder
        Made if it is not there.
    readme
        The card for people, Markdown.

    Raises
    ------
    ValueError
        If the card does not fit the program.
    """
    if card.signatures != signature_fingerprints(program) or not isinstance(program, PROGRAMS[card.program]):
        raise ValueError(f"the card is of another program than {type(program).__name__}")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    state = json.dumps(dump_program(program), ensure_ascii=False, indent=1)
    for name, text in {
        STATE: state + "\n",
        README: readme.rstrip() + "\n",
        CARD: json.dumps(card.describe(), ensure_ascii=False, indent=1) + "\n",
    }.items():
        draft = folder / f".{name}.draft"
        draft.write_text(text, encoding="utf-8")
        draft.replace(folder / name)
    return folder
