# ---
# jupyter:
#   polyqa:
#     title: Your own program, metric and recipe
#     minutes: 35
#     learns: write a signature, a program, a metric and a recipe of your own from polyqa's parts
# ---

# %% [markdown]
# # Lesson 8: Your own program, metric and recipe
#
# polyqa's systems are DSPy programs made of parts that you can use. This lesson builds a system that polyqa does not have,
# a metric for it, and a recipe that compiles it. One number goes through it, the F1 of the short answers, here by a metric of your
# own.
#
# The language model is Qwen2.5-Coder-1.5B, a small one (lesson 9). Its replies were *recorded*, so you need no model and no key.
#
# After this lesson you can
#
# - write a signature, and a program as a generator of steps;
# - write a metric, and use it for scoring and for compiling;
# - make demos by a function, define a recipe as data, and compare before and after.

# %%
import os

os.environ.setdefault("POLYQA_PRECISION", "float32")  # as when the replies were recorded: prompts have to be the same

import dspy

import polyqa
from polyqa.lesson_files import lessons_home

dspy.disable_logging()  # DSPy reports replies that broke off; there will be some
lm = polyqa.recorded(lessons_home() / "program.jsonl.gz")
index = polyqa.open_index("homonyms")
rac = polyqa.load("rac", index=index)
QUESTION = "Who played Paul Atreides in Dune?"
asked = polyqa.ask(QUESTION, program=rac, lm=lm)
print([reading.answer for reading in asked.interpretations])
print(asked.calls[0].reply[:400], "…")

# %% [markdown]
# ## The idea
#
# `rac` wants much of one call: read five passages, tell the readings apart, number them, cite, and write an answer. A small
# model loses its way. So ask little, more often: show it **each passage alone**, and want a few words. (VERDICT does something like it,
# see [Lee et al. 2025](https://arxiv.org/abs/2502.10352).)
#
# ## A signature of your own
#
# A new step is a new signature. Its docstring is the instruction, its fields are typed.


# %%
class AnswerFromPassage(dspy.Signature):
    """Answer the question from the passage, in a few words. If the passage does not answer it, reply none."""

    passage: str = dspy.InputField(desc="title | text")
    question: str = dspy.InputField(desc="may be ambiguous")
    answer: str = dspy.OutputField(desc="a few words, or none")


# %% [markdown]
# ## A program of your own
#
# A program declares its predictors in the constructor and its algorithm in `steps`, a generator: `work` runs something that
# takes a while, `ask` makes one call, `ask_all` makes calls that do not wait for each other. Write `yield from` before
# each. The same code then runs with threads and in the event loop.

# %%
from polyqa.base.values import Interpretation
from polyqa.metrics.agreement import agree
from polyqa.metrics.text import holds, with_title
from polyqa.programs import RetrievingProgram, ask_all, work


class OneByOne(RetrievingProgram):
    """Ask each passage alone, keep one of the answers that agree, and tell them with the passages' titles."""

    def __init__(self, *parts, **settings):
        super().__init__(*parts, **settings)
        self.read = self.predictor(AnswerFromPassage)

    def steps(self, question):
        """Answer a question."""
        passages = yield from work(self.retrieve, question)
        calls = [(self.read, {"passage": passage.render(), "question": question}) for passage in passages]
        replies = yield from ask_all(calls)
        readings = []
        for passage, reply in zip(passages, replies, strict=True):
            short = reply.answer.strip().rstrip(".")
            if holds(passage.text, short) and not agree(short, [kept.answer for kept in readings]):
                wording = with_title(question, passage.title)
                readings.append(Interpretation(question=wording, answer=short, pid=passage.pid))
        answer = " ".join(f"{one.question} {one.answer}." for one in readings)
        return dspy.Prediction(answer=answer, interpretations=readings, passages=passages)


# %% [markdown]
# `retrieve` and `predictor` come from polyqa. `holds` says whether a text has a short answer: what the model made up is dropped, and so is
# *none*. `agree` says whether two short answers are the same.
#
# A program takes its retriever and reranker from outside. The easiest way to get them is a loaded program.

# %%
mine = OneByOne(rac.retriever, rac.reranker, encoder=rac.reranker.encoder, passages=5)
result = polyqa.ask(QUESTION, program=mine, lm=lm)
print(sorted(call.reply for call in result.calls))
print("tokens written:", result.output_tokens, "in place of", asked.output_tokens)
for reading in result.interpretations:
    print(reading.question, "→", reading.answer)

# %% [markdown]
# Five short replies, which are quickly written, and two right readings, where `rac` had one among two wrong ones. (*Timothee Chalamet* is
# dropped by the program: the passage has his name with an accent. *Chris Foss* is left out by `polyqa.ask`, which is not sure of him; the
# scores below are of what the program returns, with him.) In an event loop the same program is awaited: `await polyqa.aask(QUESTION,
# program=mine, lm=lm)`.
#
# ## A metric of your own
#
# A metric takes the gold example, the prediction, and a trace that optimizers use; it returns a number from 0 to 1. This one is the
# F1 of the short answers: *precision* is the share of the readings that are right, *recall* the share of the right answers that were found,
# and F1 is high only if both are.


# %%
def f1_of_answers(gold, prediction, trace=None):
    """Return the F1 of the short answers; with a trace, whether the run is good enough for a demo."""
    wanted = [reading.short_answers for reading in gold.gold.readings]
    told = [reading.answer for reading in prediction.interpretations]
    right = sum(any(agree(short, answers) for answers in wanted) for short in told)
    found = sum(any(agree(short, answers) for short in told) for answers in wanted)
    value = 0.0
    if right:
        precision, recall = right / len(told), found / len(wanted)
        value = 2 * precision * recall / (precision + recall)
    return value >= 0.8 if trace is not None else value


# %% [markdown]
# With a trace the metric has to say whether this run is good enough to become a demo. Then return yes or no, not a number: DSPy
# takes any number above 0 for a yes.
#
# ## Score

# %%
import numpy as np

train = polyqa.Questions("homonyms/train").asked[:8]
dev = polyqa.Questions("homonyms/dev").asked[:24:2]
RUNS, SCORES = {}, {}


def score(name, program):
    """Run a program on the dev questions, keep its predictions and the metric's value of each, and print the means."""
    with dspy.context(lm=lm):
        RUNS[name] = [program(question=one.question) for one in dev]
    values = [f1_of_answers(one.to_example(), run) for one, run in zip(dev, RUNS[name], strict=True)]
    SCORES[name] = 100 * np.array(values)
    readings = sum(len(run.interpretations) for run in RUNS[name])
    right = sum(
        any(agree(told.answer, reading.short_answers) for reading in question.readings)
        for question, run in zip(dev, RUNS[name], strict=True)
        for told in run.interpretations
    )
    print(
        f"{name:12} F1 of answers {SCORES[name].mean():5.1f}   {readings} readings, {100 * right / readings:.0f}% right"
    )


score("rac", rac)
score("one by one", mine)

# %% [markdown]
# `dspy.Evaluate(devset=[one.to_example() for one in dev], metric=f1_of_answers)` scores with threads, and `polyqa.evaluate` with a record
# on disk, from which a stopped run is resumed.
#
# The same model and the same passages. Twelve questions cannot tell which is better, but one by one the model writes a fraction of the
# tokens. Where is it wrong? Read the answers to two questions:

# %%
for place in (-2, 3):
    print(dev[place].question, [reading.short_answers[0] for reading in dev[place].readings])
    print("   ", [reading.answer for reading in RUNS["one by one"][place].interpretations])

# %% [markdown]
# Nearly every passage, asked alone, finds something to answer: the instruction says *none*, and the model seldom does.
#
# ## Demos of your own
#
# In lesson 5, where a sentence and the demos contradicted each other, the model followed the demos. So show it passages without an answer. A
# predictor of your own signature gets its demos from you: a function makes one of a training question and a passage. If a short answer stands
# in the passage, this is the answer.


# %%
def demo(question, passage):
    """Return a passage with the answer that it holds, or none."""
    held = [short for reading in question.readings for short in reading.short_answers if holds(passage.text, short)]
    return dspy.Example(
        passage=passage.render(), question=question.question, answer=max(held, key=len, default="none")
    ).with_inputs("passage", "question")


pool = [demo(question, passage) for question in train for passage in rac.retrieve(question.question)]
answered = [one for one in pool if one.answer != "none"]
silent = [one for one in pool if one.answer == "none"]
print(len(answered), "with an answer,", len(silent), "without")

taught = mine.deepcopy()
taught.read.demos = [*answered[::9][:2], *silent[::10][:2]]
for one in taught.read.demos:
    print(f"{one.question:55} {one.answer:16} {one.passage[:30]} …")
score("four demos", taught)

# %% [markdown]
# ## A recipe
#
# A recipe says how to compile: an optimizer with its settings. This one is DSPy's `BootstrapFewShot`: it runs a *teacher* on the training
# questions and makes demos of calls in runs that the metric accepts. The teacher is the program with four demos: its
# score is the highest so far, though twelve questions cannot prove that it is better.

# %%
import contextlib
import io

from polyqa.optimizers import Plan, Recipe, compile

recipe = Recipe(
    name="good-runs",
    optimizer="BootstrapFewShot",
    settings={"max_bootstrapped_demos": 4, "max_labeled_demos": 0},
)
plan = Plan.of(train, dev, f1_of_answers, recipe=recipe, lm=lm, teacher=taught, threads=1)
with contextlib.redirect_stderr(io.StringIO()):  # DSPy says there how many runs were good
    made = compile(mine, plan, "work")
for one in made.program.read.demos:
    there = "there" if holds(one["passage"], one["answer"]) else "not there"
    print(f"{one['question']:55} {one['answer']:18} {one['passage'][:22]:22} … {there}")
score("good runs", made.program)


# %% [markdown]
# Look at the demos: in three of four the answer does not stand in the passage. The program dropped these replies (`holds`), so the runs
# were good, and the metric sees a whole run, not the five calls in it. So bootstrapped demos of a program with many calls can hold mistakes
# that its score does not show. Here they bring nothing over demos that you made.
#
# The compiler ran the program before and after, with the scores of polyqa, and compared them question by question:

# %%
difference = made.comparison.metrics["f1_answer"]
print(f"polyqa's F1 of answers {difference.a:.1f} → {difference.b:.1f}, p = {difference.p:.2f}, n = {len(dev)}")
print(f"the difference is {difference.difference:+.1f} [{difference.low:+.1f}, {difference.high:+.1f}]")

# %% [markdown]
# So a program shaped for the model writes far fewer tokens; whether it is as good cannot be told with twelve questions. Whether the demos
# help is at the border: the interval is just above zero, p is not below 0.05. That takes more questions (lesson 11).
#
# ## DSPy's own optimizers
#
# A program is a `dspy.Module` and the metric is a function, so DSPy's optimizers take them as they are: the recipe above is
# `dspy.BootstrapFewShot(metric=f1_of_answers, …).compile(mine, teacher=taught, trainset=…)` with the checks around it (train and dev share no
# question, and no question sees a demo of its own). What comes out is saved as DSPy does:

# %%
made.program.save("one-by-one.json")
fresh = mine.deepcopy()
fresh.load("one-by-one.json")
print([demo["answer"] for demo in fresh.read.demos])

# %% [markdown]
# ## With a real language model, live
#
# `POLYQA_LESSON_LM=local` takes the model of this lesson, after `polyqa model pull`. Or name any other.

# %%
LM = os.environ.get("POLYQA_LESSON_LM")
if LM:
    for name, program in (("rac", rac), ("one by one", mine), ("four demos", taught)):
        live = polyqa.ask("Who founded Alexandria?", program=program, lm=LM)
        print(name, [reading.answer for reading in live.interpretations], f"{live.output_tokens} tokens written")
else:
    print("Skipped: POLYQA_LESSON_LM names no language model.")

# %% [markdown]
# ## Exercises
#
# 1. Give `OneByOne` a setting `most`: the most readings that it tells. Where in the class does it belong?
# 2. Are the demos without an answer worth anything? Score the program with four demos that all have one.
# 3. Write a recipe that makes demos from runs without a mistake, and shows in each call the three that are nearest to the question
#    (optimizer `own-runs`; do not run it). Why would that be slow with a local model?

# %% [markdown]
# ## Solutions
#
# **1.** A setting is a parameter of the constructor, kept as an attribute; `steps` uses it. The shortest way is a subclass.


# %%
class AtMost(OneByOne):
    """`OneByOne` that tells at most so many readings."""

    def __init__(self, *parts, most=2, **settings):
        super().__init__(*parts, **settings)
        self.most = most

    def steps(self, question):
        """Answer a question."""
        found = yield from super().steps(question)
        found.interpretations = found.interpretations[: self.most]
        return found


short_list = AtMost(rac.retriever, rac.reranker, passages=5, most=1)
few = polyqa.ask(QUESTION, program=short_list, lm=lm)
print([reading.answer for reading in few.interpretations])
print(few.answer)

# %% [markdown]
# The long answer still tells all of them: it is written before the cut. So the cut belongs into `OneByOne` itself, before the answer.
#
# **2.** Without them the program tells more readings, and fewer of them are right. Twelve questions cannot tell whether the difference
# in F1 is more than chance.

# %%
willing = mine.deepcopy()
willing.read.demos = answered[::5][:4]
score("with answers", willing)

# %% [markdown]
# **3.** `own-runs` keeps a pool of runs. Other demos for each question mean another beginning of each prompt, so the model has to read
# them every time; demos that are always the same it reads once.

# %%
nearest = Recipe(name="nearest-good-runs", optimizer="own-runs", k=3, threshold=1.0)
print(nearest.model_dump(exclude_defaults=True))
