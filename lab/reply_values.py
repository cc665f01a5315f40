"""What the mutated replies of `lab.replies` are made of: values, and the noise around them."""

import random

# Names and numbers that look like the marks of a format, or like an abstention.
QUESTIONS = (
    "Who hosted the games in 1998?",
    "Who hosted the games in 2002?",
    'Who sang "Hello" first?',
    "Which of the two, Smith or Jones, won?",
    "When did AC/DC | Live come out?",
    "In which film [the one of 1990] is Quaid played by Schwarzenegger?",
    "When was Act 2. Scene 1 first staged?",
    "Where does Noël's aunt live: in Köln or in Zürich?",
    "What does 'No' mean in No Country for Old Men?",
    "How many answers does the question 42 have?",
    "Who wrote the passage about DQ, the dairy chain?",
    "When did the U.S. version of The Office end?",
    "Who is the answer to the unanswered question?",
    "What is not mentioned in the Null Island story?",
    "In 1986, who won; and who came second?",
    "1998 was the year of what?",
)
ANSWERS = (
    "Nagano",
    "Salt Lake City",
    "1998",
    "42",
    "No",
    "Yes",
    "None of the Above",
    "Unknown Pleasures",
    "Nullarbor Plain",
    "The Unanswered Question",
    "1,079 blocks",
    "Smith; Jones",
    "Mercury [Hg]",
    "AC/DC | Live",
    "M*A*S*H",
    "Straße 17, Köln",
    "O'Brien",
    "June 4, 1996",
    "Q: The Winged Serpent",
    "No. 5",
    "(500) Days of Summer",
    "3.",
    "not guilty",
    "Nobody",
)
ABSTAINING = (
    "null",
    "null (the passage only names the host of 2006)",
    "None",
    "none",
    "N/A",
    "N/A.",
    "No answer.",
    "Not answerable",
    "Not mentioned",
    "not stated in the passages",
    "Not specified.",
    "unknown",
    "Unknown",
    "cannot be determined",
    "Cannot be determined from the passages.",
    "The passages do not contain the answer",
    "The passage does not say who hosted.",
    "There is no answer in the passages.",
    "None - the passage is about the ship",
    "No information is given.",
    "The year is not mentioned in the passage.",
)
REFUSALS = (
    "I'm sorry, but I can't help with that.",
    "I cannot answer this question.",
    "As an AI language model, I do not have opinions.",
    "Unfortunately, I cannot see the passages.",
    "I apologize, but the question is unclear.",
    "Sorry, I can't assist with this request.",
    "I am unable to rewrite the question.",
)
THOUGHTS = (
    "<think>\nPassage 1: No. Maybe [1, 2]? DQ 1: Who? DA 1: Smith. AmbObj.\n</think>\n",
    "<think>Let me see: Yes.\n1. Who sang? | Adele [7]\n</think>",
    '<thinking>{"question": "Who?", "answer": "I"}</thinking>\n\n',
    "The question is about 2 games. No, 3.\nYes.\n</think>\n\n",
)
BEFORE = ("Here is the list:\n", "Here they are:\n\n", "Sure! Here is what I found:\n", "**Output:**\n")
AFTER = ("\n\nI hope this helps!", "\nLet me know if you need more.", "\n")


def dressed(drawn: random.Random, text: str) -> str:
    """Return a short text as it is, bold, quoted or in back-ticks."""
    if not text:
        return text
    marks = [("", ""), ("", ""), ("", ""), ("**", "**")]
    marks += [('"', '"')] if '"' not in text else []
    marks += [("`", "`"), ("*", "*")] if "*" not in text else []
    opening, closing = drawn.choice(marks)
    return f"{opening}{text}{closing}" if "*" not in text or opening != "**" else text


def noisy(drawn: random.Random, text: str, *, prose: bool = True, lines: bool = True, fence: str | None = None) -> str:
    """Return a reply with thoughts before it, prose before or after it, other ends of lines, or in a fence."""
    if fence is not None and drawn.random() < 0.2:
        text = f"```{fence}\n{text}\n```"
    if prose and drawn.random() < 0.3:
        text = drawn.choice(BEFORE) + text
    if prose and drawn.random() < 0.3:
        text += drawn.choice(AFTER)
    if drawn.random() < 0.25:
        text = drawn.choice(THOUGHTS) + text
    if lines and drawn.random() < 0.2:
        text = text.replace("\n", drawn.choice(("\r\n", "\n\n", " \n")))
    return drawn.choice(("", "", "\n", " ")) + text + drawn.choice(("", "", "\n", " \n\n"))
