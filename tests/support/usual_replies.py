"""A reply to every call of every program, of a language model with one opinion of every question."""

FILM = {"question": "When did the film Titanic come out?", "answer": "April 1953"}
MUSICAL = {"question": "When did the musical Titanic open?", "answer": "23 April 1997"}
USUAL: dict[str, object] = {
    "reason": "Several works have this name.",
    "ambiguity_types": ["AmbSub"],
    "pseudo_interpretations": [FILM["question"], MUSICAL["question"]],
    "answerable": "Yes",
    "holds": "Yes",
    "answered": [1, 2],
    "supported": [1, 2],
    "interpretations": [MUSICAL, FILM],
    "refinements": [MUSICAL, FILM],
    "answer": "The film came out in April 1953, the musical opened on 23 April 1997.",
    "short_answer": "April 1953",
    "source": "null",
    "settled": "No",
    "explanation": "The film came out in April 1953.",
    "interpretation": FILM["question"],
    "relaxed_query": "Titanic release",
    "search_query": "Titanic release",
    "fitting": "Yes",
    "grade": "Correct",
    "needs_passages": "Yes",
    "relevant": "Yes",
    "readings": [FILM],
    "segment": "The film came out in April 1953.",
    "support": "Fully",
    "usefulness": "5",
    "selected": [1, 2],
    "kept": [1],
}
"""By output field."""
