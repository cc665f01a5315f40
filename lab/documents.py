"""What stands in the marked parts of the documents, each from its source: `PARTS`."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import typer
from typer.cli import get_docs_for_click

import polyqa
from polyqa.artifacts.card import Gain
from polyqa.artifacts.showing import change_text, figure_text
from polyqa.artifacts.store import artifact_names, read_artifact
from polyqa.cli import app
from polyqa.colbert_index import read_corpus
from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.homonyms import SPLITS, corpus_path
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.published import ASQA
from polyqa.evaluation.tables import amount_text, markdown_table
from polyqa.extractive.clauses import CLAUSES
from polyqa.lesson_files import lessons
from polyqa.optimizers.clauses import LIBRARY, Candidate
from polyqa.optimizers.recipes import RECIPES
from polyqa.programs.registry import REGISTRY

from .adapting import Adaptations
from .building import Building
from .centroids import Finding
from .compiling import Compilations
from .confidence import Confidence
from .faults.damage import Damage
from .faults.injections import Injections
from .faults.kills import Kills
from .faults.lm import Faults
from .faults.updates import Reads
from .latency import Latency
from .reckoning import Reckoning
from .results import HOME, Summary, read_results
from .retrieval import Retrieval
from .scale import Batches, Searching
from .serving import Serving
from .tokens import Tokens

_QUALITY = ("disambig_f1", "rouge_l", "str_em", "mrecall@5", "g_precision", "g_recall")
_AMOUNTS = ("readings", "length", "calls", "input_tokens", "output_tokens")


def programs() -> str:
    """Return the programs, as the registry has them."""
    rows = (
        [
            f"`{name}`",
            entry.calls,
            entry.summary,
            f"[{entry.paper}]({entry.url})" if entry.url else entry.paper,
        ]
        for name, entry in REGISTRY.items()
    )
    return markdown_table(["program", "LM calls a question", "what it does", "published by"], rows)


def lesson_table() -> str:
    """Return the lessons: what each is called, what one can do afterwards, how long it takes."""
    rows = ([str(one.number), f"[{one.title}]({one.path.name})", one.learns, str(one.minutes)] for one in lessons())
    return markdown_table(["", "lesson", "afterwards you can", "minutes"], rows)


def program_classes() -> str:
    """Return one heading per program, under which mkdocstrings puts its class."""
    return "\n\n".join(
        f"## `{name}`\n\n::: {entry.program.__module__}.{entry.program.__name__}\n    options:\n      heading_level: 3"
        for name, entry in REGISTRY.items()
    )


def python() -> str:
    """Return the public names, each of which mkdocstrings replaces by its documentation."""
    return "\n\n".join(f"::: polyqa.{name}" for name in polyqa.__all__)


def recipes() -> str:
    """Return the recipes."""
    rows = (
        [f"`{name}`", one.summary, "yes" if one.writes else "no", "yes" if one.gathers else "no"]
        for name, one in RECIPES.items()
    )
    return markdown_table(["recipe", "what it does", "a model writes instructions", "own runs become demos"], rows)


def clauses_obeyed() -> str:
    """Return the clauses that the embedded engine knows."""
    rows = ([one.meaning, f"*{one.wordings[0]}*"] for one in CLAUSES)
    return markdown_table(["what it does", "such as"], rows)


def clauses_library() -> str:
    """Return the clauses that a search tries, each once, with the steps that it is for."""
    tasks: dict[Candidate, list[str]] = {}
    for task, candidates in LIBRARY.items():
        for one in candidates:
            tasks.setdefault(one, []).append(f"`{task.__name__}`")
    rows = ([one.text, one.group, one.purpose, ", ".join(names)] for one, names in tasks.items())
    return markdown_table(["clause", "of one kind", "when it helps", "for"], rows)


def _compilations(name: str = "compiling") -> Compilations:
    return Compilations.model_validate_json((HOME / f"{name}.json").read_bytes())


def clauses_alone() -> str:
    """Return what each clause does alone on training questions, with the command."""
    one = _compilations()
    made = f"`{one.program}` with {one.lm}, embedded reader; {one.date}."
    return _measured(made, one.command, one.clauses_table())


def compiling(name: str = "compiling") -> str:
    """Return what compiling brought on sets of questions, with the command."""
    one = _compilations(name)
    made = f"`{one.program}` with {one.lm}, embedded reader, instructions by polyqa/proposer; {one.date}."
    return _measured(made, one.command, one.table())


def columns() -> str:
    """Return the figures that a run is told by."""
    better = {True: "higher is better", False: "lower is better", None: ""}
    rows = ([f"`{name}`", one.label, better[one.higher_is_better]] for name, one in COLUMNS.items())
    return markdown_table(["name", "in tables", ""], rows)


def commands() -> str:
    """Return every command with its options, as ``--help`` tells them."""
    command = typer.main.get_command(app)
    return get_docs_for_click(obj=command, ctx=typer.Context(command), indent=1, name="polyqa").strip()


def corpus() -> str:
    """Return how large the shipped corpus is."""
    splits = {split: load_questions(f"homonyms/{split}") for split in SPLITS}
    counts = [len(question.readings) for questions in splits.values() for question in questions]
    told = ", ".join(f"{split} {len(questions)}" for split, questions in splits.items())
    return (
        f"{len(read_corpus(corpus_path()))} passages and {len(counts)} questions ({told}), "
        f"{sum(count > 1 for count in counts)} of them ambiguous with up to {max(counts)} readings"
    )


def compiled() -> str:
    """Return the shipped artifacts with what compiling brought, from their cards."""

    def told(gain: Gain | None) -> str:
        if gain is None:
            return "–"
        change = change_text(gain.difference, gain.low, gain.high)
        return f"{gain.before.value:.1f} → {gain.after.value:.1f}, {change}, p = {gain.p:.2f}"

    cards = [read_artifact(name).card for name in artifact_names()]
    rows = (
        [*(f"`{own}`" for own in (card.name, card.program, card.recipe["name"])), card.lm]
        + [told(gain) for gain in (card.dev_gain, card.test_gain)]
        for card in cards
    )
    return markdown_table(["name", "program", "recipe", "language model", "DR on dev", "DR on test"], rows)


def answers(name: str) -> str:
    """Return the runs of a file of results, best DR first, with what they were made with."""
    results = read_results(name)
    first = results.runs[0]
    known = [one for one in (*_QUALITY, *_AMOUNTS) if any(one in run.metrics for run in results.runs)]
    heads = ["program", "DR", f"against {results.baseline}", *(COLUMNS[one].label for one in known)]
    runs = sorted(results.runs, key=lambda run: -run.metrics["dr"].value)
    rows = (
        [f"`{run.settings.program}`", figure_text(run.metrics["dr"]), _change(run)] + [_cell(run, one) for one in known]
        for run in runs
    )
    made = (
        f"{first.settings.questions}; index {_several(run.settings.index for run in results.runs)}; "
        f"language model {_several(run.settings.lm for run in results.runs)}; reader {first.settings.reader}; judge "
        f"{first.settings.judge or 'none'}; {sum(run.failed for run in results.runs)} failed; "
        f"{_several(run.date for run in results.runs)}."
    )
    command = first.command.replace(f"--program {first.settings.program} ", "--program PROGRAM ")
    return _measured(made, command, markdown_table(heads, rows))


def _several(values: Iterable[str | None]) -> str:
    return ", ".join(sorted({value for value in values if value})) or "none"


def _change(run: Summary) -> str:
    change = run.changes.get("dr")
    if change is None:
        return "–"
    p = f"{change.p:.2f}" if change.p >= 0.01 else f"{change.p:.3f}" if change.p >= 0.001 else "< 0.001"
    return f"{change_text(change.difference, change.low, change.high)}, p {'' if p[0] == '<' else '= '}{p}"


def _cell(run: Summary, name: str) -> str:
    found = run.metrics.get(name)
    return "–" if found is None else amount_text(name, found.value)


def published() -> str:
    """Return the figures of the papers on ASQA."""
    kept = [name for name in COLUMNS if any(name in one.metrics for one in ASQA)]
    rows = (
        [one.system, one.lm, *(f"{one.metrics[name]:.1f}" if name in one.metrics else "–" for name in kept), one.source]
        for one in ASQA
    )
    return markdown_table(["system", "language model", *(COLUMNS[name].label for name in kept), "source"], rows)


def _measured(made: str, command: str, table: str) -> str:
    """Return what was measured on what, the command that repeats it, and the table."""
    return f"{made}\n\n```sh\n{command}\n```\n\n{table}"


def retrieval() -> str:
    """Return every stored measurement of retrieval."""
    parts = []
    for path in sorted(HOME.glob("retrieval-*.json")):
        one = Retrieval.model_validate_json(path.read_bytes())
        made = f"{one.questions}; index {one.index}; an answer counts by {one.match}; {one.date}."
        parts.append(_measured(made, one.command, one.table(times=False)))
    return "\n\n".join(parts)


def latency() -> str:
    """Return every stored measurement of how long a question waits."""
    parts = []
    for path in sorted(HOME.glob("latency-*.json")):
        one = Latency.model_validate_json(path.read_bytes())
        made = f"{one.questions}; index {one.index}; {one.latency:g} s a call; {one.date}."
        parts.append(_measured(made, one.command, one.table()))
    return "\n\n".join(parts)


def tokens() -> str:
    """Return every stored count of what questions cost with demos."""
    parts = []
    for path in sorted(HOME.glob("tokens-*.json")):
        one = Tokens.model_validate_json(path.read_bytes())
        made = f"{one.questions}; index {one.index}; tokens of {one.tokenizer}; demos: {one.demos}; {one.date}."
        parts.append(_measured(made, one.command, one.table()))
    return "\n\n".join(parts)


def injections() -> str:
    """Return what answers told of what was planted in the corpus, with the command."""
    one = Injections.model_validate_json((HOME / "faults-injections.json").read_bytes())
    made = f"`{one.program}` with {one.lm}; {one.n} questions of {one.questions}, {one.passages} passages; {one.date}."
    return _measured(made, one.command, one.table())


def damage() -> str:
    """Return what is made of damaged folders, with the command."""
    one = Damage.model_validate_json((HOME / "faults-damage.json").read_bytes())
    return _measured(f"{one.count} damaged folders; {one.date}.", one.command, one.table())


def kills() -> str:
    """Return what is left of killed commands, with the command."""
    one = Kills.model_validate_json((HOME / "faults-kills.json").read_bytes())
    count = sum(row.kills for row in one.rows.values())
    return _measured(f"{count} kills; {one.date}.", one.command, one.table())


def updates() -> str:
    """Return what readers find beside a writer, with the command."""
    one = Reads.model_validate_json((HOME / "faults-updates.json").read_bytes())
    made = f"{one.updates} updates in {one.seconds:.0f} s; versions left at the end: {one.left}; {one.date}."
    return _measured(made, one.command, one.table())


def adapting(name: str = "adapting") -> str:
    """Return what adapting made of corpora or questions that were not written for it, with the command."""
    one = Adaptations.model_validate_json((HOME / f"{name}.json").read_bytes())
    made = f"`{one.program}`, recipe knn, {one.lm}, embedded reader; {one.date}."
    told = "\n".join(f"- {name}: {row.verdict}" for name, row in one.rows.items())
    return f"{_measured(made, one.command, one.table())}\n\n{told}"


def confidence() -> str:
    """Return how well the server's confidence holds on dev, with the command."""
    one = Confidence.model_validate_json((HOME / "confidence.json").read_bytes())
    made = (
        f"{', '.join(f'`{name}`' for name in one.programs)} with {one.lm}, reader {one.reader}; fitted on {one.train}"
    )
    return _measured(f"{made}; here {one.dev}; {one.date}.", one.command, one.table())


def scale_search() -> str:
    """Return how long a search takes in small and large indexes, with the command."""
    one = Searching.model_validate_json((HOME / "scale-search.json").read_bytes())
    made = (
        f"{one.questions}; index {one.index}, and larger ones generated from it; {one.cores} cores, of which a search "
        f"takes one. Encoding a question takes {one.encoding:.0f} ms before the search; {one.date}."
    )
    return _measured(made, one.command, one.table())


def scale_answer() -> str:
    """Return how long a batch of questions takes, with the command."""
    one = Batches.model_validate_json((HOME / "scale-answer.json").read_bytes())
    made = (
        f"{one.count:,} questions, `{one.program}` over {one.index}, a language model of 1 s a call, for which a "
        f"question waits {one.waits:.1f} s; {one.cores} cores for everything; {one.date}."
    )
    return _measured(made, one.command, one.table())


def building(name: str = "building") -> str:
    """Return what builds of an index take, with the command."""
    one = Building.model_validate_json((HOME / f"{name}.json").read_bytes())
    made = (
        f"{one.passages:,} passages of {one.corpus}{f', {one.questions}' if one.questions else ''}; embedded "
        f"checkpoint and encoder; {one.cores} cores ({one.processor}), of which the workers of Ray take one each; "
        f"{one.date}."
    )
    return _measured(made, one.command, one.table())


def centroids() -> str:
    """Return how long finding centroids takes, with the command."""
    one = _finding()
    made = f"{one.vectors:,} token vectors of {one.corpus}, {one.tokens:.0f} to a passage; one core ({one.processor}); "
    return _measured(f"{made}{one.date}.", one.command, one.table())


def reckoned() -> str:
    """Return what building an index of Wikipedia takes, reckoned from the two measurements."""
    building = Building.model_validate_json((HOME / "building.json").read_bytes())
    return Reckoning.of(building, _finding()).text(building.cores)


def _finding() -> Finding:
    return Finding.model_validate_json((HOME / "centroids.json").read_bytes())


def serving() -> str:
    """Return what a server answers under load, with the command."""
    one = Serving.model_validate_json((HOME / "serving.json").read_bytes())
    made = f"`{one.program}`, {one.questions}; index {one.index}; {one.date}; "
    made += f"{one.cores} cores for server, model and clients."
    return _measured(made, one.command, one.table())


def faults(part: str) -> str:
    """Return a part of what becomes of questions when the language model's server fails: a table, or the command."""
    one = Faults.model_validate_json((HOME / "faults-lm.json").read_bytes())
    if part == "command":
        return f"```sh\n{one.command}\n```"
    return {"told": one.told, "answered": one.answered, "kept": one.kept}[part]()


PARTS: Mapping[str, Callable[..., str]] = MappingProxyType(
    {
        "adapting": adapting,
        "answers": answers,
        "building": building,
        "centroids": centroids,
        "clauses-alone": clauses_alone,
        "clauses-library": clauses_library,
        "clauses-obeyed": clauses_obeyed,
        "columns": columns,
        "commands": commands,
        "compiled": compiled,
        "compiling": compiling,
        "confidence": confidence,
        "corpus": corpus,
        "damage": damage,
        "faults": faults,
        "injections": injections,
        "kills": kills,
        "latency": latency,
        "lessons": lesson_table,
        "program-classes": program_classes,
        "programs": programs,
        "published": published,
        "python": python,
        "recipes": recipes,
        "reckoned": reckoned,
        "retrieval": retrieval,
        "scale-answer": scale_answer,
        "scale-search": scale_search,
        "serving": serving,
        "tokens": tokens,
        "updates": updates,
    }
)
"""By the name of the part; words behind the name in a document are arguments."""
