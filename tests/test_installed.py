"""The wheel in an environment of its own: nothing of ours stands at the top, and nothing of others is in the way."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import polyqa

pytestmark = pytest.mark.slow

ROOT = Path(polyqa.__file__).resolve().parents[1]
Run = Callable[..., str]


def pip(*words: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *map(str, words)]
    subprocess.run(command, check=True, cwd=ROOT.parent, env=os.environ | {"PIP_NO_INDEX": "1"})


def wheel_of(source: Path, folder: Path) -> Path:
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, source)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this checkout called polyqa: setuptools leaves a build folder in what it builds from."""
    source = tmp_path_factory.mktemp("source") / "polyqa"
    files = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=False,
    )
    if files.returncode:
        pytest.skip("the files of the project are told by git, and this is no checkout")
    for name in filter(None, files.stdout.split("\0")):
        origin, copy = ROOT / name, source / name
        if origin.is_symlink() or origin.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(origin, copy, follow_symlinks=False)
    return source


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our wheel."""
    return wheel_of(checkout, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of another distribution, which installs a package `metrics` at the top."""
    source = tmp_path_factory.mktemp("stranger")
    (source / "metrics").mkdir()
    (source / "metrics" / "__init__.py").write_text("theirs = True\n")
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
        '[project]\nname = "stranger"\nversion = "1"\n[tool.setuptools]\npackages = ["metrics"]\n'
    )
    return wheel_of(source, tmp_path_factory.mktemp("stranger-wheel"))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """A new environment that sees this one's dependencies, but not this checkout; and how to run a command there."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    python = folder / "venv" / "bin" / "python"
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    # A folder on the path brings its packages, and leaves its own .pth files, such as the checkout's, unread.
    (folder / "venv" / "lib" / name / "site-packages" / "theirs.pth").write_text(sysconfig.get_path("purelib") + "\n")
    extensions = Path(sys.prefix) / "share" / "polyqa"
    if extensions.exists():  # compiling them takes a minute and is not what is tested here
        (folder / "venv" / "share").mkdir()
        (folder / "venv" / "share" / "polyqa").symlink_to(extensions)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    settings = {**os.environ, "POLYQA_HOME": str(folder / "home"), "PATH": f"{python.parent}:{os.environ['PATH']}"}
    settings.pop("PYTHONPATH", None)

    def run(*words: str) -> str:
        done = subprocess.run(words, cwd=elsewhere, env=settings, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return python, run


def test_the_wheel_holds_one_package_with_all_that_runs_need(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"polyqa"}
    for name in ("01-five-systems.ipynb", "scores.json", "spanwise.jsonl.gz"):
        assert [path for path in names if path.endswith(f"data/share/polyqa/lessons/{name}")], name
    assert not [name for name in names if "/lab/" in name or "log.md" in name]
    wanted = (
        "compiled/rac-homonyms-local/program.json",
        "models/weights/reader/weights.int8.safetensors",
        "models/weights/writer/vocabulary.json",
        "models/weights/writer/weights.int8.safetensors",
        "evaluation/homonyms/corpus.jsonl",
        "evaluation/homonyms/train.json",
        "py.typed",
    )
    assert not {f"polyqa/{name}" for name in wanted} - set(names)
    assert not [name for name in names if re.search("/tests/|/indexes/|checkpoints|language-models", name)]


def test_a_script_beside_a_checkout_called_polyqa_finds_the_package(
    checkout: Path, environment: tuple[Path, Run], tmp_path: Path
) -> None:
    python, run = environment
    build = f"from setuptools.build_meta import build_editable; build_editable({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=checkout, check=True, capture_output=True)
    (editable,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(editable).extractall(tmp_path / "site")
    (checkout.parent / "script.py").write_text(
        f"import site; site.addsitedir({str(tmp_path / 'site')!r}); import polyqa; print(polyqa.PolyqaError.__module__)"
    )
    assert run(str(python), str(checkout.parent / "script.py")).strip() == "polyqa.base.errors"


def test_it_is_set_up_and_answers_beside_a_stranger_in_either_order(
    wheel: Path, stranger: Path, environment: tuple[Path, Run]
) -> None:
    python, run = environment

    def install(*wheels: Path) -> None:
        for one in wheels:
            pip("--python", python, "install", "--no-deps", one)

    def answers(*words: str) -> str:
        return run("polyqa", "ask", "When did Titanic come out?", *words)

    alone = "import polyqa.metrics.dr, sys; print(polyqa.__file__)"
    theirs = "import metrics, polyqa.metrics; assert metrics.theirs and not hasattr(polyqa.metrics, 'theirs')"
    install(wheel)
    assert str(python.parents[1]) in run(str(python), "-c", alone)
    assert "ready" in run("polyqa", "setup")
    whole = answers()
    assert "1997" in whole
    compiled = answers("--program", "rac-homonyms-local")
    install(stranger)
    run(str(python), "-c", theirs)
    assert (
        answers("--program", "rac-homonyms-local").splitlines()[:-2] == compiled.splitlines()[:-2]
    )  # but for the seconds
    pip("--python", python, "uninstall", "--yes", "stranger", "polyqa")
    install(stranger, wheel)
    run(str(python), "-c", theirs)
    pip("--python", python, "uninstall", "--yes", "stranger")
    assert answers().splitlines()[:-2] == whole.splitlines()[:-2]
