"""The lessons: notebooks that come with polyqa, found and copied. That needs nothing of Jupyter."""

import json
import sysconfig
from dataclasses import dataclass
from pathlib import Path

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
