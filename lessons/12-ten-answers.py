# ---
# jupyter:
#   polyqa:
#     title: Ten answers, and when to be silent
#     minutes: 30
#     learns: read answers for their faults, measure whether two readers agree, and choose from which confidence on to answer
# ---

# %% [markdown]
# # Lesson 12: Ten answers, and when to be silent
#
# A score says how good answers are, not what is wrong with them. And people who use a system do not see a mean: they see one
# answer, and have to know whether to trust it.
#
# After this lesson you can
#
# - read ten answers for the kinds of faults that they have, and say what to mend first;
# - measure how far two readers agree beyond chance;
# - check whether a confidence means what it says, and choose from which one on to answer.
#
# All answers are those of a real small model with five demos (lesson 9), recorded once: nothing is asked for here.

# %% [markdown]
# ## The answers
#
# `rac-homonyms-local` answers the development questions, and later the test questions. (For two of the development questions no reply
# is recorded with today's search; they are left out.)

# %%
import random
from itertools import pairwise

import dspy
import numpy as np

import polyqa
from polyqa.artifacts.store import read_artifact
from polyqa.metrics.agreement import agree

dspy.disable_logging()  # DSPy reports replies that broke off
lm = polyqa.recorded(read_artifact("rac-homonyms-local").path / "replies.jsonl.gz")
index = polyqa.open_index("homonyms")
program = polyqa.load("rac-homonyms-local", index=index)
NOT_RECORDED = {"amazon-queen", "the-scream-stolen"}
dev = [one for one in polyqa.Questions("homonyms/dev").asked if one.id not in NOT_RECORDED]
answers = [polyqa.ask(one.question, program=program, lm=lm) for one in dev]
ten = random.Random(0).sample(list(zip(dev, answers, strict=True)), 10)
for number, (question, result) in enumerate(ten, 1):
    print(f"──── {number}. {question.question}")
    print("people:", "; ".join(one.short_answers[0] for one in question.readings))
    print(result.answer, "\n")

# %% [markdown]
# ## What is wrong with them
#
# Take ten minutes, and write one of three words for each before you read on: *right* (a person would take it as it is), *clumsy*
# (nothing false is told as the answer, but a reading is missing, or much is beside the point), *wrong*. Then write in a few words
# what the fault is. Here is what one reader wrote:

# %%
FAULTS = {
    1: ("date of something else", "invented"),
    2: ("answers another question",),
    3: ("reading missing",),
    5: ("reading missing", "unsure though right"),
    6: ("invented",),
    7: ("date of something else", "invented"),
    8: ("answers another question", "unsure though right"),
    9: ("unsure though right",),
    10: ("answers another question",),
}
kinds = [kind for faults in FAULTS.values() for kind in faults]
for kind in sorted(set(kinds), key=lambda one: (-kinds.count(one), one)):
    print(f"{kinds.count(kind)} {kind}: answers {', '.join(str(n) for n, faults in FAULTS.items() if kind in faults)}")

# %% [markdown]
# Three kinds are as common as each other, and each wants something else:
#
# - *Answers another question*: a passage that does not answer is read all the same. Ask about one passage at a time, and allow
#   *none*: that is what `spanwise` does (lesson 9).
# - *Invented*: sentences that no passage has. Quote the passages in place of retelling them, or leave a sentence out whose names and figures
#   its passages do not have.
# - *Unsure though right*: the limit from which on polyqa is sure is too high for these, or the confidence too low. More on it below.
#
# No mean would have told you that. And more demos are on nobody's list: a prompt that you would have tried first.
#
# ## Does another reader agree?
#
# A label is only worth something if somebody else would have given it. Exercise 1 is for two of you. Here the second reader is a rule, of
# the kind that metrics are made of: *right* if it tells every reading that people wrote and no other, *wrong* if none of
# what it tells is right, *clumsy* in between.

# %%
LABELS = ("right", "clumsy", "wrong")
FIRST = ["wrong", "wrong", "clumsy", "right", "clumsy", "clumsy", "wrong", "clumsy", "right", "wrong"]


def rule(question, result):
    """Return the label of an answer by its readings alone."""
    told = [
        agree(one.answer, [short for gold in question.readings for short in gold.short_answers])
        for one in result.interpretations
    ]
    found = [any(agree(one.answer, gold.short_answers) for one in result.interpretations) for gold in question.readings]
    return "wrong" if not any(told) else "right" if all(told) and all(found) else "clumsy"


SECOND = [rule(question, result) for question, result in ten]


def kappa(first, second):
    """Return the share of equal labels, and Cohen's kappa: how much of what chance leaves open they share."""
    observed = np.mean([a == b for a, b in zip(first, second, strict=True)])
    by_chance = sum(first.count(label) * second.count(label) for label in LABELS) / len(first) ** 2
    return observed, (observed - by_chance) / (1 - by_chance) if by_chance < 1 else 1.0


equal, agreement = kappa(FIRST, SECOND)
print(f"equal labels: {100 * equal:.0f}%; kappa {agreement:.2f}")
print(
    "they differ on", [number for number, pair in enumerate(zip(FIRST, SECOND, strict=True), 1) if len(set(pair)) > 1]
)

# %% [markdown]
# On answers 1 and 6 the rule does not see what the reader saw: a sentence that no passage has. It looks at readings, and the text around them
# may say anything. That is one reason to read.
#
# Two readers who label at random agree on a third of the answers, too. **Kappa** ([Cohen 1960](https://doi.org/10.1177/001316446002000104))
# takes that off: with $p_o$ the share of equal labels and $p_e$ the share that the two would reach by chance, each with as many
# of each label as they gave, $\kappa = (p_o - p_e) / (1 - p_e)$. It is 1 for equal labels, 0 for chance.
#
# But ten answers are few. Draw ten of these ten again and again, with repetition (the bootstrap, lesson 6):

# %%
rng = np.random.default_rng(0)
drawn = rng.integers(0, 10, size=(5_000, 10))
kappas = [kappa([FIRST[at] for at in places], [SECOND[at] for at in places])[1] for places in drawn]
low_kappa, high_kappa = np.quantile(kappas, [0.025, 0.975])
print(f"kappa {agreement:.2f} [{low_kappa:.2f}, {high_kappa:.2f}]")

# %% [markdown]
# So ten answers show *what* goes wrong; *how often*, and whether two readers agree, takes more. Talk about the answers that you label
# differently, write down the rule that you find, and label the next ten with it.

# %% [markdown]
# ## Does a confidence mean what it says?
#
# `Result.confidence` has a figure for each reading: how likely it is right, by what can be seen without knowing the answer. If
# it is **calibrated**, then of a hundred readings with 0.8 some eighty are right. Here *right* means that a reading that people wrote has the
# same answer.


# %%
def judged(questions, results):
    """Return the confidence of every reading that has one, and whether it is right."""
    pairs = [
        (confidence, agree(reading.answer, [short for gold in question.readings for short in gold.short_answers]))
        for question, result in zip(questions, results, strict=True)
        for reading, confidence in zip(result.interpretations, result.confidence, strict=True)
        if confidence is not None
    ]
    return np.array([one for one, _ in pairs]), np.array([right for _, right in pairs])


sure, right = judged(dev, answers)
EDGES = [0, 0.3, 0.5, 0.7, 0.85, 1]
print("confidence    readings  mean said  right")
gaps = []
for low, high in pairwise(EDGES):
    these = (sure >= low) & (sure < high)
    gaps.append(these.mean() * abs(sure[these].mean() - right[these].mean()))
    print(f"{low:.2f} to {high:.2f} {these.sum():9} {100 * sure[these].mean():9.0f}% {100 * right[these].mean():6.0f}%")
print(
    f"expected calibration error: {100 * sum(gaps):.0f} points; right in all: {100 * right.mean():.0f}% of {len(right)}"
)

# %% [markdown]
# The *expected calibration error* ([Guo et al. 2017](https://arxiv.org/abs/1706.04599)) is the mean distance between what is said and what is right, each bin weighted by its readings.
# Where it is large, the order may still be of use: what is said with more confidence is more often right.
#
# ## From which confidence on to answer
#
# If you are silent below a limit tells fewer wrong readings, and fewer right ones. Each limit is a point on a curve: which share of the
# readings is told (*coverage*), and which share of these is wrong (*risk*); more in
# [Kamath et al. 2020](https://arxiv.org/abs/2006.09462).

# %%
import matplotlib.pyplot as plt

limits = np.linspace(0, 0.95, 39)
coverage = [np.mean(sure >= limit) for limit in limits]
risk = [np.mean(~right[sure >= limit]) for limit in limits]
fig, ax = plt.subplots(figsize=(6, 3.2))
ax.plot(coverage, risk, marker=".")
ax.set(xlabel="readings told (coverage)", ylabel="wrong among them (risk)", xlim=(0, 1.02), ylim=(0, None))
plt.show()

WANTED = 0.85
limit = min(limit for limit, wrong in zip(limits, risk, strict=True) if wrong <= 1 - WANTED)
print(
    f"limit {limit:.2f}: {100 * np.mean(sure >= limit):.0f}% of the readings told, {100 * right[sure >= limit].mean():.0f}% right"
)

# %% [markdown]
# The limit was chosen on these readings, so it looks better here than it is (lesson 6). What does it do to questions that took no part?

# %%
test = polyqa.Questions("homonyms/test").asked
unseen = [polyqa.ask(one.question, program=program, lm=lm) for one in test]
test_sure, test_right = judged(test, unseen)
told = test_sure >= limit
shares = test_right[told][rng.integers(0, told.sum(), size=(5_000, told.sum()))].mean(axis=1)
low, high = 100 * np.quantile(shares, [0.025, 0.975])
print(
    f"test: {100 * told.mean():.0f}% told, {100 * test_right[told].mean():.0f}% [{low:.0f}, {high:.0f}] of {told.sum()} right"
)
print(f"without a limit: {100 * test_right.mean():.0f}% of {len(test_right)} right")
lost = int(test_right[~told].sum())
print(f"right readings that are not told any more: {lost} of {int(test_right.sum())}")

# %% [markdown]
# That is the price: readings that would have been right are not told either. Which price is worth paying depends on what a
# wrong answer costs: in a lesson little, in a clinic much. `polyqa ask --min-confidence` sets the limit, in Python `min_confidence`; what is
# below it is quoted as *not sure* or left out. The documentation has polyqa's own curve, over questions that no passage answers, too.

# %% [markdown]
# ## With a real language model
#
# Three questions, live, each reading with its confidence.

# %%
import os

LM = os.environ.get("POLYQA_LESSON_LM")
if LM:
    for question in dev[:3]:
        result = polyqa.ask(question.question, index="homonyms", lm=LM)
        print(question.question)
        for reading, confidence in zip(result.interpretations, result.confidence, strict=True):
            print(f"    {reading.answer}: {'not judged' if confidence is None else f'{confidence:.2f}'}")
else:
    print("Skipped: POLYQA_LESSON_LM names no language model.")

# %% [markdown]
# ## Exercises
#
# 1. Two of you label the ten answers, each alone. What is your kappa with each other, and with the first reader? Talk about the
#    answers on which you differ, write down a rule, and label ten others (`random.Random(1)`).
# 2. Two readers call nine of ten answers *right*, and each calls another one *wrong*. How many labels are equal, and what is kappa? Why?
# 3. On which limit would you settle if a wrong reading costs you three times what a right one is worth?

# %% [markdown]
# ## Solutions
#
# **1.** There is no right figure; from about 0.6 on readers are said to agree well ([Landis and Koch 1977](https://doi.org/10.2307/2529310)), and
# with ten answers you cannot tell 0.6 from 0.3. Most readers differ on two things: whether a missing reading makes an answer clumsy or
# wrong, and whether a false sentence beside a right answer does. Either rule will do, if both of you use it. A large language model that was
# given the ten answers and the same three words labelled them like this:

# %%
OTHER = ["wrong", "wrong", "clumsy", "right", "clumsy", "clumsy", "wrong", "wrong", "clumsy", "wrong"]
print("with the first reader: equal {:.0%}, kappa {:.2f}".format(*kappa(FIRST, OTHER)))
print("with the rule: equal {:.0%}, kappa {:.2f}".format(*kappa(SECOND, OTHER)))

# %% [markdown]
# **2.** Eight of ten are equal, and kappa is below zero: two who say *right* nearly always agree by chance alone.

# %%
print("equal {:.0%}, kappa {:.2f}".format(*kappa(["wrong"] + ["right"] * 9, ["right"] * 9 + ["wrong"])))

# %% [markdown]
# **3.** Take the limit with the largest sum, one for each right reading told and three off for each wrong one. (On development questions.)

# %%
worth = [np.sum(right[sure >= limit]) - 3 * np.sum(~right[sure >= limit]) for limit in limits]
print(f"limit {limits[int(np.argmax(worth))]:.2f}, worth {max(worth)}; without a limit {worth[0]}")
