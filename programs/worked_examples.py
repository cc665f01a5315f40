"""Five worked examples for the calls of DIVA that see no passage (Tables 7, 8 and 12 of In et al., 2024).

The questions and all words are our own, none is of a data set; what they say is common knowledge that does not change.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import dspy

WORKED_EXAMPLES: tuple[Mapping[str, Any], ...] = (
    {
        "question": "When was William Pitt born?",
        "reason": '"William Pitt" is the name of two British statesmen, father and son: Pitt the Elder and Pitt the '
        "Younger.",
        "ambiguity_types": ["AmbSub"],
        "pseudo_interpretations": [
            "When was William Pitt the Elder born?",
            "When was William Pitt the Younger born?",
        ],
        "answer": "Two British prime ministers were called William Pitt. The father, William Pitt the Elder, was born "
        "in 1708. His son, William Pitt the Younger, was born in 1759.",
    },
    {
        "question": "Who wrote The Barber of Seville?",
        "reason": '"The Barber of Seville" is a French play, and an opera after it. Of the opera "wrote" may mean the '
        "music or the words.",
        "ambiguity_types": ["AmbObj", "AmbPred"],
        "pseudo_interpretations": [
            "Who wrote the French play The Barber of Seville?",
            "Who composed the music of Rossini's opera The Barber of Seville?",
            "Who wrote the libretto of Rossini's opera The Barber of Seville?",
        ],
        "answer": "The Barber of Seville is both a play and an opera. Pierre Beaumarchais wrote the play, which was "
        "first performed in 1775. Gioachino Rossini composed the best-known opera after it, of 1816, and "
        "Cesare Sterbini wrote its libretto.",
    },
    {
        "question": "When did the Channel Tunnel open?",
        "reason": 'The verb "open" may mean the ceremony with which the tunnel was inaugurated, or the start of '
        "regular trains for passengers.",
        "ambiguity_types": ["AmbPred"],
        "pseudo_interpretations": [
            "When was the Channel Tunnel officially inaugurated by Queen Elizabeth II and President Mitterrand?",
            "When did regular Eurostar passenger trains begin to run through the Channel Tunnel?",
        ],
        "answer": "The opening of the Channel Tunnel can be dated in two ways. Queen Elizabeth II and President "
        "Mitterrand inaugurated it on 6 May 1994. Regular Eurostar trains have carried passengers through it "
        "since 14 November 1994.",
    },
    {
        "question": "Who won the Olympic marathon in London?",
        "reason": 'The Olympics were in London in 1908, 1948 and 2012, so it is unclear which year is meant. "Who" may '
        "be a man or a woman in 2012, when women ran a marathon, too.",
        "ambiguity_types": ["AmbTime", "AmbSub"],
        "pseudo_interpretations": [
            "Who won the marathon of the 1908 Olympics in London?",
            "Who won the marathon of the 1948 Olympics in London?",
            "Which man won the marathon of the 2012 Olympics in London?",
            "Which woman won the marathon of the 2012 Olympics in London?",
        ],
        "answer": "An Olympic marathon was run in London at three Games. Johnny Hayes of the United States won it in "
        "1908, and Delfo Cabrera of Argentina in 1948. In 2012 Stephen Kiprotich of Uganda won the men's "
        "race and Tiki Gelana of Ethiopia the women's.",
    },
    {
        "question": "What is the emergency telephone number?",
        "reason": "No country is named, and the emergency telephone number is not the same everywhere: not in the "
        "United States, the United Kingdom, Australia and the European Union, for instance.",
        "ambiguity_types": ["AmbLoc"],
        "pseudo_interpretations": [
            "What is the emergency telephone number in the United States?",
            "What is the emergency telephone number in the United Kingdom?",
            "What is the emergency telephone number in Australia?",
            "What is the emergency telephone number in the European Union?",
        ],
        "answer": "Which number to call in an emergency depends on the country. It is 911 in the United States, 999 in "
        "the United Kingdom and 000 in Australia. In all countries of the European Union it is 112.",
    },
)
"""Fields of DIVA's calls; one for each kind of ambiguity, as in Table 7, and two of them have two kinds."""


def worked_demos(signature: type[dspy.Signature]) -> list[dict[str, Any]]:
    """Return the worked examples as demos of `TypeAmbiguity`, `InferPseudoInterpretations` or `AnswerClosedBook`."""
    return [{name: deepcopy(example[name]) for name in signature.fields} for example in WORKED_EXAMPLES]
