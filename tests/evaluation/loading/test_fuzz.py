import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memory_records import questions_from_records

from polyqa.base.errors import PolyqaError
from polyqa.evaluation.loading import FORMATS, load_questions, questions_fingerprint
from polyqa.metrics.gold import Question

KEYS = [
    "id", "sample_id", "question", "utterance", "ambiguous_question", "edited_question", "qa_pairs", "annotations",
    "short_answers", "long_answer", "answer", "answers", "qaPairs", "type", "singleAnswer", "multipleQAs", "pid", "dev",
]  # fmt: skip
HALF_CHARACTERS = st.text(st.characters(), max_size=5)  # surrogates too, as JSON can escape them
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | HALF_CHARACTERS | st.sampled_from(KEYS),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | HALF_CHARACTERS, inner, max_size=5)
    ),
    max_leaves=15,
)
TEXT = st.text(min_size=1, max_size=8).filter(str.strip)
ALIASES = st.lists(TEXT, min_size=1, max_size=3)
OF_FILES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
ASQA_PAIR = st.fixed_dictionaries({"question": TEXT, "short_answers": ALIASES}, optional={"pid": st.none() | TEXT})
WAYS = st.lists(TEXT, min_size=1, max_size=3).map("|".join).filter(lambda text: text.replace("|", "").strip())
AMBIGNQ_PAIR = st.fixed_dictionaries({"question": WAYS, "answer": ALIASES})
ANNOTATION = st.one_of(
    st.fixed_dictionaries({"type": st.just("singleAnswer"), "answer": ALIASES}),
    st.fixed_dictionaries({"type": st.just("multipleQAs"), "qaPairs": st.lists(AMBIGNQ_PAIR, min_size=1, max_size=3)}),
)
RECORDS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "asqa": st.fixed_dictionaries(
        {"ambiguous_question": TEXT, "qa_pairs": st.lists(ASQA_PAIR, min_size=1, max_size=3)},
        optional={"annotations": st.lists(st.fixed_dictionaries({"long_answer": TEXT}), max_size=2)},
    ),
    "ambignq": st.fixed_dictionaries({"question": TEXT, "annotations": st.lists(ANNOTATION, min_size=1, max_size=3)}),
    "situatedqa": st.fixed_dictionaries({"id": TEXT, "question": TEXT, "edited_question": TEXT, "answer": ALIASES}),
    "nq-open": st.fixed_dictionaries({"question": TEXT, "answer": ALIASES}),
    "multi-answer": st.fixed_dictionaries(
        {"question": TEXT, "answers": st.lists(ALIASES, min_size=1, max_size=3)}  # a flat list is DPR's
    ),
}


def questions_or_one_line(path: Path, **options: Any) -> list[Question]:
    """Load a file; an error must be the one that users are meant to see, of one line that can be written."""
    try:
        questions = load_questions(path, **options)
    except PolyqaError as error:
        message = str(error)
        assert message.startswith(str(path))
        assert len(message.splitlines()) == 1
        assert message.encode()
        return []
    assert len({question.id for question in questions}) == len(questions) > 0
    for question in questions:
        texts = [question.id, question.question, *(text for own in question.answers for text in own)]
        texts += [way for own in question.annotations for reading in own for way in reading.questions]
        assert all(text.strip() and text.encode() for text in texts)
        assert all(own and all(reading.short_answers for reading in own) for own in question.annotations)
    assert questions_fingerprint(questions)
    return questions


@OF_FILES
@given(st.binary(max_size=80), st.sampled_from([".json", ".jsonl"]))
def test_bytes_are_questions_or_an_error(tmp_path: Path, data: bytes, suffix: str) -> None:
    path = tmp_path / f"q{suffix}"
    path.write_bytes(data)
    questions_or_one_line(path)


@OF_FILES
@given(JSON, st.none() | st.sampled_from(list(FORMATS)), st.none() | st.just("dev"), st.booleans())
def test_json_is_questions_or_an_error(
    tmp_path: Path, data: Any, format: str | None, split: str | None, lines: bool
) -> None:
    path = tmp_path / ("q.jsonl" if lines else "q.json")
    path.write_text(json.dumps(data), encoding="utf-8")
    questions_or_one_line(path, format=format, split=split)


@pytest.mark.parametrize("name", RECORDS)
@OF_FILES
@given(st.data())
def test_a_record_with_a_broken_part_is_questions_or_an_error(tmp_path: Path, name: str, data: st.DataObject) -> None:
    record: Any = data.draw(RECORDS[name])
    part = record
    while True:
        at = data.draw(st.sampled_from(list(part) if isinstance(part, dict) else list(range(len(part)))))
        if not isinstance(part[at], dict | list) or not part[at] or data.draw(st.booleans()):
            part[at] = data.draw(JSON)
            break
        part = part[at]
    path = tmp_path / "q.json"
    path.write_text(json.dumps([record]), encoding="utf-8")
    questions_or_one_line(path)


@pytest.mark.parametrize("name", RECORDS)
@OF_FILES
@given(st.data())
def test_every_way_to_write_records_gives_the_same_questions(tmp_path: Path, name: str, data: st.DataObject) -> None:
    records = [{"id": str(at), **data.draw(RECORDS[name])} for at in range(data.draw(st.integers(1, 4)))]
    if name == "situatedqa":
        records = [{**record, "id": str(at)} for at, record in enumerate(records)]
    expected = questions_from_records(records)
    shapes = [records, {"dev": records}, {r["id"]: r for r in records}, {"dev": {r["id"]: r for r in records}}]
    files = {f"{n}.json": json.dumps(shape) for n, shape in enumerate(shapes)}
    files["q.jsonl"] = "\n".join(json.dumps(record, ensure_ascii=False) for record in records)
    for file, text in files.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
        assert load_questions(tmp_path / file) == expected


@OF_FILES
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), ALIASES), min_size=1, max_size=10))
def test_grouping_loses_no_answer_and_keeps_the_order(records: list[tuple[str, str, list[str]]]) -> None:
    rows = [
        {"id": id, "question": f"{id}?", "edited_question": f"{id} in {place}?", "answer": answer}
        for id, place, answer in records
    ]
    questions = questions_from_records(rows)
    assert [question.id for question in questions] == list(dict.fromkeys(id for id, _, _ in records))
    for question in questions:
        own = [(place, answer) for id, place, answer in records if id == question.id]
        places = dict.fromkeys(place for place, _ in own)
        assert [reading.question for reading in question.readings] == [f"{question.id} in {p}?" for p in places]
        for reading, place in zip(question.readings, places, strict=True):
            assert set(reading.short_answers) == {text for p, answer in own if p == place for text in answer}
            assert len(set(reading.short_answers)) == len(reading.short_answers)
