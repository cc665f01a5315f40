"""Worked examples for the calls of `spanwise.Spanwise`.

The passages and all words are our own; what they say is common knowledge that does not change.
"""

from typing import Any

import dspy

from polyqa.signatures import TellFindings, VerifyFinding

_VERDICTS = (
    (
        "Who directed Hairspray?",
        "Hairspray (1988 film)",
        "John Waters wrote and directed this comedy.",
        "John Waters",
        1,
    ),
    ("Who directed Hairspray?", "Hairspray (1988 film)", "Ricki Lake plays Tracy Turnblad.", "Ricki Lake", 0),
    (
        "Who directed Hairspray in 2007?",
        "Hairspray (1988 film)",
        "John Waters wrote and directed this comedy.",
        "John Waters",
        0,
    ),
    ("Where did John Field die?", "John Field (composer)", "He died in Moscow on 23 January 1837.", "Moscow", 1),
    ("Where did John Field die?", "Field of the Cloth of Gold", "The two kings met near Calais.", "Calais", 0),
    (
        "When was the Sydney Opera House built?",
        "Sydney Opera House",
        "Work on the podium began in March 1959.",
        "March 1959",
        1,
    ),
    (
        "When was the Brooklyn Bridge opened?",
        "Manhattan Bridge",
        "It was opened on 31 December 1909.",
        "31 December 1909",
        0,
    ),
    (
        "When was the Sydney Opera House built?",
        "Sydney Opera House",
        "Elizabeth II opened the house on 20 October 1973.",
        "20 October 1973",
        1,
    ),
    (
        "What is the population of Springfield?",
        "Springfield, Missouri",
        "In 2020 it had 169,176 inhabitants.",
        "169,176",
        1,
    ),
    ("When did the city of Springfield burn?", "Springfield, Missouri", "The city was founded in 1838.", "1838", 0),
)
_TOLD = (
    (
        "Who directed Hairspray?",
        (
            "Hairspray (1988 film) | John Waters wrote and directed this comedy about Baltimore in 1962. | John Waters",
            "Hairspray (2007 film) | Adam Shankman directed the musical, with John Travolta as Edna. | Adam Shankman",
        ),
        ("Who directed the 1988 film Hairspray?", "Who directed the 2007 film Hairspray?"),
        "John Waters wrote and directed the 1988 film Hairspray.\nAdam Shankman directed the 2007 film Hairspray.",
    ),
    (
        "When was the Sydney Opera House built?",
        (
            "Sydney Opera House | Work on the podium began in March 1959. | March 1959",
            "Sydney Opera House | Elizabeth II opened the house on 20 October 1973. | 20 October 1973",
        ),
        ("When was the building of the Sydney Opera House begun?", "When was the Sydney Opera House opened?"),
        "Work on the podium of the Sydney Opera House began in March 1959.\n"
        "Elizabeth II opened the Sydney Opera House on 20 October 1973.",
    ),
    (
        "Where did John Field die?",
        ("John Field (composer) | He settled in Saint Petersburg and died in Moscow on 23 January 1837. | Moscow",),
        (),
        "The composer John Field died in Moscow on 23 January 1837.",
    ),
    (
        "What is the capital of the Congo?",
        (
            "Republic of the Congo | Its capital is Brazzaville, on the north bank of the river. | Brazzaville",
            "Democratic Republic of the Congo | The capital, Kinshasa, lies on the south bank. | Kinshasa",
            "Belgian Congo | Boma was the capital of the colony until 1926. | Boma",
        ),
        (
            "What is the capital of the Republic of the Congo?",
            "What is the capital of the Democratic Republic of the Congo?",
            "What was the capital of the Belgian Congo until 1926?",
        ),
        "The capital of the Republic of the Congo is Brazzaville, on the north bank of the river.\n"
        "The capital of the Democratic Republic of the Congo is Kinshasa, on the south bank.\n"
        "Boma was the capital of the Belgian Congo until 1926.",
    ),
)


def finding_demos(signature: type[dspy.Signature]) -> list[dict[str, Any]]:
    """Return the worked examples as demos of `VerifyFinding` or `TellFindings`."""
    demos: dict[type[dspy.Signature], list[dict[str, Any]]] = {
        VerifyFinding: [
            {"question": question, "finding": f"{title} | {sentence} | {answer}", "holds": "Yes" if holds else "No"}
            for question, title, sentence, answer, holds in _VERDICTS
        ],
        TellFindings: [
            {
                "findings": list(findings),
                "question": question,
                "interpretations": [
                    {"question": wording, "answer": finding.rpartition(" | ")[2], "pid": str(number)}
                    for number, (wording, finding) in enumerate(zip(wordings, findings, strict=False), 1)  # none or all
                ],
                "answer": answer,
            }
            for question, findings, wordings, answer in _TOLD
        ],
    }
    return demos[signature]
