import io
import json
import re
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from command_line import Refused, Run
from openai_server import serve
from probable_engine import ProbableEngine, probable_lm

import polyqa
from polyqa import adapt
from polyqa.adapting import _expected, _made_questions, _Source, _split, ready_index
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, build_index
from polyqa.colbert_index.store import checkpoint_home
from polyqa.evaluation.loading import load_questions
from polyqa.extractive import ExtractiveEngine
from polyqa.lm.client import RecentLM
from polyqa.metrics.gold import Question, Reading
from polyqa.optimizers import recipe
from polyqa.optimizers.plan import check_disjoint
from polyqa.questions import training_set

Adapt = Callable[..., tuple[str, str]]
SMALL = polyqa.Models(lm=RecentLM("local/qwen2.5-coder-1.5b", engine=ExtractiveEngine(), cache=False))
CORPUS = Path(__file__).parents[1] / "questions" / "corpus.jsonl"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    (folder / "checkpoints").symlink_to(checkpoint_home())
    return folder


@pytest.fixture(autouse=True)
def own_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYQA_HOME", str(home))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    wanted = ("tower-", "tay-", "tacoma-", "london-")
    lines = [line for line in CORPUS.read_text().splitlines() if json.loads(line)["id"].startswith(wanted)]
    path = tmp_path_factory.mktemp("corpus") / "bridges.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def written(message: str) -> tuple[str, dict[str, float]]:
    """Ask two questions of a passage, and be sure of the answer that is a year."""
    if "## question" not in message:
        year, designer = "In which year did the Kestrel mill commence its output?", "Who designed the Kestrel mill?"
        return f"1. {year} | 1998\n2. {designer} | Ida Berg", {}
    text, none = ("1998", 0.03) if "year" in message else ("Ida Berg", 0.7)
    return text, {text[:2]: 1 - none, "none": none}


def test_a_model_with_weights_judges_what_it_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_set, "_FEW", 1)
    passage = Passage(
        pid="k", title="Kestrel mill", text="Ida Berg designed the Kestrel mill. It began to work in 1998."
    )
    unread = probable_lm(ProbableEngine(written), reads=False)
    assert _expected([passage], unread) == "1 passage to make questions from, at most 7 calls"
    lm = probable_lm(ProbableEngine(written), reads=True)
    assert _expected([passage], lm) == "1 passage to make questions from, at most 13 calls"
    made = _made_questions([passage], polyqa.Models(lm=lm), tmp_path, polyqa.Budget(threads=1), "mill")
    assert [question.question for question in made.questions] == [
        "In which year did the Kestrel mill commence its output?"  # spared the rules: "output" is not in the passage
    ]
    assert made.dropped == {"the model that asked it does not trust it": 1}


@pytest.fixture
def adapted(run: Run) -> Adapt:
    """Return what adapts RAC with the command and gives what it printed to each stream."""

    def _adapted(corpus: Path, out: Path, *words: object) -> tuple[str, str]:
        code, printed, err = run("adapt", corpus, "--program", "rac", "--out", out, "--yes", *words)
        assert code == 0, err
        return printed, err

    return _adapted


@pytest.mark.slow
def test_adapt_works_from_end_to_end_and_goes_on(corpus: Path, adapted: Adapt, tmp_path: Path, home: Path) -> None:
    out = tmp_path / "bridges"
    printed, err = adapted(corpus, out)
    assert re.search(r"Expected: 11 passages to make questions from, at most \d{3} calls", err)
    for row in (" answers, ", " verified, ", " are ambiguous", " not used", " held out"):
        assert row in printed
    assert len(ColBERTIndex("bridges")) == 11
    assert (home / "indexes" / "bridges").is_dir()
    card = json.loads((out / "card.json").read_text())
    assert card["train"]["source"].startswith("generated from bridges.jsonl by polyqa/extractive: 11 passages, ")
    assert " verified, " in card["train"]["source"]
    assert card["test_gain"]["before"]["n"] >= 3
    assert card["index"]["name"] == "bridges"
    assert printed.startswith(("Adapting ", "Whether adapting helped cannot be told with "))
    verdict = printed.splitlines()[0]
    assert (out / "report.md").read_text().splitlines()[2] == verdict
    assert f"{card['test_gain']['difference']:+.1f}" in verdict
    dropped = json.loads((out / "dropped.json").read_text())
    assert all({"question", "answer", "pid", "why"} == set(one) for one in dropped)
    questions = load_questions(out / "questions.json")
    assert sum(len(question.readings) > 1 for question in questions) >= 5
    program = (out / "program.json").read_text()
    (out / "card.json").unlink()
    assert adapted(corpus, out)[0] == printed
    assert (out / "program.json").read_text() == program


def test_a_corpus_in_which_nothing_shares_a_name(adapted: Adapt, tmp_path: Path) -> None:
    places = (
        ("Cove Mill", "Ida Berg", "Perth"),
        ("Dean School", "Max Moe", "Leeds"),
        ("Sand Theatre", "Eva Holt", "Oslo"),
        ("Long Bank", "Jan Hora", "Bath"),
        ("Pine Museum", "Rex Dahl", "York"),
    )
    corpus = tmp_path / "towns.tsv"
    corpus.write_text(
        "".join(
            f"{n}\t{name} was founded in {1900 + 7 * n} by {founder}. It lies in {place}.\t{name}\n"
            for n, (name, founder, place) in enumerate(places)
        )
    )
    printed, _ = adapted(corpus, tmp_path / "towns")
    assert re.search(r"^.*\b0 of \d+ questions are ambiguous: most", printed, re.M)
    questions = load_questions(tmp_path / "towns" / "questions.json")
    assert len(questions) >= 5
    assert {question.ambiguity for question in questions} == {"none"}


def test_prose_that_the_embedded_engine_asks_nothing_of_is_for_a_language_model(tmp_path: Path) -> None:
    rules = ("Bring it back early, as the doors are locked.", "Ask first, then act.", "Tell us if the lock is damaged.")
    corpus = tmp_path / "rules.tsv"
    corpus.write_text("".join(f"{n}\t{rule}\tRule {'abc'[n]}\n" for n, rule in enumerate(rules)))
    with pytest.raises(PolyqaError, match=r"asks little of prose: have a language model write them \(--lm\), give a"):
        adapt(corpus, "rac", out=tmp_path / "ruled")


def test_a_folder_of_documents_is_read_as_an_index_reads_it(tmp_path: Path, mine: str) -> None:
    folder = tmp_path / "handbook"
    folder.mkdir()
    for at, line in enumerate(CORPUS.read_text().splitlines()[:3]):
        (folder / f"{at}.md").write_text(f"# {json.loads(line)['title']}\n\n{json.loads(line)['text']}\n")
    (folder / "prices.csv").write_text("name,price\nBell,9 euros\nGauge,78 euros\n")
    (folder / "broken.pdf").write_text("no pdf")
    stop = polyqa.Budget(confirm=lambda expected: False)
    with pytest.warns(UserWarning, match="1 file left out: broken.pdf"):
        assert adapt(folder, "rac", out=tmp_path / "manual", questions=mine, budget=stop) is None
    assert "price: 9 euros" in " ".join(passage.text for passage in ColBERTIndex("manual").passages)


@pytest.fixture
def mine(tmp_path: Path) -> str:
    opened = {
        "Tower Bridge (London)": "1894",
        "Tower Bridge (Sacramento)": "1935",
        "Tay Bridge (1878)": "1 June 1878",
        "Tay Road Bridge": "1966",
        "London Bridge (1831)": "1 August 1831",
    }
    records = {
        name: {
            "ambiguous_question": f"When was {name} opened?",
            "qa_pairs": [{"question": f"When was {name} opened?", "short_answers": [year], "context": "No context"}],
            "annotations": [{"long_answer": f"{name} was opened in {year}."}],
        }
        for name, year in opened.items()
    }
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"dev": records}))
    return str(path)


def test_given_questions_are_split_and_used(corpus: Path, adapted: Adapt, tmp_path: Path, mine: str) -> None:
    out = tmp_path / "compiled" / "first"
    printed, err = adapted(corpus, out, "--questions", mine)
    assert "questions: 2 train, 1 dev, 2 held out" in printed
    # Uncompiled and compiled, on dev and on the held-out questions.
    assert "6 runs of the program, about 6 calls" in err
    assert not (out / ".work").exists()
    assert " verified, " not in printed
    card = json.loads((out / "card.json").read_text())
    assert card["train"]["source"] == "mine.json"
    assert card["test_gain"]["data"]["source"] == "held out: mine.json"
    assert not (out / "questions.json").exists()


def test_settings_of_the_language_model_hold_for_every_step(corpus: Path, tmp_path: Path, mine: str) -> None:
    with serve(ExtractiveEngine()) as server:
        models = polyqa.Models(lm="openai/any", api_base=server.base, settings=polyqa.LMSettings(temperature=0.2))
        done = adapt(corpus, "rac", out=tmp_path / "set", questions=mine, models=models)
    assert done is not None
    assert done.made.card.lm_settings["temperature"] == 0.2
    assert {request["temperature"] for request in server.requests} == {0.2}


def test_three_matters_can_always_be_split() -> None:
    pids = ["a", "a", "a", "a", "b", "c"]
    asked = [
        Question(str(n), f"Who opened {n}?", (Reading(f"Who opened {n}?", ("Ada",), pid=pid),))
        for n, pid in enumerate(pids)
    ]
    for seed in range(6):
        sets = _split(_Source(asked, "mine", "mine"), seed, None)
        parts = [[one.id for one in part.asked] for part in (sets.train, sets.dev, sets.test)]
        assert all(parts)
        assert sorted(chain.from_iterable(parts)) == list("012345")
        assert len(parts[0]) >= 3, "the matter with most questions is no part to be reported on"


def test_a_question_that_stands_twice_is_in_one_part() -> None:
    texts = [f"Who opened {n % 12}?" for n in range(13)]
    asked = [Question(f"q{n}", text, (Reading(text, ("Ada",)),)) for n, text in enumerate(texts)]
    for seed in range(6):
        sets = _split(_Source(asked, "mine", "mine"), seed, None)
        check_disjoint({"train": sets.train.asked, "dev": sets.dev.asked, "test": sets.test.asked})


def test_questions_without_long_answers_are_measured_by_their_short_ones(
    corpus: Path, adapted: Adapt, refused: Refused, tmp_path: Path, mine: str
) -> None:
    data = json.loads(Path(mine).read_text())
    for record in data["dev"].values():
        record["annotations"] = []
    short = tmp_path / "short.json"
    short.write_text(json.dumps(data))
    printed, _ = adapted(corpus, tmp_path / "short", "--questions", short)
    assert ": D-F1 " in printed.splitlines()[0]
    assert json.loads((tmp_path / "short" / "card.json").read_text())["measure"] == "disambig_f1"
    words = ("adapt", corpus, "--program", "rac", "--questions", short, "--yes", "--out", tmp_path / "no", "--measure")
    assert "5 of 5 questions of short.json have no reference long answer, which the measure" in refused(*words, "dr")
    assert not (tmp_path / "no").exists()


def test_an_index_that_holds_the_passages_in_another_order_is_taken(tmp_path: Path) -> None:
    passages = [Passage(pid=pid, text=f"Room {pid} seats 12 people.") for pid in ("b", "a")]
    path = build_index(passages, tmp_path / "rooms", progress=False).path
    assert ready_index(passages[::-1], str(path)).path == path
    with pytest.raises(PolyqaError, match="polyqa index sync"):
        ready_index(passages[:1], str(path))


def test_a_folder_by_whose_name_no_index_can_go_is_told_at_once(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match="'my bridges' is no name of an index: call the folder by letters, digits"):
        adapt(corpus, "rac", out=tmp_path / "my bridges")
    assert not (tmp_path / "my bridges").exists()


def test_errors_are_one_line(corpus: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def told(corpus: Path, name: str, program: str = "rac") -> list[str]:
        code, _, err = run("adapt", corpus, "--program", program, "--out", tmp_path / name, "--yes")
        assert code == 2
        return err.splitlines()

    (line,) = told(corpus, "x", "closed-book")
    assert "only programs that search passages" in line
    two = tmp_path / "two.jsonl"
    two.write_text("".join(corpus.read_text().splitlines(keepends=True)[:2]))
    (line,) = told(two, "two")
    assert "holds 2 passages; to train, to pick and to report needs 3 at least" in line
    assert not (tmp_path / "two").exists()
    few = tmp_path / "few.tsv"
    few.write_text("".join(f"{n}\tOf nothing in particular number {n}.\n" for n in range(3)))
    line = told(few, "few")[-1]
    assert "There are 0 questions about 0 separate matters" in line
    assert "needs 3 more" in line
    assert json.loads((tmp_path / "few" / "questions.json").read_text()) == {}
    assert json.loads((tmp_path / "few" / "dropped.json").read_text()) == []
    assert "holds other passages than this corpus" in told(corpus, "few")[-1]
    given = tmp_path / "given.csv"
    given.write_text("question,answer\nWho opened it?,Ada\n")
    code, _, err = run("adapt", few, "--program", "rac", "--questions", given, "--out", tmp_path / "given", "--yes")
    assert code == 2
    assert err.rstrip().endswith("needs 2 more. Give more questions of your own (--questions).")
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    code, _, err = run("adapt", few, "--program", "rac", "--out", tmp_path / "few")
    assert code == 2
    assert "not started" in err


@pytest.mark.parametrize(
    ("program", "given", "told"),
    [
        ("rac-homonyms-local", {}, "rac-homonyms-local is compiled already"),
        ("rac", {"recipe": "magic"}, "no recipe 'magic'"),
        ("rac", {"recipe": "gepa", "models": polyqa.Models(prompt_lm="polyqa/extractive")}, "cannot write"),
        ("nonsense", {}, "Unknown program 'nonsense'"),
        ("sixpaq", {}, "sixpaq cannot be adapted, only programs that search passages: auto, .*spanwise"),
        ("rac", {"measure": "bleu"}, "is one of dr, disambig_f1, f1_answer, not 'bleu'"),
        ("rac", {"limit_passages": -1}, "limit_passages is at least 1, not -1"),
        ("rac", {"recipe": recipe("knn").with_options(predictors=["nope"])}, "names the predictor 'nope'"),
        # What answers if no program is named: small language models have one of their own.
        (None, {"recipe": recipe("knn").with_options(predictors=["tell"])}, "names the predictor 'tell'"),
        (None, {"models": SMALL, "recipe": recipe("knn").with_options(predictors=["nope"])}, "has verify, tell"),
    ],
)
def test_what_cannot_be_compiled_costs_no_questions(
    corpus: Path, tmp_path: Path, program: str | None, given: dict[str, Any], told: str
) -> None:
    stop = polyqa.Budget(confirm=lambda expected: pytest.fail("it was too late"))
    with pytest.raises(PolyqaError, match=told):
        adapt(corpus, program, out=tmp_path / "none", budget=stop, **given)
    assert not (tmp_path / "none").exists()


def card_of(folder: Path) -> dict[str, Any]:
    """Return a card without what differs from run to run."""
    card = json.loads((folder / "card.json").read_text())
    return {name: value for name, value in card.items() if name not in ("date", "spent")}


@pytest.mark.slow
def test_the_limit_of_calls_covers_making_questions_and_compiling(corpus: Path, tmp_path: Path) -> None:
    with serve(ExtractiveEngine()) as server:
        models = polyqa.Models(lm="openai/any", api_base=server.base)
        arrived = 0

        def run(name: str, most: int | None = None) -> int:
            """Return how many requests arrived."""
            nonlocal arrived
            before = len(server.requests)
            out, budget = tmp_path / name / "limited", polyqa.Budget(max_calls=most, threads=2)
            try:
                done = adapt(corpus, "rac", out=out, models=models, limit_passages=7, budget=budget)
                assert (done.counts.passages, len(done.index), done.made.card.lm) == (7, 11, "openai/any")
                assert not {question.id for question in done.train} & {question.id for question in done.held_out}
            except PolyqaError as error:
                arrived += len(server.requests) - before
                assert f"Stopped: {most:,} calls of language models were made" in str(error)  # noqa: PT017
                assert arrived == most
            return len(server.requests) - before

        whole = run("whole")
        run("part", 9)
        assert not (tmp_path / "part" / "limited" / "questions.json").exists()
        made = whole - 8
        run("part", made)
        assert (tmp_path / "part" / "limited" / "questions.json").exists()
        assert not (tmp_path / "part" / "limited" / "card.json").exists()
        assert abs(made + run("part", 2 * whole) - whole) <= 2 * 2
    assert card_of(tmp_path / "whole" / "limited") == card_of(tmp_path / "part" / "limited")
