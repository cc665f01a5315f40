"""Stores the scores that lesson 6 draws from, question by question.

python lessons/scores.py    runs four programs on the shipped dev and test questions with the embedded engine, and
                            writes lessons/scores.json
"""

import json
import tempfile
from pathlib import Path

import polyqa

HOME = Path(__file__).resolve().parent
PROGRAMS = ("rac", "sixpaq", "diva", "verdict")
SCORES = ("disambig_f1", "rouge_l", "f1_answer")


def main() -> None:
    """Run the programs and write the file."""
    index = polyqa.open_index("homonyms")
    by_split: dict[str, dict[str, dict[str, list[float]]]] = {}
    for name in PROGRAMS:
        program = polyqa.load(name, index=index)
        for split in ("dev", "test"):
            with tempfile.TemporaryDirectory() as folder:
                questions = polyqa.Questions(f"homonyms/{split}")
                run = polyqa.evaluate(program, questions, models=polyqa.Models(judge=None), folder=folder)
            place = {question.id: at for at, question in enumerate(questions.asked)}
            records = sorted(run.records, key=lambda record: place[record.id])
            scores = {score: [round(record.scores[score], 4) for record in records] for score in SCORES}
            by_split.setdefault(split, {})[name] = scores
    about = {"command": "python lessons/scores.py", "questions": "homonyms", "lm": "polyqa/extractive"}
    (HOME / "scores.json").write_text(json.dumps({**about, "scores": by_split}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
