"""Makes the notebook of each lesson from its script: runs it in a fresh kernel, keeps what it printed and drew.

python lessons/build.py         every lesson
python lessons/build.py 3 4     these two

A lesson is ``NN-name.py``, a Jupytext script in the percent format, which people edit. ``NN-name.ipynb`` beside it is
made here, with the embedded engine, in a temporary folder. A cell that fails or writes to standard error stops the
build.
"""

import os
import re
import sys
import tempfile
from copy import deepcopy
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient
from nbconvert.preprocessors import CoalesceStreamsPreprocessor

HOME = Path(__file__).resolve().parent
LM = "POLYQA_LESSON_LM"
"""The environment variable that names a real language model; the cells that need one are skipped without it."""

_SECONDS = re.compile(r"(?: ·|,) \d+\.\d s\b")
"""The seconds in the last line of a `polyqa.Result`, which differ from run to run."""
_LEFT_OUT = (LM, "MPLBACKEND")  # with a backend from outside, pictures would not be kept
_SAME = {
    "TQDM_DISABLE": "1",  # progress bars are no output
    "POLYQA_PRECISION": "float32",  # bfloat16 changes the third digit, and not every machine has it
}
_WIDGET = "application/vnd.jupyter.widget-view+json"
_LIMIT = 300  # seconds a cell


def scripts(numbers: list[int] | None = None) -> list[Path]:
    """Return the scripts of the lessons with these numbers, or of all."""
    every = sorted(HOME.glob("[0-9][0-9]-*.py"))
    return [path for path in every if not numbers or int(path.name[:2]) in numbers]


def without_seconds(text: str) -> str:
    """Return an output without the time that it took."""
    return _SECONDS.sub("", text)


def notebook_of(script: Path) -> nbformat.NotebookNode:
    """Return a lesson that was not run: the cells of its script."""
    notebook = jupytext.read(script)
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
            "polyqa": notebook.metadata["polyqa"],
        }
    )
    for at, cell in enumerate(notebook.cells, 1):
        cell["id"] = f"cell-{at:02d}"
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def run(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Run every cell in a fresh kernel, in an empty folder, and keep the outputs that are the same in every run.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell fails.
    RuntimeError
        If a cell writes to standard error: a lesson shows no warnings.
    """
    about = deepcopy(notebook.metadata)
    environment = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT} | _SAME
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(notebook, timeout=_LIMIT, resources={"metadata": {"path": folder}}, record_timing=False)
        client.execute(env=environment)
    notebook.metadata = about  # the kernel adds its version
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({})
        if cell.cell_type == "code":
            shown = [output for output in cell.outputs if _WIDGET not in output.get("data", {})]  # no progress bars
            cell.outputs = [_without_changes(output, cell.source) for output in shown]
    CoalesceStreamsPreprocessor().preprocess(notebook, {})
    return notebook


def _without_changes(output: Any, source: str) -> Any:
    """Return an output without what differs from run to run."""
    if output.output_type == "stream":
        if output.name == "stderr":
            raise RuntimeError(f"A cell wrote to standard error: {output.text[:500]}\nThe cell:\n{source}")
        output.text = without_seconds(output.text)
    else:
        output.metadata = nbformat.from_dict({})
        for kind, data in output.data.items():
            output.data[kind] = without_seconds(data) if isinstance(data, str) and kind.startswith("text/") else data
    return output


def main() -> None:
    """Make the notebooks that the command line names."""
    for script in scripts([int(word) for word in sys.argv[1:]]):
        notebook = run(notebook_of(script))
        nbformat.validate(notebook)
        script.with_suffix(".ipynb").write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
        print(script.with_suffix(".ipynb").name)


if __name__ == "__main__":
    main()
