"""Every lesson runs, prints what its notebook shows, and makes only claims that this output supports."""

import ast
import contextlib
import importlib.util
import io
import json
import os
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest
from mypy.api import run as mypy_run

import polyqa
from polyqa.lesson_files import lesson, lessons, lessons_home

HOME = Path(polyqa.__file__).resolve().parents[1] / "lessons"
SCRIPTS = sorted(HOME.glob("[0-9][0-9]-*.py"))
EVERY = [pytest.param(path, id=path.stem) for path in SCRIPTS]
_LONG = {"01", "04", "05", "07", "08", "10", "12"}
"""Those that compile with the embedded engine, and those that encode or answer most, are run with the slow tests."""


def load_build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lessons_build", HOME / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


build = load_build()


def stored(script: Path) -> nbformat.NotebookNode:
    return nbformat.read(script.with_suffix(".ipynb"), as_version=4)


def outputs(script: Path) -> list[Any]:
    return [output for cell in stored(script).cells if cell.cell_type == "code" for output in cell.outputs]


def run_cell(source: str, space: dict[str, Any]) -> str:
    """Run a cell as a notebook does, its last line shown; return what it printed."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "<cell>", "exec"), space)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), space)
            if hasattr(value, "_repr_html_"):
                assert value._repr_html_()
    return printed.getvalue()


@pytest.mark.parametrize(
    "script",
    [pytest.param(path, id=path.stem, marks=pytest.mark.slow if path.stem[:2] in _LONG else ()) for path in SCRIPTS],
)
def test_every_cell_runs_and_prints_what_the_notebook_shows(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.delenv(build.LM, raising=False)
    space: dict[str, Any] = {"__name__": "__main__"}
    for cell in stored(script).cells:
        if cell.cell_type != "code":
            continue
        printed = build.without_seconds(run_cell(cell.source, space))
        shown = "".join(output.text for output in cell.outputs if output.output_type == "stream")
        assert printed == shown, f"{script.stem} prints something else now; run make lessons, and read its texts again"
    assert_claims(script, space)
    if int(script.name[:2]) not in ONLY_REAL:
        monkeypatch.setenv(build.LM, "polyqa/extractive")
        assert "Skipped" not in run_cell(cell_of_a_real_model(script).source, space)


@pytest.mark.parametrize("script", EVERY)
def test_lessons_name_what_polyqa_has(script: Path) -> None:
    """Some lessons run among the slow tests alone; that a name is gone is seen at once."""
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "polyqa":
            module = importlib.import_module(node.module or "")
            assert [one.name for one in node.names if not hasattr(module, one.name)] == [], node.module
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "polyqa":
            assert hasattr(polyqa, node.attr)


@pytest.mark.slow
def test_lessons_fit_the_types_of_polyqa() -> None:
    loose = "--allow-redefinition-new --local-partial-types --no-strict-optional --exclude ^$"
    loose += " --disable-error-code no-untyped-def --disable-error-code var-annotated --disable-error-code no-redef"
    found, _, _ = mypy_run([*loose.split(), *map(str, SCRIPTS)])
    joined = '"object" has no attribute'  # what lesson 11 draws is of several kinds
    assert [line for line in found.splitlines() if "error:" in line and joined not in line] == []


def cell_of_a_real_model(script: Path) -> Any:
    """Return the one cell that asks the language model that a student names."""
    asks = f'os.environ.get("{build.LM}")'
    (cell,) = [cell for cell in stored(script).cells if asks in cell.source]
    return cell


def assert_claims(script: Path, space: dict[str, Any]) -> None:
    """Check what the texts of a lesson say about what its cells print."""
    for claim, holds in CLAIMS.get(int(script.name[:2]), {}).items():
        assert eval(holds, space), claim


def measured_with_knn() -> tuple[int, str]:
    table = json.loads((HOME.parent / "lab" / "results" / "compiling.json").read_text())["tables"][""]
    for row in table["rows"]:
        values = dict(zip(table["heads"], row, strict=True))
        if (values["questions"], values["recipe"]) == ("homonyms", "knn"):
            return int(values["n"]), values["difference"]
    raise AssertionError("the table has no row of knn")


ONLY_REAL = {3, 5}
"""Lessons whose cell for a real language model asks for what the embedded engine cannot do: to judge, to write."""

CLAIMS: dict[int, dict[str, str]] = {
    1: {
        "the passage of the film of 1943 abstains": "'null' in ''.join(said['Titanic (1943 film)'])",
        "only the tree reads a reading again": (
            "{name: '1 November 1997' in f'{one.interpretations} {one.doubtful}' for name, one in results.items()}"
            " == {name: name == 'toc' for name in SYSTEMS}"
        ),
        "auto gives one answer where there is one": "len(polyqa.ask(PLAIN, program=auto).extra['answers']) == 1",
        "compiled, a real model tells the musical, too": (
            "['23 April 1997' in [one.answer for one in REAL[name].interpretations]"
            " for name in ('rac', 'rac-homonyms-local')] == [False, True]"
        ),
        "rac has four readings, one of 1912": (
            "len(REAL['rac'].interpretations) == 4 and '1912' in [one.answer for one in REAL['rac'].interpretations]"
        ),
        "spanwise has two readings of 1997": (
            "[one.answer for one in REAL['spanwise'].interpretations if '1997' in one.answer]"
            " == ['1 November 1997', '19 December 1997']"
        ),
        "spanwise keeps to the words of the passages": (
            "all(any(reading.answer in one.text for one in REAL['spanwise'].passages)"
            " for reading in REAL['spanwise'].interpretations)"
        ),
    },
    2: {
        "the lean adapter takes fewer tokens": "count(rendered['LeanAdapter']) < count(rendered['ChatAdapter'])",
        "only the lean adapter reads every dress": (
            "all(adapters['LeanAdapter'].parse(signature, reply) for reply in DRESSES.values())"
        ),
        "many calls repeat a lot": (
            "costs['rac'].input_tokens.mean < costs['diva'].input_tokens.mean < costs['verdict'].input_tokens.mean"
        ),
        "compiled, the step costs more than twice as much": (
            "costs['rac-homonyms-local'].input_tokens.mean > 2 * costs['rac'].input_tokens.mean"
        ),
    },
    3: {
        "all names and swapped have full STR-EM and no D-F1": (
            "all(scores[name].str_em == 1 and scores[name].disambig.f1 == 0 for name in ('all names', 'swapped'))"
        ),
        "swapped has the highest ROUGE-L": "max(scores, key=lambda name: scores[name].rouge_l) == 'swapped'",
        "telegram has full D-F1": "scores['telegram'].disambig.f1 == 1",
        "a person has less than full scores": "scores['a person'].disambig.f1 < 1 and scores['a person'].rouge_l < 0.7",
        "everything is the longest": "max(scores, key=lambda name: scores[name].length) == 'everything'",
        "what it found is supported but for one": (
            "judge_readings(gold, true, small.passages, judge).grounded == (True, True, False)"
            " and true[2].answer == 'Rebecca Ferguson' and '1965 book' in true[2].question"
        ),
        "another style raises DR": "after.dr > before.dr",
        "the short answer keeps to its limit": "score.length <= 30 and score.disambig.f1 == 1",
    },
    4: {
        "the number rises": (
            "sorted(DR, key=lambda way: DR[way].mean()) == ['no demos', 'bootstrapped', 'fixed', 'nearest']"
        ),
        "only with the nearest demos it can be told": (
            "{way: paired(DR['no demos'], DR[way]).low > 0 for way in ('bootstrapped', 'nearest', 'fixed')}"
            " == {'bootstrapped': False, 'nearest': True, 'fixed': False}"
        ),
        "the gain cannot be told on all of dev, nor on test": (
            "(lambda card: card.dev_gain.low < 0 < card.dev_gain.high and card.test_gain.low < 0 < card.test_gain.high)"
            "(read_artifact('rac-homonyms-local').card)"
        ),
        "F1 rises with fixed demos, hardly with the nearest, not with bootstrapped ones": (
            "(lambda f1: f1['bootstrapped'] < f1['no demos'] < f1['nearest'] < f1['no demos'] + 0.02"
            " < f1['fixed'] - 0.05)({way: sum(METRICS['f1_answer'](one.to_example(), run)"
            " for one, run in zip(dev, RESULTS[way])) / len(dev) for way in DR})"
        ),
        "nearest and fixed demos help the question without a similar one, bootstrapped ones do not": (
            "DR['bootstrapped'][at] < DR['no demos'][at] < min(DR['nearest'][at], DR['fixed'][at])"
        ),
        "most runs are good by F1, few by DR": (
            "[sum(METRICS[name](one.to_example(), run) >= 0.5 for one, run in zip(dev, RESULTS['no demos']))"
            " for name in METRICS] == [10, 18]"
        ),
        "with labels the replies are a third shorter": (
            "all(0.6 < sum(one.output_tokens for one in RESULTS[way])"
            " / sum(one.output_tokens for one in RESULTS['no demos']) < 0.75 for way in ('nearest', 'fixed'))"
        ),
        "so few questions cannot tell fixed from nearest": (
            "paired(DR['nearest'], DR['fixed']).low < 0 < paired(DR['nearest'], DR['fixed']).high"
        ),
        "the leak is none by chance": "paired(honest, leaking).low > 0",
        "nearly as many won as lost": "abs((gains > 0).sum() - (gains < 0).sum()) == 1",
        "the nearest demos lead to the year": (
            "['5 September 2014' in RESULTS[way][gains.argmin()].answer for way in ('fixed', 'nearest')]"
            " == [True, False]"
        ),
    },
    5: {
        "a sentence that is no clause changes nothing": (
            "polyqa.ask(QUESTION, program=told('Be charming.')).answer == polyqa.ask(QUESTION, program=rac).answer"
        ),
        "the clause about years is kept, and only that": (
            "[trial.label for trial in trials if trial.kept] == ['as it was', 'clarify: years']"
        ),
        "most clauses change nothing": "sum('changed nothing' in trial.note for trial in trials) > len(trials) / 2",
        "the gain on test is large": "score(made.program, SETS['test']) - score(rac, SETS['test']) > 20",
        "as shipped there is nothing to win": "score(made.program, shipped) <= score(rac, shipped)",
        "the last clause holds": "len(polyqa.ask(QUESTION, program=told(both)).interpretations) == 1",
        "a small model does not heed the clause": "(scored['the clause'] == scored['as it is']).all()",
        "it follows other demos": (
            "compare(COLUMNS['f1_answer'], [scored['as it is']], [scored['demos in years']], seed=0).low > 0"
        ),
    },
    6: {
        "the best of many looks better on dev, not on test": "gain_dev[-1] > 2 and abs(gain_test[-1]) < 0.5",
        "each line points the same way, and not each is enough": (
            "(lambda found: all(one.difference < 0 for one in found.values())"
            " and found['dev', 'disambig_f1'].high < 0 and found['dev', 'disambig_f1'].p > 0.05"
            " and found['dev', 'disambig_f1'].wins + found['dev', 'disambig_f1'].losses == 9"
            " and found['dev', 'f1_answer'].high > 0 > found['test', 'f1_answer'].high"
            " and found['test', 'f1_answer'].p < 0.05"
            ")({(split, column): compare(COLUMNS[column], *[[scores[split][name][key]"
            " for key in COLUMNS[column].scores] for name in ('rac', 'verdict')], seed=0) for split in ('dev', 'test')"
            " for column in ('disambig_f1', 'dr', 'f1_answer')})"
        ),
        "paired is narrower": "(paired.std() < unpaired.std())",
        "small gains need many questions": "8 * spread.var() / 2**2 > 800 > 8 * spread.var() / 5**2",
    },
    7: {
        "a large difference, not told from chance": "gain.difference > 20 and gain.low < 0",
        "a reading of every passage, the others dropped": (
            "(lambda one: len(one.interpretations) == 1 and one.calls[0].reply.count('short_answer') == 5)"
            "(polyqa.ask(FOUR[1], program=rac, lm=lm))"
        ),
        "the plain question has one reading, the ambiguous one five as before": (
            "[len(readings) for readings in returned.values()] == [4, 5, 1, 5]"
        ),
        "the lists of short answers are complete": (
            "[sorted({one.answer for one in polyqa.ask(asked, program=compiled, lm=lm).interpretations})"
            " for asked in FOUR]"
            " == [['1938', '1945'], ['Guido van Rossum'], ['Atlanta', 'Tbilisi'], ['Artemis']]"
        ),
        "the model's long answers leave some out, which polyqa adds": (
            "all(word not in one.calls[0].reply.partition('## answer')[2] and word in one.answer"
            " for program in (rac, compiled) for word, asked in {'1945': FOUR[0], 'Tbilisi': FOUR[2]}.items()"
            " for one in [polyqa.ask(asked, program=program, lm=lm)])"
        ),
    },
    8: {
        "each passage alone is as good, and demos more": (
            "abs(SCORES['rac'].mean() - SCORES['one by one'].mean()) < 2"
            " and SCORES['one by one'].mean() + 5 < SCORES['four demos'].mean()"
        ),
        "rac had one right among two wrong ones": (
            "[one.answer for one in asked.interpretations if 'Chalamet' in one.answer] == ['Timothée Chalamet']"
            " and len(asked.interpretations) == 3"
        ),
        "the replies are short": "6 * result.output_tokens < asked.output_tokens",
        "an accent is dropped": "'Timothee Chalamet' in [call.reply for call in result.calls]",
        "nearly every passage finds something": (
            "sum(len(run.interpretations) for run in RUNS['one by one']) > 3 * len(dev)"
        ),
        "three of four bootstrapped demos are wrong": (
            "[holds(one['passage'], one['answer']) for one in made.program.read.demos].count(False) == 3"
        ),
        "they bring nothing over demos of labels": "abs(SCORES['good runs'].mean() - SCORES['four demos'].mean()) < 1",
        "that demos help is not shown": "made.comparison.metrics['f1_answer'].p > 0.05",
        "without silent ones more readings, and a smaller share of them right": (
            "(lambda told, right: told['with answers'] > told['four demos']"
            " and right['with answers'] / told['with answers'] < right['four demos'] / told['four demos'])("
            "{name: sum(len(run.interpretations) for run in runs) for name, runs in RUNS.items()},"
            "{name: sum(any(agree(reading.answer, gold.short_answers) for gold in one.readings)"
            " for one, run in zip(dev, runs) for reading in run.interpretations) for name, runs in RUNS.items()})"
        ),
        "the cut comes too late": "len(few.interpretations) == 1 and few.answer.count('?') == 3",
    },
    9: {
        "every reply could be read": "not any(run.failed for run in runs.values())",
        "it finds something everywhere, and asks the same again": (
            "[plain[THREE[at]].calls[0].reply.count(by_id[THREE[at]].question) for at in (0, 1)] == [5, 5]"
            " and '\"Hallelujah\"' in plain[THREE[0]].calls[0].reply"
        ),
        "the short answers stand in their passages, but for one reply": (
            "[sum(reading.answer in plain[name].passages[int(reading.pid) - 1].text for reading in"
            " LeanAdapter().parse(rac.clarify.signature, plain[name].calls[0].reply)['interpretations'])"
            " for name in THREE] == [5, 5, 1]"
        ),
        "the long answer forgets": "'1848' not in plain[THREE[1]].calls[0].reply.partition('## answer')[2]",
        "none can be told": "all(one.low < 0 < one.high for one in map(gain.get, METRICS))",
        "DR and F1 move in different directions": "gain['dr'].difference > 0 > gain['f1_answer'].difference",
        "twice the prompt, a fifth more of it read, a quarter less written": (
            "[round(new / old, 1) for old, new in zip(price['plain'], price['demos'])] == [2.2, 1.2, 0.8]"
        ),
        "Yes comes too readily, and with more conviction where it is right": (
            "sum(yes > 0.5 for yes in wrong) > sum(yes > 0.5 for yes in right) and ahead > 0.75"
        ),
        "spanwise is better than the plain prompt in DR and STR-EM": (
            "[metric for metric in METRICS if last['plain'][metric].low > 0] == ['dr', 'str_em']"
        ),
        "and than demos in STR-EM": (
            "[metric for metric in METRICS if last['demos'][metric].low > 0] == ['str_em']"
            " and last['demos']['str_em'].p < 0.05"
        ),
        "with weights half the calls and a quarter of the tokens": (
            "(made := [runs[name].summarized()['calls'].value for name in ('trained', 'spanwise')])[0] < made[1] / 2"
            " and 0.2 < made[0] * price['trained'][0] / (made[1] * price['spanwise'][0]) < 0.3"
        ),
        "of no figure can be told whether weights gain": (
            "all(one.low < 0 < one.high for one in"
            " (compare_runs(runs['spanwise'], runs['trained']).metrics[metric] for metric in METRICS))"
        ),
        "nine calls are less work than one": (
            "all(figures['spanwise']['calls'].value * price['spanwise'][at] < price['demos'][at] for at in (1, 2))"
        ),
    },
    10: {
        "the year tells most, the name nothing": (
            "asked[int(gap.argmax())] == '1953' and abs(gap[asked.index('titanic')]) < 0.05"
        ),
        "come and out meet released": "{best[FILM][asked.index(word)] for word in ('come', 'out')} == {'released'}",
        "most tokens meet titanic in the ship's passage": "best[SHIP].count('titanic') > len(asked) / 2",
        "both find the right film": (
            "all(title == f'Titanic ({year} film)' for (year, _), (_, title) in margins.items())"
        ),
        "now the one by more, now the other": (
            "len({margins[year, 'MaxSim'][0] > margins[year, 'one vector'][0] for year in (1943, 1953, 1997)}) == 2"
        ),
        "the search says what the compressed vectors do": (
            "abs(found - (question @ kept[FILM].T).max(axis=1).sum()) < 0.01"
        ),
        "more cells and more exact scores find more": "recall[5][0] < recall[5][-1] < recall[20][-1]",
        "the usual settings lose nothing": "usual == 100",
    },
    11: {
        "the same program differs from itself every fourth time": "0.2 < apart.mean() < 0.3",
        "hardly chance with none lost, perhaps with twelve": "p_of[0] < 0.05 < 0.3 < p_of[12]",
        "fifty are too few": "max(values[1] for values in powers.values()) < 0.8",
        "what is striking exaggerates": "reported.mean() > 3 * TRUE",
        "cannot be told, nothing, and not told in the end, though twice as many became better": (
            "all(one.low < 0 and one.high > 1 for one in (f1, dr, settled['f1_answer'], settled['dr']))"
            " and -1 < known.low < known.high < 1 and settled['dr'].wins > 2 * settled['dr'].losses"
        ),
        "the earlier gain and today's are in each other's interval": (
            "settled['dr'].low < 6.0 < settled['dr'].high and 1.9 < settled['dr'].difference < 10.1"
            " and round(settled['dr'].difference, 1) == 3.8 and round(settled['dr'].p, 3) == 0.094"
        ),
        "F1 fell, EDIT-F1 tripled": (
            "f1.difference < 0 and (edits := comparison.metrics['edit_f1']).low < 0 and edits.b > 3 * edits.a"
        ),
        "the mistake has its p": "round(dr.p, 1) == 0.7",
        "what the embedded engine gains is what was measured": (
            f"(known.n, '%+.1f [%+.1f, %+.1f]' % (known.difference, known.low, known.high)) == {measured_with_knn()}"
        ),
        "two questions prove nothing, however far from zero": "'| subject | 2 | 23.5 | 40.2 | +16.6 [+15.1' in table",
        "eighteen had little chance": "shares[0] < 0.5 < 0.8 < shares[-1]",
        "what to write is what was found": (
            "(lambda one: f'{one.a:.1f} → {one.b:.1f}, {one}, p = {one.p:.3f}, {one.wins}, {one.losses}')"
            "(settled['dr']) == '37.6 → 41.4, +3.8 [-0.6, +8.1], p = 0.094, 42, 19'"
        ),
    },
    12: {
        "three kinds of faults are as common as each other": "sorted(map(kinds.count, set(kinds))) == [2, 2, 3, 3, 3]",
        "the rule does not see what is invented in 1 and 6": (
            "'wrong' == FIRST[0] != SECOND[0] and (FIRST[5], SECOND[5]) == ('clumsy', 'right')"
        ),
        "ten are few to tell whether readers agree": "low_kappa < 0.2 < agreement < 0.8 < high_kappa",
        "where it says more, more is right": "right[sure < 0.3].mean() < 0.2 < 0.8 < right[sure >= 0.85].mean()",
        "the limit looks better on the questions that chose it": (
            "right[sure >= limit].mean() > test_right[told].mean() > test_right.mean() + 0.1"
        ),
        "the price is right readings": "lost > 0.2 * test_right.sum()",
        "eight are equal, and kappa is below zero": (
            "[round(x, 2) for x in kappa(['wrong'] + ['right'] * 9, ['right'] * 9 + ['wrong'])] == [0.8, -0.11]"
        ),
    },
}


@pytest.mark.parametrize("script", EVERY)
def test_the_notebook_holds_the_cells_of_its_script(script: Path) -> None:
    def cells(notebook: nbformat.NotebookNode) -> list[tuple[str, str]]:
        return [(cell.cell_type, cell.source) for cell in notebook.cells]

    fresh, notebook = build.notebook_of(script), stored(script)
    assert cells(notebook) == cells(fresh), "run make lessons"
    assert notebook.metadata == fresh.metadata
    nbformat.validate(notebook)


@pytest.mark.parametrize("script", EVERY)
def test_outputs_hold_what_is_drawn_no_errors_and_nothing_of_this_machine(script: Path) -> None:
    for output in outputs(script):
        assert output.output_type != "error"
        assert output.get("name") != "stderr"
        text = json.dumps({kind: data for kind, data in output.get("data", {}).items() if kind != "image/png"})
        text += output.get("text", "")
        assert re.findall(r"/(?:root|work|tmp|home|usr|opt)/|\b\d+\.\d s\b|object at 0x|Warning", text) == []
    drawn = "\n".join(cell.source for cell in stored(script).cells).count("plt.show()")
    assert sum("image/png" in output.get("data", {}) for output in outputs(script)) == drawn


@pytest.mark.parametrize("script", EVERY)
def test_a_lesson_has_all_its_parts(script: Path) -> None:
    texts = "\n".join(cell.source for cell in stored(script).cells if cell.cell_type == "markdown")
    assert f"# Lesson {int(script.name[:2])}: " in texts
    for part in ("After this lesson you can", "## With a real language model", "## Exercises", "## Solutions"):
        assert part in texts, part
    assert "https://arxiv.org/abs/" in texts
    cell = cell_of_a_real_model(script)
    assert (
        any("Skipped:" in output.get("text", "") for output in cell.outputs) or "LM or polyqa.recorded(" in cell.source
    )
    tasks = texts[texts.index("## Exercises") : texts.index("## Solutions")]
    solutions = texts[texts.index("## Solutions") :]
    numbers = re.findall(r"^(\d)\. ", tasks, re.MULTILINE)
    assert 2 <= len(numbers) <= 3
    assert re.findall(r"^\*\*(\d)\.\*\*", solutions, re.MULTILINE) == numbers


def test_lessons_are_found_in_order_and_told_apart() -> None:
    listed = lessons()
    assert [item.path.stem for item in listed] == [path.stem for path in SCRIPTS]
    assert len({item.title for item in listed}) == len(listed)
    assert all(5 <= item.minutes <= 60 for item in listed)
    assert lesson(1) == listed[0]
    with pytest.raises(polyqa.PolyqaError, match="no lesson 99; there are 1"):
        lesson(99)


def test_a_copy_is_made_once_and_never_written_over(tmp_path: Path) -> None:
    first = lesson(1)
    copy, as_shipped = first.copy_to(tmp_path)
    assert (copy.read_bytes(), as_shipped) == (first.path.read_bytes(), True)
    assert first.copy_to(tmp_path) == (copy, True)
    copy.write_text("mine")
    assert first.copy_to(tmp_path) == (copy, False)
    assert copy.read_text() == "mine"
    with pytest.raises(polyqa.PolyqaError, match="no folder"):
        first.copy_to(tmp_path / "nowhere")


def test_the_installed_folder_is_the_one_at_the_top() -> None:
    assert lessons_home().resolve() == HOME


def test_the_site_has_a_page_for_every_lesson() -> None:
    pages = (HOME.parent / "mkdocs.yml").read_text(encoding="utf-8")
    assert re.findall(r"lessons/(\d\d-[\w-]+)\.md", pages) == [path.stem for path in SCRIPTS]


def test_a_build_names_no_language_model_and_is_stopped_by_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(build.LM, "openai/none")
    asking = nbformat.v4.new_code_cell(f"import os; print(os.environ.get('{build.LM}'))\n'(rac, 2.5 s)'")
    warning = nbformat.v4.new_code_cell("import sys; print('careful', file=sys.stderr)")
    notebook = nbformat.v4.new_notebook(cells=[asking, warning])
    with pytest.raises(RuntimeError, match=r"standard error: careful[\s\S]*import sys"):
        build.run(notebook)
    outputs = [output.get("text") or output.data["text/plain"] for output in notebook.cells[0].outputs]
    assert outputs == ["None\n", "'(rac)'"]
    assert os.environ[build.LM] == "openai/none"
