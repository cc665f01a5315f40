# ---
# jupyter:
#   polyqa:
#     title: Your own corpus
#     minutes: 30
#     learns: index passages of yours, compile a program for them, read its card and hand it on
# ---

# %% [markdown]
# # Lesson 7: Your own corpus
#
# So far you asked about the shipped corpus. This lesson indexes some passages of its own, asks a small language model questions
# about them, and compiles a program for them: the same questions before and after, then the number, then why. At the end it looks
# at the saved files, which somebody else can use.
#
# The model is Qwen2.5-Coder-1.5B (lesson 9). Its replies to this lesson's questions were recorded, so you need neither the model nor
# a key.
#
# After this lesson you can
#
# - build an index, search it, and change it;
# - write training questions, compile, and read the card of the result;
# - hand a compiled program to somebody else, and know what is checked when it is loaded.

# %% [markdown]
# ## Passages
#
# A passage is an id, a title and a text. A paragraph is a good size; one sentence is enough here. Titles matter: they tell
# things of one name apart.

# %%
import json
import os
from pathlib import Path

os.environ.setdefault("POLYQA_PRECISION", "float32")  # as when the replies were recorded: prompts have to be the same

PASSAGES = {
    "Mercury (planet)": "Mercury is the planet nearest to the Sun and goes round it in 88 days.",
    "Mercury (element)": "Mercury is the only metal that is liquid at room temperature, and its symbol is Hg.",
    "Mercury (god)": "Mercury was the Roman god of trade and of travellers, and his mother was Maia.",
    "Mercury (cars)": "Mercury was a make of cars. It was founded in 1938 by Edsel Ford and ended in 2011.",
    "Mercury Records": "Mercury Records is a record company. It was founded in 1945 in Chicago by Irving Green.",
    "Saturn (planet)": "Saturn is the sixth planet from the Sun, and its largest moon is Titan.",
    "Saturn (cars)": "Saturn was a make of cars of General Motors. It was founded in 1985 and ended in 2010.",
    "Saturn V": "Saturn V was the rocket that carried Apollo 11 to the Moon in July 1969.",
    "Java (island)": "Java is an island of Indonesia, and its largest city is Jakarta.",
    "Java (programming language)": "Java is a programming language. It was designed by James Gosling and appeared in 1995.",
    "Python (snake)": "Pythons are snakes without venom that live in Africa, Asia and Australia.",
    "Python (programming language)": "Python is a programming language. It was designed by Guido van Rossum and appeared in 1991.",
    "Phoenix (city)": "Phoenix is the capital of Arizona, and became a city in 1881.",
    "Phoenix (spacecraft)": "Phoenix was a spacecraft of NASA that landed on Mars in May 2008.",
    "Phoenix (bird)": "The phoenix of Greek legend is a bird that rises from its own ashes.",
    "Amazon (river)": "The Amazon is a river of South America and flows into the Atlantic.",
    "Amazon (company)": "Amazon is a company that first sold books. It was founded in 1994 by Jeff Bezos.",
    "Amazons": "The Amazons of Greek legend were women who fought as warriors, and Hippolyta was their queen.",
    "Apollo (god)": "Apollo was the Greek god of music, and his twin sister was Artemis.",
    "Apollo programme": "The Apollo programme of NASA brought twelve people to the Moon between 1969 and 1972.",
    "Victoria (queen)": "Victoria became queen of the United Kingdom in 1837, and died in 1901.",
    "Victoria (state)": "Victoria is a state of Australia, and its capital is Melbourne.",
    "Victoria (city)": "Victoria is a city in Canada, the capital of British Columbia.",
    "Georgia (country)": "Georgia is a country in the Caucasus, and its capital is Tbilisi.",
    "Georgia (state)": "Georgia is one of the United States, and its capital is Atlanta.",
    "Orion (constellation)": "Orion is a constellation whose brightest star is Rigel.",
    "Orion (spacecraft)": "Orion is a spacecraft of NASA that first flew round the Moon in 2022.",
}
lines = [
    json.dumps({"id": str(number), "title": title, "text": text})
    for number, (title, text) in enumerate(PASSAGES.items(), 1)
]
Path("corpus.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
print(lines[3])

# %% [markdown]
# ## An index
#
# `build_index` takes the file and a folder. (A bare name, as in `polyqa index build corpus.jsonl --name mine`, puts it
# beside the shipped index, where `--index mine` finds it.) The index is ColBERT's
# ([Santhanam et al. 2021](https://arxiv.org/abs/2112.01488)): each passage is kept as one vector for each of its tokens.

# %%
import polyqa

index = polyqa.build_index("corpus.jsonl", Path("my-index"), progress=False)
print(len(index), "passages")
for passage in index.search("Which company makes cars?", 3):
    print(f"{passage.score:6.2f}  {passage.title}")

# %% [markdown]
# Passages can be added and removed; a program that has the index open keeps using the version it opened. The *fingerprint* is
# computed from the passages and settings, and every measurement on an index records it.

# %%
from polyqa.colbert_index import add_passages

before = index.fingerprint
titan = polyqa.Passage(
    pid=str(len(PASSAGES) + 1), title="Titan", text="Titan is the largest moon of Saturn. It was found in 1655."
)
index = add_passages(index, [titan])
print(
    len(index), "passages,", "the fingerprint changed" if index.fingerprint != before else "the fingerprint is the same"
)

# %% [markdown]
# ## Four questions
#
# `rac` (lesson 1) sends one prompt: an instruction, five passages, the question. This is what the small model makes of it.

# %%
import dspy

from polyqa.lesson_files import lessons_home

dspy.disable_logging()  # DSPy reports replies that broke off; there will be some
lm = polyqa.recorded(lessons_home() / "own.jsonl.gz")
rac = polyqa.load("rac", index=index)
FOUR = [
    "When was Mercury founded?",
    "Who designed Python?",
    "What is the capital of Georgia?",
    "Who was the twin sister of Apollo?",
]


def ask_four(program):
    """Print the short answers of the readings, and how the long answer begins."""
    for question in FOUR:
        result = polyqa.ask(question, program=program, lm=lm)
        print(f"{question:36} {[reading.answer for reading in result.interpretations]}")
        print("    ", result.answer[:260].replace("\n", " "))


ask_four(rac)

# %% [markdown]
# All the answers are there. But the model writes about the first of them; the sentences on Mercury Records and on the country of Georgia
# are from the passages. `polyqa.ask` does more than run the program: it drops readings that their passages do not support, tells doubtful
# ones last, and adds sentences for sure ones that the long answer leaves out. Look at the beginning of a reply, that to the second
# question:

# %%
print(polyqa.ask(FOUR[1], program=rac, lm=lm).calls[0].reply[:400], "…")

# %% [markdown]
# It finds a reading in every passage, whatever that is about; polyqa dropped four of these five. The questions are all the same, too.
# Examples may help.
#
# ## Training questions
#
# To compile you need questions with their readings. You write them, or `polyqa adapt` makes them from the corpus. A file of
# questions is JSON. Here are some to train on, some to compare with (dev) and some to report on (test). No question is in two
# sets.


# %%
def record(question, *readings, answer):
    """Return a question in ASQA's format: readings as (question, short answer), and one long answer."""
    pairs = [{"question": one, "short_answers": [short]} for one, short in readings]
    return {"ambiguous_question": question, "qa_pairs": pairs, "annotations": [{"long_answer": answer}]}


SETS = {
    "train": [
        record(
            "Who designed the programming language Java?",
            ("Who designed the programming language Java?", "James Gosling"),
            answer="Java was designed by James Gosling.",
        ),
        record(
            "When did Saturn end?",
            ("When did the make of cars Saturn end?", "2010"),
            answer="The make of cars Saturn ended in 2010.",
        ),
        record(
            "What is Mercury?",
            ("What is the planet Mercury?", "the planet nearest to the Sun"),
            ("What is the element Mercury?", "the only metal that is liquid at room temperature"),
            ("Who was the god Mercury?", "the Roman god of trade"),
            answer="Mercury is the planet nearest to the Sun, the only metal that is liquid at room temperature, and also the "
            "Roman god of trade.",
        ),
        record(
            "Who founded Mercury?",
            ("Who founded the make of cars Mercury?", "Edsel Ford"),
            ("Who founded Mercury Records?", "Irving Green"),
            answer="The make of cars Mercury was founded by Edsel Ford, Mercury Records by Irving Green.",
        ),
        record(
            "What is Phoenix?",
            ("What is the city of Phoenix?", "the capital of Arizona"),
            ("What was the spacecraft Phoenix?", "a spacecraft of NASA"),
            ("What is the phoenix of Greek legend?", "a bird"),
            answer="Phoenix is the capital of Arizona. It was also a spacecraft of NASA, and the phoenix of Greek legend is a bird.",
        ),
    ],
    "dev": [
        record(
            "What is the largest city of Java?",
            ("What is the largest city of the island of Java?", "Jakarta"),
            answer="The largest city of the island of Java is Jakarta.",
        ),
        record(
            "When was Mercury founded?",
            ("When was the make of cars Mercury founded?", "1938"),
            ("When was Mercury Records founded?", "1945"),
            answer="The make of cars Mercury was founded in 1938, Mercury Records in 1945.",
        ),
        record(
            "Who was the twin sister of Apollo?",
            ("Who was the twin sister of the god Apollo?", "Artemis"),
            answer="The twin sister of the god Apollo was Artemis.",
        ),
    ],
    "test": [
        record(
            "Who designed Python?",
            ("Who designed the programming language Python?", "Guido van Rossum"),
            answer="The programming language Python was designed by Guido van Rossum.",
        ),
        record(
            "When was Saturn founded?",
            ("When was the make of cars Saturn founded?", "1985"),
            answer="The make of cars Saturn was founded in 1985.",
        ),
        record(
            "What is the capital of Georgia?",
            ("What is the capital of the country of Georgia?", "Tbilisi"),
            ("What is the capital of the American state of Georgia?", "Atlanta"),
            answer="The capital of the country of Georgia is Tbilisi, that of the American state is Atlanta.",
        ),
        record(
            "Where is Victoria?",
            ("Where is the state of Victoria?", "Australia"),
            ("Where is the city of Victoria?", "Canada"),
            answer="The state of Victoria is in Australia, the city of Victoria in Canada.",
        ),
        record(
            "Who founded Amazon?",
            ("Who founded the company Amazon?", "Jeff Bezos"),
            answer="The company Amazon was founded by Jeff Bezos.",
        ),
        record(
            "What is the symbol of Mercury?",
            ("What is the symbol of the element Mercury?", "Hg"),
            answer="The symbol of the element Mercury is Hg.",
        ),
        record(
            "When did Victoria become queen?",
            ("When did Victoria become queen of the United Kingdom?", "1837"),
            answer="Victoria became queen of the United Kingdom in 1837.",
        ),
        record(
            "When did Phoenix land?",
            ("When did the spacecraft Phoenix land on Mars?", "May 2008"),
            answer="The spacecraft Phoenix landed on Mars in May 2008.",
        ),
    ],
}
for name, records in SETS.items():
    Path(f"{name}.json").write_text(json.dumps({f"{name}-{n}": one for n, one in enumerate(records)}), encoding="utf-8")
    print(name, [question.question for question in polyqa.Questions(f"{name}.json").asked])

# %% [markdown]
# This is a toy: a real corpus needs some dozens of questions at least, or only a very large gain can be told from chance (lesson 6).
#
# ## Compile
#
# One call does everything: it checks the sets, makes demos of the training questions, measures before and after, and saves an
# *artifact*. The measure is the F1 of the short answers (lesson 3).

# %%
made = polyqa.compile(
    "rac",
    out="my-rac",
    recipe="knn",
    index=index,
    sets=polyqa.Sets(train="train.json", dev="dev.json", test="test.json"),
    models=polyqa.Models(lm=lm, judge=None),
    measure="f1_answer",
    budget=polyqa.Budget(max_calls=200, threads=1, seed=0),
)
compiled = polyqa.load("my-rac", index=index)
ask_four(compiled)

# %% [markdown]
# The model, the passages and the instruction are the same; new are the demos, and the form in which they write readings (lesson 2). Now the number, on test questions that had no part in it. `polyqa.compile` and
# `polyqa.evaluate` score what the program itself returns, before `polyqa.ask` drops or adds anything:

# %%
gain = made.card.test_gain
print(f"F1 of answers: {gain.before.value:.1f} → {gain.after.value:.1f} on {gain.before.n} questions, p {gain.p:.3f}")
print(f"the difference is {gain.difference:+.1f} [{gain.low:+.1f}, {gain.high:+.1f}]")

# %% [markdown]
# A large difference, and yet it cannot be told from chance: eight questions are few, and the interval includes zero (lesson 11). What did
# the examples change? Here is what the program itself returns for two of the test questions, before and after:

# %%
returned = {}
for name, program in {"before": rac, "after": compiled}.items():
    for question in FOUR[1:3]:
        with dspy.context(lm=lm):
            returned[name, question] = program(question=question).interpretations
        print(f"{name:6} {question}")
        for reading in returned[name, question]:
            print(f"       {reading.question} → {reading.answer}")

# %% [markdown]
# The plain question has one reading now, and that says what it is about. The ambiguous one has five as before, three of which nobody
# asked for: the examples did not make the model cleverer. And look at the answers above: the model's long answers still leave out 1945
# and Tbilisi. polyqa adds them; F1 of short answers does not look at the long answer. (After *Less certain:* comes what polyqa itself
# doubts.) `prompt_diff` shows what compiling changed; these are its first lines (in the terminal: `polyqa show rac my-rac`).

# %%
from polyqa.optimizers.prompts import prompt_diff

print("\n".join(prompt_diff(rac, compiled).splitlines()[:18]))

# %% [markdown]
# ## What an artifact is
#
# Three files define it. `program.json` has the demos and instructions, and nothing else: no code, no key, no language model. `card.json`
# says how the program was made. `README.md` says the same for people. A report and the scores of each question lie beside them.

# %%
print(sorted(path.name for path in made.path.iterdir() if not path.name.startswith(".")))
card = json.loads(Path("my-rac/card.json").read_text())
for name in ("program", "recipe", "measure", "train", "index", "lm", "encoder", "spent"):
    value = card[name]
    told = {key: value[key] for key in list(value)[:3]} if isinstance(value, dict) else value
    print(f"{name:9} {told}")
print(Path("my-rac/program.json").stat().st_size // 1000, "kB of prompts")

# %% [markdown]
# ## Handing it on
#
# `polyqa push my-rac OWNER/NAME` brings an artifact to the Hugging Face hub, `polyqa pull OWNER/NAME` gets one. What comes from a
# stranger is checked before it is used, and none of it is run. You can see these checks without a network. First, of what would be sent
# (all but the report and the recorded replies):

# %%
from polyqa.hub import check

check(made.path)
print("checked: nothing wrong")

# %% [markdown]
# Now somebody changes it: a card that names another program, a state with a part that the program lacks, and a card that wants a
# stranger's encoder loaded. (A demo with other words would load: read the demos of strangers.)

# %%
import shutil


def meddled(file, change):
    """Return what is said of a copy in which one file was changed."""
    shutil.rmtree("theirs", ignore_errors=True)
    shutil.copytree("my-rac", "theirs")
    path = Path("theirs", file)
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    try:
        polyqa.load("theirs", index=index)
    except polyqa.PolyqaError as error:
        return str(error)
    return "loaded"


print("unchanged:  ", meddled("card.json", lambda card: None))
print("program:    ", meddled("card.json", lambda card: card.update(program="evil")))
print("state:      ", meddled("program.json", lambda state: state.update(extra={"run": "me"})))
print("encoder:    ", meddled("card.json", lambda card: card.update(encoder="stranger/encoder")))

# %% [markdown]
# A compiled program also knows its index, because its demos are about these passages. Over other passages it may do worse, and a
# warning says so:

# %%
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    polyqa.load("my-rac", index="homonyms")
print(caught[0].message)

# %% [markdown]
# ## With a real language model
#
# `polyqa adapt corpus.jsonl --out my-corpus --lm …` does index, questions, compiling and report in one command: the language model
# makes the questions, and the report is on held-out ones. Here the language model only answers.

# %%
LM = os.environ.get("POLYQA_LESSON_LM")
if LM:
    for name, program in (("rac", rac), ("compiled", compiled)):
        print(name, "|", polyqa.ask("When was Mercury founded?", program=program, lm=LM).answer)
else:
    print("Skipped: POLYQA_LESSON_LM names no language model.")

# %% [markdown]
# ## Exercises
#
# 1. Ask *What is Saturn?* Which readings are missing, and are their passages among those that were shown?
# 2. Compile again with the recipe `labeled-few-shot` (the same demos for every question) into `my-other`, and show the difference
#    between the two programs. What differs if there are no more demos than a prompt shows?
# 3. Remove the passage about Mercury Records (`polyqa.colbert_index.remove_passages(index, ["5"])`) and ask *When was Mercury founded?* again.

# %% [markdown]
# ## Solutions
#
# **1.** The rocket is missing, although its passage was shown: retrieval finds passages, the model decides what to tell. The largest moon
# is no meaning of Saturn.

# %%
asked = polyqa.ask("What is Saturn?", program=compiled, lm=lm)
print("passages:", [passage.title for passage in asked.passages])
print("readings:", [(reading.question, reading.answer) for reading in asked.interpretations])

# %% [markdown]
# **2.** With as many demos as are shown, only their order can differ: the nearest comes last.

# %%
other = polyqa.compile(
    "rac",
    out="my-other",
    recipe="labeled-few-shot",
    index=index,
    sets=polyqa.Sets(train="train.json", dev="dev.json"),
    models=polyqa.Models(lm=lm, judge=None),
    measure="f1_answer",
    budget=polyqa.Budget(max_calls=200, threads=1, seed=0),
)
for program in (compiled, polyqa.load("my-other", index=index)):
    print([demo["question"] for demo in program.clarify.nearest("When was Mercury founded?")])

# %% [markdown]
# **3.** Without that passage one answer is left, which the model tells more than once.

# %%
from polyqa.colbert_index import remove_passages

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it says that the index has changed
    fewer = polyqa.load("my-rac", index=remove_passages(index, ["5"]))
print([reading.answer for reading in polyqa.ask("When was Mercury founded?", program=fewer, lm=lm).interpretations])
