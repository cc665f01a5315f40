# ---
# jupyter:
#   polyqa:
#     title: Instructions, written by search
#     minutes: 35
#     learns: see what a sentence in an instruction changes, and search for sentences that gain without fooling yourself
# ---

# %% [markdown]
# # Lesson 5: Instructions, written by search
#
# Demos show a model what you want (lesson 4). Instructions *say* it. This lesson changes an instruction by hand, lets a search
# change it, and looks at how DSPy's optimizers let a language model do so.
#
# After this lesson you can
#
# - see what one sentence in an instruction changes;
# - run a search over instructions that does not fool itself, and read what it tried;
# - explain what COPRO, MIPRO and GEPA do differently, and what feedback in words is for.
#
# The embedded engine cannot read everything, but it obeys plain sentences of some kinds, called **clauses** here: how many
# readings, how dates are written, how long the answer is. A large language model understands the same sentences, and more. A small
# one is asked in the middle of the lesson; its replies were recorded.

# %% [markdown]
# ## One sentence more

# %%
import os

os.environ.setdefault("POLYQA_PRECISION", "float32")  # as when the replies were recorded: prompts have to be the same

import dspy
import numpy as np

import polyqa

index = polyqa.open_index("homonyms")
lm = polyqa.embedded_lm()
rac = polyqa.load("rac", index=index, passages=3)


def told(clause, program=rac):
    """Return a program with one sentence more at the end of its instruction."""
    program = program.deepcopy()
    signature = program.clarify.signature
    program.clarify.signature = signature.with_instructions(f"{signature.instructions.rstrip()}\n{clause}".rstrip())
    return program


QUESTION = "When did Titanic come out?"
CLAUSES = [
    "",
    "Give at most two readings.",
    "Where a time is asked for, give only the year.",
    "State each reading with its answer and nothing else.",
    "Be charming.",
]
for clause in CLAUSES:
    result = polyqa.ask(QUESTION, program=told(clause))
    print(clause or "(as it is)")
    print(f"   {len(result.answer.split())} words;", [reading.answer for reading in result.interpretations])

# %% [markdown]
# Each clause does what it says. (In years alone two readings have the same answer, and both stay.) The last sentence changes nothing,
# because the engine does not know it. The engine reports the sentences that it ignores:

# %%
print(lm.engine.unheeded(told("Be charming. Give at most two readings.").clarify.signature))

# %% [markdown]
# ## A library of clauses
#
# polyqa has candidates as data, in plain English that a language model understands as well: the sentence, and when it helps.
# Clauses of one group are alternatives, so an instruction gets at most one of them.

# %%
from polyqa.optimizers.clauses import candidates_for

for one in candidates_for(rac.clarify.signature):
    print(f"{one.group:10} {one.name:14} {one.text:72} {one.purpose}")

# %% [markdown]
# ## A task with a habit
#
# A clause helps if your task has a habit that the instruction does not mention. Let us make such a task, for people who want
# years: we take the shipped questions whose answers are times, and accept only the year as the right answer. The measure is
# AmbigQA's F1 of the short answers.

# %%
import re
from dataclasses import replace

from polyqa.metrics.optimizing import AnswerMetric
from polyqa.models import Reader


def in_years(question):
    """Return a question whose answers are years, or `None` if some answer has no single year."""
    readings = []
    for reading in question.readings:
        years = {year for answer in reading.short_answers for year in re.findall(r"\b\d{3,4}\b", answer)}
        if len(years) != 1:
            return None
        readings.append(replace(reading, short_answers=tuple(years)))
    return replace(question, readings=tuple(readings), other_annotations=())


SETS = {}
for split, number in (("train", 24), ("dev", 6), ("test", 6)):
    every = map(in_years, polyqa.Questions(f"homonyms/{split}").asked)
    SETS[split] = [question for question in every if question is not None][:number]
    print(split, len(SETS[split]), "questions, such as", SETS[split][0].question)
metric = AnswerMetric(Reader(), measure="f1_answer")

# %% [markdown]
# ## The search
#
# The recipe `clauses` needs no language model that writes. It tries every clause that the engine obeys, in
# rounds:
#
# 1. All candidates are scored on a few training questions, the better half on twice as many, and so on (successive halving,
#    [Jamieson & Talwalkar 2016](https://arxiv.org/abs/1502.07943)).
# 2. The best three are tried, best first, on the half of the training questions that took no part in the choice. The first that
#    gains there, at p < 0.1 (a t-test), is kept; if none does, the search ends. Lesson 6 explains why: the best of many always
#    looks good where it was picked.
# 3. The next round begins on top of what was kept.
#
# To be quick this run makes one round on very few questions.

# %%
from polyqa.optimizers import Plan, compile, recipe

dspy.disable_logging()  # DSPy reports every score
quick = recipe("clauses")
quick = quick.model_copy(update={"settings": {**quick.settings, "rounds": 1, "start": 4}})
plan = Plan(trainset=SETS["train"], devset=SETS["dev"], recipe=quick, metric=metric, lm=lm, threads=1, seed=0)
made = compile(rac, plan, "work")

trials = made.trials[1:-1]  # without the first and the last program, which are scored on dev
for trial in trials:
    points = "   –" if trial.score is None else f"{100 * trial.score:4.0f}"
    print(f"{'*' if trial.kept else ' '} {points} on {trial.n:2}  {trial.label:28} {trial.note}")

# %% [markdown]
# The first line is the uncompiled program; a star marks what became part of the compiled one. *Changed nothing* means that every question
# scored as before, *+0.0* that as much was won as lost. Most clauses do not change this score, which is usual. Scores on different
# numbers of questions cannot be compared, so the notes have the gain over the uncompiled program *on the same questions*.

# %% [markdown]
# ## What came out
#
# The two prompts differ in one sentence that anybody can read. That is the charm of instructions: you can discuss a sentence, but a demo
# does not say what it teaches.

# %%
from polyqa.optimizers.prompts import prompt_diff

print(prompt_diff(rac, made.program))

# %% [markdown]
# Dev and test took no part in the search, which picks by a half of train: dev is only scored before and after. Test is scored once, at
# the end. (Six questions each show a large gain, and no more than that.)

# %%


def score(program, questions):
    """Return the mean F1 of the answers, in points."""
    with dspy.context(lm=lm):
        return 100 * sum(metric(one.to_example(), program(question=one.question)) for one in questions) / len(questions)


print(f"dev  {made.comparison.metrics['f1_answer'].a:.1f} → {made.comparison.metrics['f1_answer'].b:.1f}")
print(f"test {score(rac, SETS['test']):.1f} → {score(made.program, SETS['test']):.1f}")

# %% [markdown]
# You see such a large gain when a task has a habit that the instruction does not mention. The questions as they were shipped
# have no such habit, and there this clause can only lose: see exercise 2.
#
# ## Say it, or show it?
#
# The embedded engine obeys a clause word for word. Does a language model? Ask Qwen2.5-Coder-1.5B, a small one (lesson 9): ten dev
# questions whose answers are years, and `rac-homonyms-local` with its five demos. First as it is, then with the clause, then with five
# other demos *instead of* the clause: their answers are years, and the instruction says nothing of it.

# %%
from polyqa.lesson_files import lessons_home
from polyqa.optimizers.labels import label_demos
from polyqa.programs import set_knn_demos

small = polyqa.recorded(lessons_home() / "years.jsonl.gz")
full = polyqa.load("rac-homonyms-local", index=index)
years = {
    split: [one for one in map(in_years, polyqa.Questions(f"homonyms/{split}").asked) if one is not None]
    for split in ("train", "dev")
}
ten = years["dev"][:10]
shown = polyqa.load("rac", index=index)
pool = [demo for demo in label_demos(shown, years["train"])["clarify"] if len(demo["interpretations"]) > 1]
set_knn_demos(shown, {"clarify": pool[:5]}, k=None)  # always these five
for program in (full, shown):
    print("demos:", [[reading["answer"] for reading in demo["interpretations"]] for demo in program.clarify.demos])

WAYS = {"as it is": full, "the clause": told(CLAUSES[2], full), "demos in years": shown}
scored = {}
for name, program in WAYS.items():
    replies = [polyqa.ask(question.question, program=program, lm=small) for question in ten]
    scores = [metric(question.to_example(), reply) for question, reply in zip(ten, replies, strict=True)]
    scored[name] = np.array(scores)
    print(f"\n{name}: F1 of answers {100 * sum(scores) / len(scores):.0f}")
    for question, reply in zip(ten[:5], replies, strict=False):
        print(f"   {question.question:58} {[reading.answer for reading in reply.interpretations]}")

# %% [markdown]
# The clause changes nothing that counts: it stood beside demos with full dates, and lost to them. (Without demos it was not tried here.)
# Other demos the model follows at once, and in more than the years: all five have several readings, and the first gives 1997 twice; so it
# tells several even where there is one, and repeats itself. It also lost the war of 1991. These are ten questions and one draw of demos:

# %%
from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.statistics import compare

for name in ("the clause", "demos in years"):
    print(f"{name:15}", compare(COLUMNS["f1_answer"], [scored["as it is"]], [scored[name]], seed=0))

# %% [markdown]
# So where a sentence and the demos contradict each other, this model follows the demos: **change the demos**, and choose them with care.
# A larger one may heed the sentence. Try that first, as a sentence costs less than demos.
#
# ## When a language model writes the instructions
#
# DSPy's optimizers do not choose from a library; a language model (`--prompt-lm`) writes the candidates.
#
# | recipe | how candidates are made | how they are chosen | paper |
# |---|---|---|---|
# | `copro` | rewrites of the instruction, given earlier ones with their scores | best score, again and again | [Khattab et al. 2023](https://arxiv.org/abs/2310.03714) |
# | `miprov2` | from the task, the data and demos; combined with demos | Bayesian search over instructions and demos | [Opsahl-Ong et al. 2024](https://arxiv.org/abs/2406.11695) |
# | `gepa` | the language model reads what went wrong, in words, and mends the instruction | keeps every candidate that is best on some question | [Agrawal et al. 2025](https://arxiv.org/abs/2507.19457) |
#
# The embedded engine cannot write, but a small language model on this machine can (`polyqa model pull`), so
# `polyqa compile --program rac --recipe gepa --lm local` runs end to end offline. Do not expect good instructions of a model
# that small.
#
# GEPA reads **feedback**. A score says that an answer is bad; feedback says why. polyqa's metric writes it for each step. Here
# is what it says about an answer of the uncompiled program:

# %%
from polyqa.metrics.feedback import FeedbackMetric

question = SETS["dev"][0]
trace = []
with dspy.context(lm=lm, trace=trace):
    prediction = rac(question=question.question)
found = FeedbackMetric(metric.reader, measure="f1_answer")(
    question.to_example(), prediction, None, "clarify", [(predictor, given, reply) for predictor, given, reply in trace]
)
print(question.question, f"scored {found.score:.2f}\n")
print(found.feedback)

# %% [markdown]
# The measure counts short answers, so the feedback says where one means the right thing and has another form. From some dozens of such
# texts a language model can guess the habit, and write the clause that the search above took from a library.

# %% [markdown]
# ## With a real language model
#
# GEPA with a small budget: the language model answers and writes, on the training questions only. It may take a hundred
# calls; `polyqa cost --program rac --lm …` says what one question costs. `LeanAdapter` restricts a small model on this machine
# to replies that can be read.

# %%
from dspy.teleprompt.gepa.instruction_proposal import InstructionProposer

from polyqa.lm.adapter import LeanAdapter

LM = os.environ.get("POLYQA_LESSON_LM")
if LM:
    real = polyqa.language_model(LM)
    examples = [question.to_example() for question in SETS["train"]]
    feedback = FeedbackMetric(metric.reader, measure="f1_answer")
    proposer = InstructionProposer(adapter=LeanAdapter())
    with dspy.context(lm=real):
        gepa = dspy.GEPA(
            metric=feedback, max_metric_calls=60, reflection_lm=real, instruction_proposer=proposer, seed=0
        )
        better = gepa.compile(rac.deepcopy(), trainset=examples[:6], valset=examples[6:])
    print(prompt_diff(rac, better))
else:
    print("Skipped: POLYQA_LESSON_LM names no language model.")

# %% [markdown]
# ## Exercises
#
# 1. Put two clauses into one instruction that contradict each other: at most one reading, then at most two. Which holds?
# 2. Score the clause that won on the six dev questions *as they were shipped* (`polyqa.Questions("homonyms/dev")` has them), where full
#    dates are right answers, too. Does it still gain?
# 3. Word the clause that won in three other ways. Which wordings does the engine understand?

# %% [markdown]
# ## Solutions
#
# **1.** The last one holds, whichever that is.

# %%
ONE, TWO = "Give at most one reading.", "Give at most two readings."
for both in (f"{ONE} {TWO}", f"{TWO} {ONE}"):
    print(both, "→", len(polyqa.ask(QUESTION, program=told(both)).interpretations))

# %% [markdown]
# **2.** A habit belongs to a task. Where full dates are right answers, the clause has nothing to win, and it can lose. (Six questions
# cannot tell this small loss from chance.)

# %%
ids = {question.id for question in SETS["dev"]}
shipped = [question for question in polyqa.Questions("homonyms/dev").asked if question.id in ids]
print(f"as shipped: {score(rac, shipped):.1f} → {score(made.program, shipped):.1f}")
print(f"in years:   {score(rac, SETS['dev']):.1f} → {score(made.program, SETS['dev']):.1f}")

# %% [markdown]
# **3.** The engine compares sentences with wordings that it knows, so it understands some and ignores others.

# %%
for clause in ("Dates should be years.", "Answer with the year alone when asked when.", "No months, no days."):
    reply = polyqa.ask(QUESTION, program=told(clause))
    print(f"{clause:46}", [reading.answer for reading in reply.interpretations])
