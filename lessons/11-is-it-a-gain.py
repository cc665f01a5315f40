# ---
# jupyter:
#   polyqa:
#     title: Is it a gain?
#     minutes: 20
#     learns: judge a reported gain, and tell "it helped" from "nothing changed" from "nobody can tell"
# ---

# %% [markdown]
# # Lesson 11: Is it a gain?
#
# A notebook on prompt optimization ends like this: *before 16 of 50 questions right, after 22. Our prompt is 38% better.* You find
# such endings everywhere. What do they show?
#
# After this lesson you can
#
# - say what is missing from such a sentence, and compute it;
# - tell three results apart: it helped, it made no real difference, it cannot be told;
# - say how many questions a gain needs, and read what polyqa says about one.
#
# Lesson 6 asked how a gain appears out of nothing while one *searches*. This one is about a single comparison, yours or
# somebody else's. The first half is arithmetic; the second uses recorded replies of a real model (lesson 9).

# %% [markdown]
# ## 16 of 50
#
# With 50 other questions of the same kind, the authors would have had another number of right ones. How different? If each
# question is right with a probability of 32%, the spread is $\sqrt{50 \cdot 0.32 \cdot 0.68}$.

# %%
import math

import numpy as np

BEFORE, AFTER, N = 16, 22, 50
spread = math.sqrt(N * BEFORE / N * (1 - BEFORE / N))
print(f"standard deviation of the number of right questions: {spread:.1f}")

rng = np.random.default_rng(0)
twice = rng.binomial(N, (BEFORE + AFTER) / 2 / N, size=(100_000, 2))
apart = np.abs(twice[:, 0] - twice[:, 1]) >= AFTER - BEFORE
print(
    f"one and the same program, asked two sets of 50 questions, differs by six or more in {100 * apart.mean():.0f}% of cases"
)

# %% [markdown]
# So six questions are less than twice the noise of one such number: a program that did not change at all differs from itself by
# so much every fourth time.
#
# That would be the end of it if the two numbers came from two sets of questions. But they come from the same 50, so we can
# compare them question by question, **in pairs**.
#
# ## What the sentence leaves out
#
# A question that is right both times, or wrong both times, says nothing. Those that *changed* count: some became right
# (*won*), some became wrong (*lost*). 22 − 16 = won − lost = 6 can come about in many ways. Each row is one of them:

# %%
from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.statistics import compare


def pairs(won, lost, both=10):
    """Return the scores of 50 questions, before and after: so many won, so many lost."""
    before = np.array([1.0] * both + [0.0] * won + [1.0] * lost + [0.0] * (N - both - won - lost))
    after = np.array([1.0] * both + [1.0] * won + [0.0] * lost + [0.0] * (N - both - won - lost))
    return before, after


print("won lost   right            gain in points   p")
p_of = {}
for lost in (0, 2, 4, 8, 12):
    before, after = pairs(lost + 6, lost, both=BEFORE - lost)
    found = compare(COLUMNS["str_em"], [before], [after], seed=0)
    p_of[lost] = found.p
    print(f"{found.wins:3} {found.losses:4}   {before.sum():.0f} → {after.sum():.0f}   {found!s:>20}   {found.p:.3f}")

# %% [markdown]
# The same *16 → 22* is hardly chance in the first row, and could well be in the last. **p** says how often a difference of
# at least this size would arise if before and after were the same thing and a coin decided for each question which is
# which. The brackets are the 95% interval (lesson 6).
#
# So ask for the number of questions won and lost. Without it, nobody can say whether *16 → 22* is a gain. New prompts usually
# change many answers, in both directions, so the lower rows are the likelier ones.
#
# ## How many questions?
#
# Suppose the gain is real: 12 points, 32% to 44%. How often would a study of $n$ questions see it with p < 0.05? That is its
# **power**. It depends on how many questions change at all.

# %%
import matplotlib.pyplot as plt

GAIN = (AFTER - BEFORE) / N
SIZES = [25, 50, 100, 200, 400]


def power(n, changed, gain=GAIN, studies=4_000):
    """Return how often a study sees a gain: a z-test of the differences, which are 1, 0 or −1."""
    shares = [(changed + gain) / 2, 1 - changed, (changed - gain) / 2]
    differences = rng.choice([1, 0, -1], p=shares, size=(studies, n))
    error = differences.std(axis=1, ddof=1) / math.sqrt(n)
    return np.mean(np.abs(differences.mean(axis=1)) > 1.96 * np.maximum(error, 1e-9))


fig, ax = plt.subplots(figsize=(6.5, 3.4))
powers = {}
for changed in (0.16, 0.3, 0.5):
    powers[changed] = [power(n, changed) for n in SIZES]
    ax.plot(SIZES, powers[changed], marker="o", label=f"{100 * changed:.0f}% of the questions change")
    needed = 8 * (changed - GAIN**2) / GAIN**2
    print(
        f"{100 * changed:.0f}% change: power with 50 questions {powers[changed][1]:.2f}; for 0.8 one needs about {needed:.0f}"
    )
ax.axhline(0.8, color="0.7", linewidth=0.8)
ax.set_xscale("log")
ax.set(xticks=SIZES, xticklabels=SIZES, xlabel="questions", ylabel="power", ylim=(0, 1.02))
ax.minorticks_off()
ax.legend()
plt.show()

# %% [markdown]
# The number needed is the rule of thumb of lesson 6, $8 s^2 / g^2$: for right or wrong, $s^2$ is the share that changes, less
# $g^2$. Fifty questions are too few in each of these cases.
#
# A study that is too small has a second problem. If only striking results are reported, they exaggerate: with 50 questions only a
# large difference is striking, so a small true gain is reported as a large one, or not at all.

# %%
TRUE = 0.04
differences = rng.choice([1, 0, -1], p=[(0.3 + TRUE) / 2, 0.7, (0.3 - TRUE) / 2], size=(20_000, N))
means = differences.mean(axis=1)
striking = np.abs(means) > 1.96 * differences.std(axis=1, ddof=1) / math.sqrt(N)
reported = means[striking & (means > 0)]
print(f"true gain {100 * TRUE:.0f} points; {100 * striking.mean():.0f}% of the studies find a striking difference")
print(f"those that see a gain report {100 * reported.mean():.0f} points on average")

# %% [markdown]
# More on both in [Card et al. 2020](https://arxiv.org/abs/2010.06595) and [Miller 2024](https://arxiv.org/abs/2411.00640).
#
# ## A real comparison
#
# Now two runs of a real model: `rac` with its plain prompt, and with the five demos of `rac-homonyms-local` (lesson 9), on 18 test questions.
# The replies are recorded; `evaluate` replays and scores them, and leaves two folders.

# %%
import dspy

import polyqa
from polyqa.artifacts.store import read_artifact

dspy.disable_logging()
shipped = read_artifact("rac-homonyms-local").path
by_id = {question.id: question for question in polyqa.Questions("homonyms/test").asked}
FEW = """cromwell-film-charles little-women-jo little-women-2019-oscar hyde-park-president colorado-river-dam-lake
    columbia-which-university notre-dame-architect cricket-world-cup-shrubsole eurovision-loreen-song eurovision-sweden-where
    prohibition-iceland-legal prohibition-utah driving-side-when republic-second saturn-console-out saturn-rings curie-nobel
    curie-curium-number"""
asked = [by_id[one] for one in FEW.split()]
questions = polyqa.Questions(asked, name="18 of homonyms/test")
models = polyqa.Models(lm=polyqa.recorded(shipped / "replies.jsonl.gz"), judge=None)
index = polyqa.open_index("homonyms")
programs = {"plain": polyqa.load("rac", index=index), "demos": polyqa.load("rac-homonyms-local", index=index)}
runs = {
    name: polyqa.evaluate(program, questions, models=models, folder=f"runs/{name}", threads=1)
    for name, program in programs.items()
}

# %% [markdown]
# In the terminal `polyqa compare runs/plain runs/demos` prints the following. (Only the row of seconds is left out here, because they
# differ from replay to replay.) D-F1, R-L (ROUGE-L), DR, STR-EM and LEN are those of lesson 3. *EM* looks at questions with one reading:
# is the short answer a gold one? *F1 ans* and *Answer-F1* look at the short answers of all, the latter word by word; *EDIT-F1* at how the
# several readings of a question are worded. So *n*, the number of questions that have the metric, differs. Of tokens fewer are better. A
# kind of ambiguity with a single question has no row.

# %%
from polyqa.evaluation.comparison import compare_runs
from polyqa.evaluation.tables import comparison_tables

comparison = compare_runs(runs["plain"], runs["demos"])
table = comparison_tables(comparison, everything=False)
print("\n".join(line for line in table.splitlines() if not line.startswith("| s |")))

# %% [markdown]
# The first sentence is about the **headline metric**, DR, and it says that one cannot tell: the interval reaches from far below
# zero to far above it. So does that of F1 of the answers, which fell. Of EDIT-F1 it would be tempting to write that it *tripled*.
#
# So which one is *the* result? Decide **before** you look. A table of so many rows will often have a striking one by chance.
# Here it is DR: the program was compiled for this measure, and its card says so.
#
# ## Three things that a comparison can say
#
# The report of a compiled program (`report.html`) begins with such a sentence. It depends on the interval and on the number of questions:

# %%
from types import SimpleNamespace

from polyqa.evaluation.verdicts import claim, verdict

f1, dr = comparison.metrics["f1_answer"], comparison.metrics["dr"]
print(verdict(dr, what="Compiling", metric="DR"))
# `rac` with the embedded engine and the recipe knn, DR on 72 test questions; the table is in docs/reference/gains.md
known = SimpleNamespace(difference=0.2, low=-0.2, high=0.6, n=72, p=0.384)
said = claim(known.low, known.high, known.n, known.p, what="Compiling")
print(f"{said}: DR {known.difference:+.1f} [{known.low:+.1f}, {known.high:+.1f}] on {known.n} questions.")

# %% [markdown]
# - **It helped** (or did harm): zero is not in the interval, and p is below 0.05. (Look at the row *subject* of the
#   table above: two questions, an interval far above zero, p = 0.5. Both are needed.)
# - **No real difference**: the whole interval is within one point, with at least thirty questions. This is the case for the embedded
#   engine with five demos, and it is a *finding*: the difference can hardly be more than a point.
# - **It cannot be told**: anything else. This is no finding, neither *it helps* nor *it does not help*.
#
# The most common mistake is to read the third as the second: *p = 0.7, so demos do not change DR*. The interval says that they may raise
# it by a lot.

# %%
fig, ax = plt.subplots(figsize=(6.5, 2.2))
rows = {"F1, demos, n = 18": f1, "DR, demos, n = 18": dr, "DR, embedded engine, n = 72": known}
for height, one in enumerate(rows.values()):
    ax.plot([one.low, one.high], [height, height], linewidth=5, solid_capstyle="butt")
    ax.plot(one.difference, height, "k|", markersize=12)
ax.axvline(0, color="0.6")
ax.axvspan(-1, 1, color="0.9")
ax.set(yticks=range(3), yticklabels=list(rows), ylim=(2.6, -0.6), xlabel="difference, points (grey: less than one)")
plt.show()

# %% [markdown]
# ## How many questions would settle it?
#
# Not "how many for the gain that we saw": that figure is as uncertain as its interval, and the answer to it says no more than p did. Say
# which gain would matter to you. Here: 5 points of DR. How much the differences scatter is known from the 18 questions: a 95% interval is
# 3.92 standard errors wide, and a standard error is the standard deviation divided by $\sqrt{n}$. The rule of thumb needs no more.

# %%
s, g = (dr.high - dr.low) / 3.92 * math.sqrt(len(asked)), 5.0
print(f"standard deviation {s:.0f} points; for a gain of {g:.0f} about {8 * s**2 / g**2:.0f} questions")
SEEN = [18, 36, 72, 144, 288, 576]
shares = []
for number in SEEN:
    error = s / math.sqrt(number)
    shares.append(np.mean(np.abs(rng.normal(g, error, size=4_000)) > 1.96 * error))
    print(f"{number:3} questions: power {shares[-1]:.2f}")

# %% [markdown]
# Eighteen questions had hardly a chance to show 5 points. With a small model on two processor cores a question takes some twenty seconds,
# so this is a question of patience; with a hosted model, of money. Know it before you begin.
#
# Here somebody had the patience: the shipped replies are to all 72 test questions.

# %%
every = {
    name: polyqa.evaluate(program, "homonyms/test", models=models, folder=f"runs/{name}-72", threads=1)
    for name, program in programs.items()
}
settled = compare_runs(every["plain"], every["demos"]).metrics
print(verdict(settled["dr"], what="Compiling", metric="DR"))
print(verdict(settled["f1_answer"], what="Compiling", metric="F1 of answers"))
print(f"p = {settled['dr'].p:.3f} and {settled['f1_answer'].p:.3f}")

# %% [markdown]
# Four times as many questions, twice as many of them better as worse, and the interval still reaches below zero. 72 questions had an even
# chance to show five points.
#
# ## What happened to p = 0.007
#
# The first time that these 72 questions were asked, the figures were DR 36.1 → 42.1, +6.0 [+1.9, +10.1], p = 0.007, and this lesson ended
# with *compiling helped*. Then the search was changed, for another reason (it had not known *Falcon 4* from *Falcon 3*). Nine of the 72
# questions got other passages, or the same in another order; the model and both prompts stayed what they were. You see above what is
# left of the gain.
#
# Neither figure was wrong. Each interval holds the other figure, and this is what an interval is for: the gain may be two points or
# seven. But the striking figure came first, was reported, and was larger than what a second look finds, as the simulation
# above says it will be. So take a single p below 0.05 as a reason to look again, not as the end of looking.
#
# ## What to write
#
# Instead of *10% better*:
#
# > DR 37.6 → 41.4, +3.8 [-0.6, +8.1], p = 0.094, on 72 test questions (42 better, 19 worse): whether the demos help cannot be told. With an
# > earlier search it was +6.0 [+1.9, +10.1]. The demos were drawn without these questions; but the rule by which they were drawn was made
# > after a look at them.
#
# Report points, not per cent of per cent; the interval; how many questions, won and lost; which set, and what else was tried.
# `polyqa compile` writes such a line into the card, `polyqa compare` and `polyqa evaluate --recheck` print one.

# %% [markdown]
# ## With a real language model
#
# The same comparison on four questions, live. The sentence at the end will most likely be honest about four questions.

# %%
import os

LM = os.environ.get("POLYQA_LESSON_LM")
if LM:
    few = polyqa.Questions(asked[:4], name="four of homonyms/test")
    live = [
        polyqa.evaluate(program, few, models=polyqa.Models(lm=LM, judge=None), folder=f"live/{name}")
        for name, program in programs.items()
    ]
    print(verdict(compare_runs(*live).metrics["f1_answer"], what="The demos", metric="F1 of answers"))
else:
    print("Skipped: POLYQA_LESSON_LM names no language model.")

# %% [markdown]
# ## Exercises
#
# 1. Another notebook reports 160 → 220 of 500, with 90 won and 30 lost. Is that a gain?
# 2. Ten people each try one prompt on 50 questions. All prompts are as good as the old one (32%), and a third of the answers
#    changes. How often does at least one of them report six more right?
# 3. What is the smallest gain in DR that 72 questions would show with a power of 0.8?

# %% [markdown]
# ## Solutions
#
# **1.** Yes: the interval is far above zero, and p is tiny. With 9 won and 3 lost of 50, the same rates, it could not have been told.

# %%
before = np.array([1.0] * 130 + [0.0] * 90 + [1.0] * 30 + [0.0] * 250)
after = np.array([1.0] * 130 + [1.0] * 90 + [0.0] * 30 + [0.0] * 250)
won = compare(COLUMNS["str_em"], [before], [after], seed=0)
print(won, f"points, p = {won.p:.4f}")

# %% [markdown]
# **2.** Each question is won or lost with a probability of one sixth each.

# %%
draws = rng.choice([1, 0, -1], p=[1 / 6, 2 / 3, 1 / 6], size=(5_000, 10, N)).sum(axis=2)
print(f"in {100 * np.mean(draws.max(axis=1) >= 6):.0f}% of the cases, though no prompt is better")

# %% [markdown]
# **3.** Solve the rule of thumb for $g$.

# %%
print(f"about {math.sqrt(8 * s**2 / 72):.1f} points")
