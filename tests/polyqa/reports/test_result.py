"""What a result shows of itself: all of it, at the right place, and nothing of a stranger's text acts."""

import re
from dataclasses import replace
from typing import Any

import pytest
from attack_texts import ATTACKS
from markdown_it import MarkdownIt
from well_formed_html import Page, read_html

from polyqa import Result
from polyqa.base.html import plain
from polyqa.base.values import Coverage, Interpretation, Passage
from polyqa.cli.answers import show_result
from polyqa.lm.attempts import FailedCall
from polyqa.programs.tree import ClarificationNode, NodeStatus
from polyqa.reports.result import result_markdown, took
from polyqa.web.answered import answered

PASSAGES = (
    Passage(pid="t97", title="Titanic (1997 film)", text="It premiered in Tokyo on 1 November, 1997, and cost a lot."),
    Passage(pid="t53", title="Titanic (1953 film)", text="A drama. It came out on 16 April 1953 in the United States."),
    Passage(pid="ship", title="RMS Titanic", text="She sank on 15 April 1912."),
)
READINGS = (
    Interpretation(question="When did the film of 1997 come out?", answer="1 November 1997", pid="t97"),
    Interpretation(question="When did the film of 1953 come out?", answer="16 April 1953", pid="t53"),
    Interpretation(question="When did the musical come out?", answer="23 April 1997"),
)
TREE = ClarificationNode(
    question="When did Titanic come out?",
    children=(
        ClarificationNode(question="The film?", answer="1997", status=NodeStatus.VALID, depth=1),
        ClarificationNode(question="The ship?", answer="1912", status=NodeStatus.PRUNED, depth=1),
    ),
)


def result_of(**changes: Any) -> Result:
    fields: dict[str, Any] = {
        "question": "When did Titanic come out?",
        "answer": "The film of 1997 came out on 1 November 1997. The film of 1953 came out on 16 April 1953.",
        "interpretations": READINGS,
        "passages": PASSAGES,
        "coverage": Coverage.PARTIAL_USEFUL,
        "program": "auto",
        "lm": "polyqa/extractive",
        "calls": (),
        "input_tokens": 1234,
        "output_tokens": 56,
        "seconds": 0.75,
    }
    readings = changes.get("interpretations", READINGS)
    return Result(**(fields | {"confidence": [None] * len(readings)} | changes))


def shown(result: Result) -> Page:
    return read_html(result._repr_html_())


def everywhere(text: str) -> Result:
    """Return a result that has a text wherever a stranger's may stand."""
    passage = Passage(pid=f"p{text}", title=text, text=f"{text} It is 42, they say. {text}")
    return result_of(
        question=text,
        answer=f"{text} It is 42.",
        interpretations=[
            Interpretation(question=text, answer="42", pid=passage.pid),
            Interpretation(question="q", answer=text, pid=passage.pid),
            Interpretation(question="q", answer="none", pid=text),
        ],
        passages=[passage, Passage(pid="other", text=text)],
        program=text,
        lm=text,
        faults=[FailedCall("extract", "", text, text, text)],
        extra={"tree": ClarificationNode(question=text, children=(ClarificationNode(question=text, answer=text),))},
    )


def test_the_answer_links_to_its_evidence() -> None:
    page = shown(result_of())
    links = page.named("a")
    assert [link.text for link in links] == ["[1]", "[2]", "[1]", "[2]"], "two in the answer, two in the readings"
    evidence = {element.attributes["id"]: element.text for element in page.elements if "id" in element.attributes}
    for link in links:
        target = evidence[(link.attributes["href"] or "")[1:]]
        assert target.startswith(f"{link.text} Titanic (19")
    assert len(evidence) == len(PASSAGES)


@pytest.mark.parametrize(
    ("text", "answer", "marks"),
    [
        ("It premiered on 1 November, 1997.", "1 November 1997", ["1 November, 1997"]),
        ("PARIS, or Paris (Texas).", "paris", ["PARIS", "Paris"]),
        ("Parisians live in Paris.", "Paris", ["Paris"]),
        ("It was Ulm; then Bern.", "Bern; Ulm", ["Ulm", "Bern"]),
        ("a a a a", "a a", ["a a a a"]),
        ("He scored 3–1 & won <b>.", "won <b>", ["won <b"]),
        ("Nothing of it.", "42", []),
        ("Nothing.", "?!", []),
    ],
)  # fmt: skip
def test_the_answer_is_marked_in_its_passage(text: str, answer: str, marks: list[str]) -> None:
    reading = Interpretation(question="q", answer=answer, pid="p")
    page = shown(result_of(passages=[Passage(pid="p", text=text)], interpretations=[reading], answer="It is so."))
    assert [mark.text for mark in page.named("mark")] == marks
    assert f"p: {text}" in page.text


def test_a_passage_of_a_document_is_cited_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    of_file = {"source": "film.pdf", "page": 14, "section": "Releases › Japan"}
    result = result_of(passages=(PASSAGES[0].model_copy(update={"metadata": of_file}), *PASSAGES[1:]))
    place = "film.pdf, p. 14, Releases › Japan"
    assert f'<span class="quiet">{place}</span>: It premiered' in result._repr_html_()
    assert f"({place}): It premiered" in result_markdown(result).replace("\\", "")
    assert result.to_dict()["passages"][0]["metadata"] == of_file
    assert [evidence["place"] for evidence in answered(result)["evidence"]] == [place, "", ""]
    show_result(result)
    assert f"[1]  {place}" in capsys.readouterr().out


def test_a_terminal_says_once_that_it_is_not_sure_and_claims_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    show_result(result_of(standing="unsure", answer="Not sure: TEXT", confidence=[0.3, 0.2, None]))
    out = capsys.readouterr().out
    assert out.count("Not sure: ") == 1
    assert "TEXT" not in out
    assert "1 November 1997 · right about 1 time in 3" in out
    assert "23 April 1997 · cites no passage" in out
    assert "16 April 1953 · right about" in out
    show_result(result_of(confidence=[0.9, None, None]))
    assert "16 April 1953 · does not stand in its passage" in capsys.readouterr().out
    assert not re.search(r"\n *\n *\n", out)


def test_marks_stand_only_where_the_reading_cites() -> None:
    page = shown(
        result_of(interpretations=READINGS[:1], passages=[*PASSAGES, PASSAGES[0].model_copy(update={"pid": "copy"})])
    )
    assert [mark.text for mark in page.named("mark")] == ["1 November, 1997"]


def test_the_tree_and_the_faults_are_shown_if_there_are_any() -> None:
    assert "Tree of clarifications" not in shown(result_of()).text
    assert "Careful" not in shown(result_of()).text
    fault = FailedCall("extract", "", "the reply was empty", "", "no reading")
    page = shown(result_of(extra={"tree": TREE}, faults=[fault, fault]))
    assert [item.text for item in page.named("li")][1:] == ["The film? 1997", "The ship? 1912 (pruned)"]
    assert "extract: the reply was empty; no reading (2 times)" in page.text
    assert "Careful: 2 of 0 replies" in result_of(faults=[fault, fault]).to_markdown()


def test_what_the_engine_passes_over_is_told() -> None:
    result = result_of(unheeded={"extract": ["Be <kind>.", "Be brave."], "write": ["Sing."]})
    told = "passes over 3 sentences of the instructions of extract, write, such as “Be <kind>.”"
    assert told in shown(result).text
    assert "passes over 3 sentences" in result.to_markdown()
    assert result.to_dict()["unheeded"] == {"extract": ["Be <kind>.", "Be brave."], "write": ["Sing."]}


def test_an_answer_without_anything_is_shown() -> None:
    bare = result_of(interpretations=(), passages=(), coverage=None, answer="I do not know [1].")
    assert "I do not know [1]." in shown(bare).text, "a mark of no passage is text"
    assert shown(bare).named("a") == []
    assert "0 readings" in repr(bare)
    assert "I do not know \\[1\\]." in bare.to_markdown()


def test_two_results_in_a_notebook_link_to_their_own_evidence() -> None:
    one, other = (
        {
            element.attributes["id"]
            for element in shown(result_of(question=question)).elements
            if "id" in element.attributes
        }
        for question in ("When?", "Where?")
    )
    assert not one & other


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_strangers_text_is_shown_and_does_not_act_in_html(attack: str) -> None:
    page = shown(everywhere(attack))
    assert len(page.named("style")) == 1
    assert all((link.attributes["href"] or "").startswith("#polyqa-") for link in page.named("a"))
    told = " ".join(page.text.split())
    assert told.count(plain(attack)) >= (8 if plain(attack) else 0), "question, readings, titles, texts, tree, faults"


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_strangers_text_is_shown_and_does_not_act_in_markdown(attack: str) -> None:
    text = everywhere(attack).to_markdown()
    text.encode()
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    kinds = {token.type for token in tokens}
    assert kinds <= {
        *("heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline"),
        *(f"{part}_{side}" for part in ("table", "thead", "tbody", "tr", "th", "td") for side in ("open", "close")),
    }
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h2"]
    inner = [child for token in tokens for child in token.children or ()]
    assert {child.type for child in inner} <= {"text", "text_special", "strong_open", "strong_close"}
    told = "".join(
        "".join(child.content for child in token.children or ()) + "\n" for token in tokens if token.children
    )
    assert told.count(plain(attack)) >= (6 if plain(attack) else 0)
    rows = [token for token in tokens if token.type == "tr_open"]
    assert len(rows) == 4, "a head and three readings"


def test_markdown_holds_the_answer_the_readings_and_what_is_cited() -> None:
    text = result_of().to_markdown()
    assert "1 November 1997 [1]. The film of 1953" in text
    assert "| When did the musical come out? | 23 April 1997 | – | none |" in text
    assert "[2] **Titanic (1953 film)** (t53): A drama." in text
    assert "She sank" not in text, "nobody cites it"
    assert "some readings have a source · auto · polyqa/extractive · 0 calls · 1,234 tokens in, 56 out · 0.8 s" in text


@pytest.mark.parametrize("attack", ["x" * 5_000, "two\nlines\x1b[31m", *ATTACKS.values()])
def test_repr_is_short(attack: str) -> None:
    told = repr(everywhere(attack))
    assert "\n" not in told
    assert len(told) < 400
    assert told.isprintable()


def test_repr_says_what_was_asked_and_what_it_took() -> None:
    assert repr(result_of()) == (
        "Result('When did Titanic come out?', 3 readings, program='auto', lm='polyqa/extractive', 0.8 s)"
    )
    assert "1 reading," in repr(replace(result_of(), interpretations=READINGS[:1]))


@pytest.mark.parametrize("coverage", list(Coverage))
def test_sources_are_those_of_the_readings_that_are_told(coverage: Coverage) -> None:
    told = [
        took(result_of(coverage=coverage, interpretations=some))[0] for some in (READINGS[:2], READINGS, READINGS[2:])
    ]
    assert told == ["every reading has a source", "some readings have a source", "no reading has a source"]
