# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   polyqa:
#     title: Your own corpus
#     minutes: 30
#     learns: index passages of yours, compile a program for them, read its card and hand it on
# ---

# %% [markdown]
# # Lesson 7: Your own corpus
#
# So far you asked about the shipped corpus. This lesson indexes a dozen passages of its own, asks questions about them, and
# compiles a program for them. Then it looks at the saved files, which somebody else can use.
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
from pathlib import Path

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
titan = polyqa.Passage(pid="13", title="Titan", text="Titan is the largest moon of Saturn. It was found in 1655.")
index = add_passages(index, [titan])
print(
    len(index), "passages,", "the fingerprint changed" if index.fingerprint != before else "the fingerprint is the same"
)

# %% [markdown]
# ## Ask it

# %%
rac = polyqa.load("rac", index=index)
polyqa.ask("When was Mercury founded?", program=rac)

# %% [markdown]
# ## Training questions
#
# To compile you need questions with their readings. You write them, or `polyqa adapt` makes them from the corpus. A file of
# questions is JSON. Here are some to train on, some to choose with (dev) and some to report on (test). No question is in two
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
            ("What is the god Mercury?", "the Roman god of trade"),
            answer="Mercury is the planet nearest to the Sun, and also the Roman god of trade.",
        ),
        record(
            "Who founded Mercury?",
            ("Who founded the make of cars Mercury?", "Edsel Ford"),
            ("Who founded Mercury Records?", "Irving Green"),
            answer="The make of cars Mercury was founded by Edsel Ford, Mercury Records by Irving Green.",
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
    ],
}
for name, records in SETS.items():
    Path(f"{name}.json").write_text(json.dumps({f"{name}-{n}": one for n, one in enumerate(records)}), encoding="utf-8")
    print(name, [question.question for question in polyqa.Questions(f"{name}.json").asked])

# %% [markdown]
# This is a toy: with so few questions no figure means anything (lesson 6). A real corpus needs some dozens at least. And do not
# expect a gain: the embedded engine learns little from demos. Lesson 9 shows what a language model learns from them.
#
# ## Compile
#
# One call does everything: it checks the sets, makes demos, measures before and after, and saves an *artifact*.

# %%
made = polyqa.compile(
    "rac",
    out="my-rac",
    recipe="knn",
    index=index,
    sets=polyqa.Sets(train="train.json", dev="dev.json", test="test.json"),
    budget=polyqa.Budget(max_calls=200, threads=1, seed=0),
)
print(sorted(path.name for path in made.path.iterdir() if not path.name.startswith(".")))
gain = made.card.test_gain
print(f"test: {gain.before.value:.1f} → {gain.after.value:.1f} on {made.card.test_gain.before.n} questions")

# %% [markdown]
# ## What an artifact is
#
# Three files matter. `program.json` has the demos and instructions, and nothing else: no code, no key, no language model.
# `card.json` says how the program was made. `README.md` says the same for people.

# %%
card = json.loads(Path("my-rac/card.json").read_text())
for name in ("program", "recipe", "measure", "train", "index", "lm", "encoder", "spent"):
    value = card[name]
    told = {key: value[key] for key in list(value)[:3]} if isinstance(value, dict) else value
    print(f"{name:9} {told}")
print(Path("my-rac/program.json").stat().st_size // 1000, "kB of prompts")

# %% [markdown]
# Load it by its folder, and ask it like any other program. What did compiling change? `prompt_diff` shows it (in the terminal:
# `polyqa show rac my-rac`).

# %%
compiled = polyqa.load("my-rac", index=index)
print(polyqa.ask("When was Mercury founded?", program=compiled).answer, "\n")

from polyqa.optimizers.prompts import prompt_diff

print("\n".join(prompt_diff(rac, compiled).splitlines()[:18]))

# %% [markdown]
# ## Handing it on
#
# `polyqa push my-rac OWNER/NAME` brings an artifact to the Hugging Face hub, `polyqa pull OWNER/NAME` gets one. What comes
# from a stranger is checked before it is used, and none of it is run. You can see these checks without a network. First, what
# would be sent:

# %%
from polyqa.hub import ARTIFACT, check

print("sent:", sorted(path.name for path in made.path.iterdir() if path.name in ARTIFACT.limits))
check(ARTIFACT, made.path)
print("checked: nothing wrong")

# %% [markdown]
# Now somebody changes it: a card that names another program, and a state that is no longer the original.

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
print("other model:", meddled("card.json", lambda card: card.update(encoder="stranger/encoder")))

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
# `polyqa adapt corpus.jsonl --out my-corpus --lm …` does this whole lesson in one command: the language model makes the
# questions, the program is compiled, and the report is on held-out questions. Here the language model only answers.

# %%
import os

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
# **1.** Retrieval finds the passages; which readings come out is decided after it.

# %%
asked = polyqa.ask("What is Saturn?", program=rac)
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
    budget=polyqa.Budget(max_calls=200, threads=1, seed=0),
)
for program in (compiled, polyqa.load("my-other", index=index)):
    print([demo["question"] for demo in program.clarify.nearest("When was Mercury founded?")])

# %% [markdown]
# **3.** Without that passage the question has one reading.

# %%
from polyqa.colbert_index import remove_passages

fewer = polyqa.load("rac", index=remove_passages(index, ["5"]))
print([reading.answer for reading in polyqa.ask("When was Mercury founded?", program=fewer).interpretations])
