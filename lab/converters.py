"""What it takes to convert files: with one converter or another, and beside building an index of them.

python -m lab.converters compare FILE… --with kreuzberg=PYTHON --with markitdown=PYTHON --pypdf PYTHON [--json FILE]
python -m lab.converters build FOLDER [--json FILE]

``compare`` has converters read files, each in an environment that holds nothing else. What a file holds is counted
with the library of its format; of a PDF the words that pypdf finds. ``build`` measures `polyqa index build FOLDER`
beside the converter alone.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from polyqa.colbert_index import ColBERTIndex
from polyqa.documents.converting import FORMATS

from .results import JsonFile, Table, cores, report

app = typer.Typer(no_args_is_help=True)
_CONVERT = {
    "kreuzberg": """
import kreuzberg
config = kreuzberg.ExtractionConfig(use_cache=False, output_format="markdown")
convert = lambda path: kreuzberg.extract_file_sync(path, config=config).content
""",
    "markitdown": """
import markitdown
convert = lambda path: markitdown.MarkItDown().convert(path).text_content
""",
    "pypdf": """
import pypdf
convert = lambda path: "\\n".join(page.extract_text() for page in pypdf.PdfReader(path).pages)
""",
}
_READ = """
import json, os, sys
for path in sys.argv[1:]:
    for _ in range(2):
        before = os.times()
        text = convert(path)
        after = os.times()
    print(json.dumps([text, after.user + after.system - before.user - before.system]))
"""
_WEIGH = """
import json, sys, importlib.metadata as metadata
all = [one for one in metadata.distributions() if one.name.lower() not in ("pip", "setuptools")]
paths = {path.locate() for one in all for path in one.files or ()}
about = metadata.metadata(sys.argv[1])
kinds = [kind.rsplit(":: ", 1)[1] for kind in about.get_all("Classifier") or () if kind.startswith("License ::")]
licence = about.get("License-Expression") or ", ".join(kinds) or about.get("License", "")
size = sum(path.stat().st_size for path in paths if path.is_file())
print(json.dumps([about["Version"], size / (1 << 20), len(all), licence]))
"""
_ALONE = """
import sys, kreuzberg
config = kreuzberg.ExtractionConfig(use_cache=False, output_format="markdown", include_document_structure=True,
                                    concurrency=kreuzberg.ConcurrencyConfig(max_threads=1))
for path in sys.argv[1:]:
    try:
        kreuzberg.extract_file_sync(path, config=config)
    except kreuzberg.KreuzbergError as error:  # what cannot be read costs itself, as in a build
        print(f"{path}: {error}", file=sys.stderr)
"""
_PASSAGES = "import sys; from polyqa.documents import Documents; print(sum(1 for _ in Documents(sys.argv[1])))"


@dataclass(frozen=True)
class Held:
    """What a file holds, or what was read of it: words, as often as each stands in it, headings and tables."""

    words: Counter[str]
    headings: int = 0
    tables: int = 0

    @classmethod
    def of(cls, texts: Iterable[str], headings: int = 0, tables: int = 0) -> "Held":
        """Return what is held by texts."""
        return cls(Counter(re.findall(r"\w+", "\n".join(texts).casefold())), headings, tables)

    def kept(self, read: "Held") -> tuple[int, int, int]:
        """Return how much of it was read."""
        return (
            (self.words & read.words).total(),
            min(self.headings, read.headings),
            min(self.tables, read.tables),
        )


def held(path: Path) -> Held:
    """Return what a file holds; nothing of a PDF."""
    match path.suffix:
        case ".html":
            import lxml.html

            page = lxml.html.parse(str(path)).getroot()
            texts = page.xpath("//body//text()[not(ancestor::script or ancestor::style)]")
            return Held.of(texts, len(page.xpath("//h1|//h2|//h3|//h4|//h5|//h6")), len(page.xpath("//table")))
        case ".xlsx":
            import openpyxl

            book = openpyxl.load_workbook(path, data_only=True)
            cells = (
                str(cell).removesuffix(".0")
                for sheet in book
                for row in sheet.values
                for cell in row
                if cell is not None
            )
            return Held.of(cells, 0, len(book.sheetnames))
        case ".docx":
            import docx

            document = docx.Document(str(path))
            texts = (paragraph.xpath("string()") for paragraph in document.element.body.iter("{*}p"))
            styles = [str(one.style.name) for one in document.paragraphs if one.style]
            headings = sum(style.startswith(("Heading", "Title")) for style in styles)
            return Held.of(texts, headings, len(document.tables))
        case ".pptx":
            import pptx

            slides = pptx.Presentation(str(path)).slides
            texts = (one.xpath("string()") for slide in slides for one in slide._element.iter("{*}p"))
            tables = sum(shape.has_table for slide in slides for shape in slide.shapes)
            return Held.of(texts, sum(slide.shapes.title is not None for slide in slides), tables)
    return Held.of(())


def read(markdown: str) -> Held:
    """Return what Markdown holds."""
    rules = re.findall(r"(?m)^ *\|?(?: *:?-{2,}:? *\|)+", markdown)
    return Held.of([markdown], len(re.findall(r"(?m)^#{1,6} \S", markdown)), len(rules))


def _run(python: str, script: str, arguments: Iterable[object]) -> list[Any]:
    command = [python, "-c", script, *map(str, arguments)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [json.loads(line) for line in lines if line.startswith("[")]


@app.command()
def compare(
    files: Annotated[list[Path], typer.Argument(help="Files in Office formats, HTML and PDF.")],
    converters: Annotated[list[str], typer.Option("--with", help="NAME=PYTHON: a converter, and its environment.")],
    pypdf: Annotated[str, typer.Option(help="The Python of an environment with pypdf.")],
    json_file: JsonFile = None,
) -> None:
    """Compare what converters keep of files, and what they weigh."""
    printed = [path for path in files if path.suffix == ".pdf"]
    of_pdf = iter(_run(pypdf, _CONVERT["pypdf"] + _READ, printed) if printed else ())
    holding = [Held.of(next(of_pdf)[:1]) if path in printed else held(path) for path in files]
    rows = []
    for name, _, python in (one.partition("=") for one in converters):
        found = _run(python, _CONVERT[name] + _READ, files)
        kept = [of_file.kept(read(text)) for (text, _), of_file in zip(found, holding, strict=True)]
        for path, of_file, own, (_, took) in zip(files, holding, kept, found, strict=True):
            typer.echo(f"{name} {path.name}: {own} of {of_file.kept(of_file)}, {took:.2f} s", err=True)
        shares = [100 * own / of_file.words.total() for (own, *_), of_file in zip(kept, holding, strict=True)]
        counts = [f"{sum(own[at] for own in kept)} of {sum(of.kept(of)[at] for of in holding)}" for at in (1, 2)]
        version, size, packages, licence = _run(python, _WEIGH, [name])[0]
        seconds = sum(took for _, took in found)
        row = [f"{name} {version}", f"{sum(shares) / len(shares):.1f}", f"{min(shares):.1f}", *counts, f"{seconds:.2f}"]
        rows.append([*row, f"{size:,.0f}", str(packages), licence])
    heads = ["converter", "words kept, %", "in the worst file", "headings", "tables", "CPU s", "MiB installed"]
    about = f"{', '.join(path.name for path in files)}; read twice, the second time counts"
    report(about, Table(heads=[*heads, "packages", "licence"], rows=rows), json_file)


def _took(command: Iterable[object]) -> tuple[float, float, int]:
    """Return the seconds of CPU and of the clock of a command, and the most MB of one of its processes."""
    began = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    return used.ru_utime + used.ru_stime, time.monotonic() - began, used.ru_maxrss // 1_000


@app.command()
def build(folder: Path, json_file: JsonFile = None) -> None:
    """Time the index of a folder: its files converted, read as passages, and encoded."""
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in FORMATS)
    counts = Counter(FORMATS[path.suffix.lower()] for path in paths)
    with tempfile.TemporaryDirectory() as home:
        target = Path(home) / "index"
        steps = {
            "the converter alone": [sys.executable, "-c", _ALONE, *paths],
            "read, cleaned and split into passages": [sys.executable, "-c", _PASSAGES, folder],
            "`polyqa index build`": [sys.executable, "-m", "polyqa", "index", "build", folder, "--name", target],
        }
        rows = []
        for name, step in steps.items():
            cpu, clock, memory = _took(step)
            rows.append([name, f"{cpu:,.0f}", f"{1_000 * cpu / len(paths):,.0f}", f"{clock:,.0f}", f"{memory:,}"])
            typer.echo(rows[-1], err=True)
        passages = len(ColBERTIndex(target))
    kinds = ", ".join(f"{number} {kind}" for kind, number in counts.most_common())
    size = sum(path.stat().st_size for path in paths) / 1e6
    about = f"{len(paths):,} files of {size:,.1f} MB ({kinds}), {passages:,} passages; cores: {cores()}"
    heads = ["step, with those before it", "CPU s", "CPU ms a file", "s by the clock", "MB of the largest process"]
    report(about, Table(heads=heads, rows=rows), json_file)


if __name__ == "__main__":
    app()
