# ---
# jupyter:
#   polyqa:
#     title: Overfitting, and how many questions one needs
#     minutes: 30
#     learns: tell a gain from chance, and say beforehand how many questions that takes
# ---

# %% [markdown]
# # Lesson 6: Overfitting, and how many questions one needs
#
# You tried twenty prompts, took the best, and it gained three points. Did it? This lesson shows how a gain appears out of
# nothing, and how to tell a gain from chance.
#
# After this lesson you can
#
# - explain why the best of many candidates looks better than it is, and what a test set is for;
# - read a paired interval, a p-value, and wins, ties and losses;
# - say how many questions a comparison needs before you make it.
#
# No program runs here: the lesson has the scores of four programs on each shipped question. So everything takes seconds, and
# you can play.

# %%
import json

import matplotlib.pyplot as plt
import numpy as np

from polyqa.lesson_files import lessons_home

stored = json.loads((lessons_home() / "scores.json").read_text())
scores = {
    split: {name: {key: np.array(values) for key, values in own.items()} for name, own in programs.items()}
    for split, programs in stored["scores"].items()
}
for split, programs in scores.items():
    for name, own in programs.items():
        means = "  ".join(f"{key} {100 * values.mean():5.1f}" for key, values in own.items())
        print(f"{split:5} {name:7} {len(own['rouge_l']):3} questions  {means}")

# %% [markdown]
# ## A gain out of nothing
#
# Let us make candidates that are *all equally good*. A candidate's score on a question is that of one of the four programs,
# drawn by chance. No candidate is better than another; only the draw differs. Twenty prompts that make no difference look
# like this.
#
# Then we do what an optimizer does: score all candidates on dev, keep the best, and look at it again on test.

# %%
rng = np.random.default_rng(0)


def candidates(split: str, number: int) -> np.ndarray:
    """Return the D-F1 of candidates that are all equally good, one row each."""
    table = np.stack([own["disambig_f1"] for own in scores[split].values()])
    drawn = rng.integers(len(table), size=(number, table.shape[1]))
    return 100 * np.take_along_axis(table, drawn, axis=0)


TRIED = [1, 2, 4, 8, 16, 32, 64]
on_dev, on_test = [], []
for number in TRIED:
    dev, test = [], []
    for _ in range(300):
        means = candidates("dev", number).mean(axis=1)
        best = means.argmax()
        dev.append(means[best])
        test.append(candidates("test", number).mean(axis=1)[best])
    on_dev.append(np.mean(dev))
    on_test.append(np.mean(test))

gain_dev, gain_test = np.array(on_dev) - on_dev[0], np.array(on_test) - on_test[0]
fig, ax = plt.subplots(figsize=(6.5, 3.6))
ax.plot(TRIED, gain_dev, marker="o", label="on dev, where the best was picked")
ax.plot(TRIED, gain_test, marker="s", label="on test")
ax.set_xscale("log", base=2)
ax.set(xticks=TRIED, xticklabels=TRIED, xlabel="candidates tried", ylabel="gain in D-F1, points")
ax.axhline(0, color="0.7", linewidth=0.8)
ax.legend()
plt.show()
for number, dev, test in zip(TRIED, gain_dev, gain_test, strict=True):
    print(f"best of {number:2}: {dev:+5.1f} on dev, {test:+5.1f} on test")

# %% [markdown]
# The line of dev climbs with every candidate, although nothing got better. The line of test stays where it was, but for
# noise. So:
#
# - **train** gives demos and ideas, **dev** picks (the search of lesson 5 keeps a half of train for that), **test** is reported, once;
# - the more you try, the less a dev score means;
# - a test set that you look at twice is a dev set.
#
# ## Two programs, honestly compared
#
# `rac` and `verdict` answered the same questions. Their scores can be compared in *pairs*: what counts is the difference on
# each question, so it does not matter that some questions are hard for both.

# %%
from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.statistics import compare

A, B = "rac", "verdict"


def both(split: str, column: str) -> list[list[np.ndarray]]:
    """Return the scores that a column combines, for the two programs."""
    return [[scores[split][name][key] for key in COLUMNS[column].scores] for name in (A, B)]


for split in ("dev", "test"):
    for column in ("disambig_f1", "dr", "f1_answer"):
        found = compare(COLUMNS[column], *both(split, column), seed=0)
        print(
            f"{split:5}{COLUMNS[column].label:7} {A} {found.a:5.1f}  {B} {found.b:5.1f}  "
            f"difference {found.difference:+5.1f} [{found.low:+5.1f}, {found.high:+5.1f}]  "
            f"p {found.p:.2f}  {found.wins} won, {found.ties} tied, {found.losses} lost"
        )

# %% [markdown]
# - The **interval** says which differences fit the data: draw the questions again and again with replacement (this is called
#   *bootstrap*), and 95% of the differences are in it. If zero is in it, the data do not show which program is better.
# - **p** answers another question: if the two were equal and only chance decided which score is whose, how often would the
#   difference be at least this large?
# - *Won* are the questions on which the second program is better. **Ties** matter. Questions on which both do the same say nothing, so
#   what counts is how many differ.
#
# Compare dev with test. Every line points the same way, but not every one would have convinced you. By D-F1 dev has an interval
# without zero and a p above 0.05: nine questions differ, and from so few the interval comes out too narrow. By F1 of the short answers
# dev cannot tell, and test can. And these were six comparisons: the more you make, the more likely it is that one stands out by chance
# (exercise 3). So choose the metric and the set before you look. (This is `verdict` with the embedded engine, not with the language
# model of its paper.)
#
# Paired or not makes a large difference. Here is the interval of the same difference on dev, computed both ways:

# %%
first, second = (100 * own[0] for own in both("dev", "disambig_f1"))
draws = rng.integers(len(first), size=(2, 2_000, len(first)))
paired = (second - first)[draws[0]].mean(axis=1)
unpaired = second[draws[0]].mean(axis=1) - first[draws[1]].mean(axis=1)
fig, ax = plt.subplots(figsize=(6.5, 2.2))
for height, (name, drawn) in enumerate({"not paired": unpaired, "paired": paired}.items()):
    low, high = np.percentile(drawn, [2.5, 97.5])
    ax.plot([low, high], [height, height], linewidth=6, solid_capstyle="butt")
    print(f"{name:11} {high - low:5.1f} points wide")
ax.axvline(0, color="0.7")
ax.set(yticks=[0, 1], yticklabels=["not paired", "paired"], ylim=(-0.6, 1.6), xlabel=f"{B} − {A}, points of D-F1")
plt.show()

# %% [markdown]
# Two separate intervals that overlap do *not* mean that there is no difference: for that, look at the interval of the
# difference. `polyqa compare` always pairs.
#
# ## How many questions?
#
# Suppose a program is better by a few points. How often would you notice it, with a given number of questions? We take the
# differences between the two programs, shift them to a known true gain, draw questions, and test. The **power** is the share
# of draws in which the interval does not contain zero.

# %%
differences = np.concatenate([np.subtract(*[own[0] for own in both(split, "disambig_f1")][::-1]) for split in scores])
spread = 100 * (differences - differences.mean())
print(f"standard deviation of the difference on one question: {spread.std():.1f} points")

NUMBERS = [10, 20, 50, 100, 200, 400, 800]
fig, ax = plt.subplots(figsize=(6.5, 3.6))
for gain in (2, 5, 10):
    power = []
    for number in NUMBERS:
        drawn = gain + spread[rng.integers(len(spread), size=(1_000, number))]
        error = drawn.std(axis=1, ddof=1) / np.sqrt(number)
        power.append(np.mean(np.abs(drawn.mean(axis=1)) > 1.96 * error))
    ax.plot(NUMBERS, power, marker="o", label=f"true gain of {gain} points")
    enough = next((number for number, share in zip(NUMBERS, power, strict=True) if share >= 0.8), None)
    print(f"gain of {gain:2} points: seen in 8 of 10 studies from {enough or 'more than 800'} questions on")
ax.axhline(0.8, color="0.7", linewidth=0.8)
ax.set_xscale("log")
ax.set(xticks=NUMBERS, xticklabels=NUMBERS, xlabel="questions", ylabel="power", ylim=(0, 1.02))
ax.minorticks_off()
ax.legend()
plt.show()

# %% [markdown]
# Half the gain needs four times the questions: the width of an interval shrinks with the square root of their number. (We tried a few
# numbers only: 200 were too few, 400 enough.) A rule of thumb without any simulation: with standard deviation $s$ of the differences and
# a gain $g$ you need about $8 s^2 / g^2$ questions.

# %%
for gain in (2, 5, 10):
    print(f"gain of {gain:2} points: about {8 * spread.var() / gain**2:,.0f} questions")

# %% [markdown]
# So before you compile, count your test questions, and know which gain you could see at all. Lesson 11 judges gains that others
# report. On statistics in this field see [Card et al. 2020](https://arxiv.org/abs/2010.06595).

# %% [markdown]
# ## With a real language model
#
# Answers of a language model differ from run to run, which adds noise of its own. This asks one question three times,
# at temperature 1 and without the cache.

# %%
import os

LM = os.environ.get("POLYQA_LESSON_LM")
if LM:
    import polyqa

    lm = polyqa.language_model(LM).copy(temperature=1.0, cache=False)
    program = polyqa.load("rac")
    for _ in range(3):
        print([one.answer for one in polyqa.ask("When did Titanic come out?", program=program, lm=lm).interpretations])
else:
    print("Skipped: POLYQA_LESSON_LM names no language model.")

# %% [markdown]
# ## Exercises
#
# 1. Compare `rac` with `sixpaq` on test by D-F1. Is the difference more than chance?
# 2. Do the first experiment with a dev set three times as large (take its questions three times, with new draws). What happens to the
#    gain on dev?
# 3. Four programs can be compared in six pairs. If all were equal, how often would at least one pair differ with p < 0.05?

# %% [markdown]
# ## Solutions
#
# **1.** Look whether zero is in the interval, and how many questions are not tied.

# %%
A, B = "rac", "sixpaq"
found = compare(COLUMNS["disambig_f1"], *both("test", "disambig_f1"), seed=0)
print(f"{found.difference:+.1f} [{found.low:+.1f}, {found.high:+.1f}], p {found.p:.2f}")
print(f"{found.wins} won, {found.ties} tied, {found.losses} lost")

# %% [markdown]
# **2.** It shrinks: the larger the dev set, the less a lucky draw is worth.

# %%
for times in (1, 3):
    gains = []
    for _ in range(300):
        table = np.concatenate([candidates("dev", 32) for _ in range(times)], axis=1)
        gains.append(table.mean(axis=1).max() - table.mean())
    print(f"{times} × dev: the best of 32 looks better by {np.mean(gains):.1f} points")

# %% [markdown]
# **3.** Simulate it: shuffle the programs' scores within each question, so that all are equal, and test every pair.

# %%
from itertools import combinations

table = np.stack([own["disambig_f1"] for own in scores["test"].values()])
alarms = 0
for _ in range(300):
    equal = rng.permuted(table, axis=0)
    for one, other in combinations(equal, 2):
        difference = one - other
        if abs(difference.mean()) > 1.96 * difference.std(ddof=1) / np.sqrt(len(difference)):
            alarms += 1
            break
print(f"in {100 * alarms / 300:.0f}% of the studies some pair differs, though all are equal")
