"""Puts the lessons into the site: each notebook as a page, made when the site is built; a hook of MkDocs."""

import re
from typing import Any

from mkdocs.structure.files import File, Files
from nbconvert import MarkdownExporter

from polyqa.lesson_files import lessons, lessons_home


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages: the list of `lessons/README.md`, and one for each notebook."""
    pages = {"index": (lessons_home() / "README.md").read_text(encoding="utf-8")}
    for lesson in lessons():
        name = lesson.path.stem
        text, made = MarkdownExporter().from_filename(lesson.path, resources={"unique_key": name})
        pages[name] = text.replace("![png](", "![What the cell above drew](")
        for picture, content in made["outputs"].items():
            files.append(File.generated(config, f"lessons/{picture}", content=content))
    for name, text in pages.items():
        inside = re.sub(r"\]\((\d\d-[\w-]+)\.ipynb\)", r"](\1.md)", text)
        inside = re.sub(r"\]\(\.\./docs/([^)]+\.md[^)]*)\)", r"](../\1)", inside)
        files.append(File.generated(config, f"lessons/{name}.md", content=inside))
    return files
