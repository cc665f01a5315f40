import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.base.values import Passage
from polyqa.questions import families as module
from polyqa.questions.families import base_names, named, with_title, without_qualifier, without_time
from polyqa.questions.families import families as families_of


@pytest.mark.parametrize(
    ("question", "without", "cut"),
    [
        ("Who won the election in 2008?", "Who won the election?", "2008"),
        ("What was the population of Perth on 3 May 2010?", "What was the population of Perth?", "3 May 2010"),
        ("Who led the Oslo Choir from 1950 to 1958?", "Who led the Oslo Choir?", "from 1950 to 1958"),
        ("Who ruled Perth in the 1920s?", "Who ruled Perth?", "1920s"),
        ("Who won the 53rd Lakeland Cup?", "Who won the Lakeland Cup?", "53rd"),
        ("When did Perth grow in 1950?", None, None),
        ("Who directed Titanic (1953 film)?", None, None),
        ("Who was there in 1950?", None, None),
        ("Who won the election?", None, None),
        ("Who won between 1950 and after 1960?", None, None),
    ],
)
def test_times(question: str, without: str | None, cut: str | None) -> None:
    assert without_time(question) == ((without, cut) if without else None)


@given(st.text(max_size=80))
def test_no_question_is_too_odd(question: str) -> None:
    found = without_time(question)
    assert found is None or (found[0].endswith("?") and len(found[0]) <= len(question) + 1)


FIRM = {
    "Atlas (warehouse)": "Atlas is a warehouse in Rotterdam.",
    "Atlas building": "The Atlas building has seven floors.",
    "Falcon 1": "Falcon 1 was the first payment service.",
    "Falcon 3": "It replaced Falcon 1 in 2022.",
    "Falcon (drone)": "The Falcon is a drone.",
    "Orion search": "Orion is the search service. Peter Wood leads it.",
    "Orion cluster": "The Orion cluster has 96 GPUs.",
    "Lars Keller": "Lars Keller is the head of research. He joined in 2012.",
    "Monika Keller": "Monika Keller leads the bank team. She joined in 2009.",
    "Office in Lisbon": "The office in Lisbon was opened in 2015.",
    "Office in Oslo": "The office in Oslo was opened in 2019.",
    "Incident of 3 May 2022": "The incident was handled by Monika Keller.",
    "Incident of 9 June 2023": "Payments failed. The incident took an hour.",
    "Migration to Kubernetes": "The first migration to Kubernetes was stopped.",
    "Second migration to Kubernetes": "The second migration to Kubernetes was finished.",
    "Remote work": "Staff may work at home. It is called remote work.",
    "Remote access": "The remote access needs a key.",
    "Platform team": "The Platform team has 22 members.",
    "Search team": "The Search team has 11 members.",
    "Company history": "The company was founded in 2006.",
    "Company car": "The company pays for it.",
    "New York": "New York is a city.",
    "New Zealand": "New Zealand is a country.",
}


def test_a_name_is_no_template() -> None:
    asked = r"Who runs the share \data in Oslo?"
    assert without_qualifier(asked, r"Share \data in Oslo", r"the share \data") == r"Who runs the share \data?"


def families(texts: dict[str, str]) -> dict[str, list[str]]:
    passages = [Passage(pid=title, title=title, text=text) for title, text in texts.items()]
    found: dict[str, list[str]] = {}
    for title, base in base_names(passages).items():
        found.setdefault(base, []).append(title)
    return {base: titles for base, titles in found.items() if len(titles) > 1}


def test_namesakes_of_a_firm() -> None:
    assert families(FIRM) == {
        "Atlas": ["Atlas (warehouse)", "Atlas building"],
        "Falcon": ["Falcon 1", "Falcon 3", "Falcon (drone)"],
        "Orion": ["Orion search", "Orion cluster"],
        "Keller": ["Lars Keller", "Monika Keller"],
        "the office": ["Office in Lisbon", "Office in Oslo"],
        "the incident": ["Incident of 3 May 2022", "Incident of 9 June 2023"],
        "the migration to Kubernetes": ["Migration to Kubernetes", "Second migration to Kubernetes"],
    }


def test_only_names_that_may_be_one_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be thousands of counties."""
    compared: list[tuple[str, str]] = []
    monkeypatch.setattr(module, "shared_name", lambda *names: compared.append(names) or "")
    families({f"{name} County": "It is a county." for name in ("Ely", "Bath", "Lake", "Lake Perth", "Perth")})
    assert compared == [("Lake County", "Lake Perth County")]


def test_what_is_called_as_a_name_alone_is_no_other_of_its_series() -> None:
    films = {"Jaws 2": "Jaws 2 is a film.", "Jaws 3": "Jaws 3 is a film."}
    assert families(films) == {"Jaws": ["Jaws 2", "Jaws 3"]}
    assert families({"Jaws": "Jaws is a film.", **films}) == {}


def test_a_closer_name_is_kept() -> None:
    flights = {
        "Apollo 13": "Apollo 13 was a flight.",
        "Apollo 13 (film)": "Apollo 13 is a film.",
        "Apollo 8": "Apollo 8 was a flight.",
        "Apollo (god)": "Apollo is a god.",
    }
    assert families(flights) == {
        "Apollo 13": ["Apollo 13", "Apollo 13 (film)"],
        "Apollo": ["Apollo 8", "Apollo (god)"],
    }


HANDBOOK = {
    "Benefits › Medical Insurance": "Medical insurance is paid by us.",
    "Benefits › Dental Insurance": "Dental insurance is paid by you.",
    "Travel › Car Insurance": "Car insurance is paid by the garage.",
    "Benefits › Sick Days": "There are ten sick days.",
    "Benefits › Free Days": "There are 20 free days.",
    "Places › Office in Lisbon": "The office in Lisbon was opened in 2015.",
    "Office in Oslo": "The office in Oslo was opened in 2019.",
    "Rules › Step 1": "In the first step the door is shut.",
    "Rules › Step 2": "In the second step the lamp is lit.",
    "Rocket 1 › Launch": "Rocket 1 was launched in 2006.",
    "Rocket 2 › Launch": "Rocket 2 was launched in 2010.",
    "Rocket 2 › Crew": "Ida Berg flew in Rocket 2.",
    "Vote › Council": "The council is voted for in May.",
    "Fees › Council": "Members of the council pay nothing.",
}


def test_sections_are_about_what_their_headings_name_or_about_their_documents() -> None:
    passages = [Passage(pid=title, title=title, text=text) for title, text in HANDBOOK.items()]
    about = named(passages)
    assert families_of(passages, about) == {
        "the insurance": ("Benefits › Medical Insurance", "Benefits › Dental Insurance"),
        "the office": ("Places › Office in Lisbon", "Office in Oslo"),
        "Rocket": ("Rocket 1 › Launch", "Rocket 2 › Launch"),
    }
    asked = {
        "Who pays the insurance?": ["Benefits › Dental Insurance", "Who pays the dental insurance?"],
        "When was the office opened?": ["Places › Office in Lisbon", "When was the office in Lisbon opened?"],
        "When was Rocket launched?": ["Rocket 2 › Launch", "When was Rocket 2 launched?"],
    }
    for short, (title, full) in asked.items():
        one = about[title]
        assert with_title(short, one.title, one.base) == full
        assert without_qualifier(full, one.title, one.base) == short


def test_a_description_is_written_as_its_text_has_it() -> None:
    texts = {
        "Items › Boots of Speed": "The boots give you speed for an hour.",
        "Items › Boots of Elvenkind": "The boots of Elvenkind make no sound.",
    }
    about = named([Passage(pid=title, title=title, text=text) for title, text in texts.items()])
    one = about["Items › Boots of Speed"]
    short, full = "How long do the boots work?", "How long do the boots of speed work?"
    assert with_title(short, one.title, one.base) == full
    assert [without_qualifier(text, one.title, one.base) for text in (full, full.title())] == [
        short,
        "How Long Do the boots Work?",
    ]


@pytest.mark.parametrize(
    ("question", "title", "base", "short"),
    [
        ("When was the Office in Oslo opened?", "Office in Oslo", "the office", "When was the office opened?"),
        ("Who won Hackathon 2021?", "Hackathon 2021", "the hackathon", "Who won the hackathon?"),
        ("When was Falcon 2 released?", "Falcon 2", "Falcon", "When was Falcon released?"),
        ("How long is sick leave?", "Sick leave", "the sick leave", "How long is sick leave?"),
        ("How long is the sick leave?", "Sick leave", "the sick leave", "How long is the sick leave?"),
        ("How long is advanced sick leave?", "Advanced sick leave", "the sick leave", "How long is sick leave?"),
        ("When was the canteen opened?", "Office in Oslo", "the office", None),
    ],
)
def test_a_question_and_its_title_can_be_parted_and_joined(
    question: str, title: str, base: str, short: str | None
) -> None:
    assert without_qualifier(question, title, base) == short
    if short is not None:
        joined = with_title(short, title, base)
        assert joined is not None
        assert without_qualifier(joined, title, base) == short
