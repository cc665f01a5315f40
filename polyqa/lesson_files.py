"""The lessons: notebooks that come with polyqa, found, copied and shown as text. That needs nothing of Jupyter."""

import json
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyqa.base.errors import PolyqaError
from polyqa.base.files import write_atomically


@dataclass(frozen=True)
class Lesson:
    """One notebook, as it was shipped; reading and running it takes so many minutes, without the exercises.

    What one ``learns`` is what one can do afterwards, in a sentence.
    """

    number: int
    title: str
    minutes: int
    learns: str
    path: Path

    def copy_to(self, folder: Path) -> tuple[Path, bool]:
        """Copy the notebook into a folder, and return it there, and whether it is as it was shipped.

        A file that is there is never written over: what a student did in it stays.
        """
        if not folder.is_dir():
            raise PolyqaError(f"There is no folder {folder}; make it, or name another one with --out.")
        shipped, copy = self.path.read_bytes(), folder / self.path.name
        if copy.exists():
            return copy, copy.read_bytes() == shipped
        write_atomically(copy, shipped)
        return copy, True

    def markdown(self, *, pictures: bool = False) -> str:
        """Return the lesson as Markdown: texts, cells, and what these printed; with pictures and tables as HTML."""
        cells = json.loads(self.path.read_text(encoding="utf-8"))["cells"]
        return "\n\n".join(part for cell in cells for part in _cell(cell, pictures)) + "\n"


def lessons_home() -> Path:
    """Return the folder of the lessons: the checkout's, else where the wheel has put them."""
    checkout = Path(__file__).resolve().parents[1] / "lessons"
    return checkout if checkout.is_dir() else Path(sysconfig.get_path("data")) / "share" / "polyqa" / "lessons"


def lessons() -> list[Lesson]:
    """Return the lessons, in order."""
    shipped = []
    for path in sorted(lessons_home().glob("[0-9][0-9]-*.ipynb")):
        about = json.loads(path.read_text(encoding="utf-8"))["metadata"]["polyqa"]
        shipped.append(Lesson(int(path.name[:2]), about["title"], about["minutes"], about["learns"], path))
    return shipped


def lesson(number: int) -> Lesson:
    """Return one lesson; a `PolyqaError` if there is none of that number."""
    by_number = {one.number: one for one in lessons()}
    if number not in by_number:
        raise PolyqaError(f"There is no lesson {number}; there are {', '.join(map(str, by_number))}.")
    return by_number[number]


def _cell(cell: Mapping[str, Any], pictures: bool) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield _fenced(source, "python")
    for output in cell["outputs"]:
        yield _output(output, pictures)


def _output(output: Mapping[str, Any], pictures: bool) -> str:
    data = output.get("data", {})
    if pictures and "text/html" in data:
        return "".join(data["text/html"]).strip()
    if pictures and "image/png" in data:
        return f"![What the cell above drew](data:image/png;base64,{''.join(data['image/png']).strip()})"
    if "image/png" in data:
        return "*(a picture, which the notebook shows)*"
    return _fenced("".join(output.get("text", data.get("text/plain", ""))), "text")


def _fenced(text: str, language: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
