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
#     title: Demos, fixed, nearest and bootstrapped
#     minutes: 30
#     learns: make demos in three ways, see which are picked, and score without the usual leak
# ---

# %% [markdown]
# # Lesson 4: Demos, fixed, nearest and bootstrapped
#
# A **demo** is a worked example in the prompt: inputs with the outputs that you want. A language model imitates it. Most
# compiled programs consist of demos, so this lesson makes them in three ways and looks at the prompts.
#
# After this lesson you can
#
# - make demos from labels, and from a program's own good runs;
# - explain how the demos nearest to a question differ from fixed ones, and see which are picked;
# - avoid the usual trap: scoring a question with its own answer in the prompt.

# %%
import dspy

import polyqa
from polyqa.metrics.optimizing import AnswerMetric
from polyqa.models import Encoder, Reader

index = polyqa.open_index("homonyms")
lm, metric = polyqa.embedded_lm(), AnswerMetric(Reader(), measure="dr")
train = [question for question in polyqa.Questions("homonyms/train").asked if len(question.readings) > 1][:24]
dev = [question for question in polyqa.Questions("homonyms/dev").asked if len(question.readings) > 1][:6]
print(len(train), "questions to make demos of,", len(dev), "questions to score on")
print("in both:", {question.id for question in train} & {question.id for question in dev} or "none")

# %% [markdown]
# ## A demo from labels
#
# The training questions have *labels*: readings with their answers, and long answers that people wrote. They lack the
# passages that a prompt shows. `label_demos` retrieves these in the same way as the program, so that a demo looks like a
# prompt. It makes no call of a language model.

# %%
from polyqa.optimizers.labels import label_demos

rac = polyqa.load("rac", index=index)
pools = label_demos(rac, train)
print({predictor: len(pool) for predictor, pool in pools.items()})
demo = pools["clarify"][0]
print("question:", demo["question"])
for reading in demo["interpretations"]:
    print("reading: ", reading["question"], "→", reading["answer"], f"[{reading['pid']}]")
print("answer:  ", demo["answer"][:120], "…")
print("passages:", [passage.split(" | ")[0] for passage in demo["passages"]])

# %% [markdown]
# A *predictor* is a step of a program that calls the language model. `rac` has one, `clarify`, which gets a pool of demos with
# the fields of its signature.
#
# ## Fixed, or nearest
#
# With **fixed** demos every prompt shows the same ones. With **nearest** demos (kNN) the whole pool is kept, and every
# prompt shows the few whose questions are most similar to the one that is asked. Tree of Clarifications
# ([Kim et al. 2023](https://arxiv.org/abs/2310.14696)) and DIVA ([In et al. 2024](https://arxiv.org/abs/2409.02361)) show the
# nearest; [Liu et al. 2021](https://arxiv.org/abs/2101.06804) saw that similar examples teach more.

# %%
from polyqa.optimizers.prompts import picked_demos
from polyqa.programs import set_knn_demos

fixed = polyqa.load("rac", index=index)
set_knn_demos(fixed, {"clarify": pools["clarify"][:4]}, k=None)
nearest = polyqa.load("rac", index=index)
set_knn_demos(nearest, pools, k=4)

ASKED = [dev[0].question, "What river runs through Perth?"]
for question in ASKED:
    print(question)
    for name, program in (("fixed", fixed), ("nearest", nearest)):
        for one in picked_demos(program, question)["clarify"]:
            similarity = "" if one["similarity"] is None else f"{one['similarity']:.2f}"
            print(f"   {name:8} {similarity:5} {one['question']}")

# %% [markdown]
# The number is the cosine between the two questions, as a small sentence encoder sees them: 1 would be the same words.
# The nearest demo comes last, next to the question.
#
# Here is the pool as a map: questions that the encoder finds similar lie near to each other. (A map of two dimensions
# cannot keep all distances, so a picked demo may look farther away than it is.)

# %%
import matplotlib.pyplot as plt
import numpy as np

encoder = Encoder()
texts = [demo["question"] for demo in pools["clarify"]] + ASKED
vectors = encoder.encode(texts)
centred = vectors - vectors.mean(axis=0)
_, _, axes = np.linalg.svd(centred, full_matrices=False)
places = centred @ axes[:2].T
fig, ax = plt.subplots(figsize=(8, 4.6))
key = []
ax.scatter(*places[: -len(ASKED)].T, color="0.75", label="demos of the pool")
for at, question in enumerate(ASKED):
    colour, here = f"C{at}", places[len(texts) - len(ASKED) + at]
    ax.scatter(*here, color=colour, marker="*", s=160, label=question)
    for one in picked_demos(nearest, question)["clarify"]:
        there = places[texts.index(one["question"])]
        ax.plot(*zip(here, there, strict=True), color=colour, linewidth=0.8)
        key.append(one["question"])
        ax.annotate(str(len(key)), there, fontsize=9, color=colour, xytext=(4, 3), textcoords="offset points")
ax.set(xticks=[], yticks=[])
ax.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=2)
plt.show()
for number, question in enumerate(key, 1):
    print(number, question)

# %% [markdown]
# ## Bootstrapped
#
# If there are no labels for every step, let the program make its own demos: run it on the training questions and keep the runs
# with a good score. What each predictor said in such a run becomes a demo. This is DSPy's bootstrapping
# ([Khattab et al. 2023](https://arxiv.org/abs/2310.03714)); the *threshold* says how good a run must be.

# %%
from pathlib import Path

from polyqa.optimizers.pool import bootstrap_pool

few = train[:6]
for threshold in (0.3, 0.5):
    strict = AnswerMetric(metric.reader, measure="dr", threshold=threshold)
    journal = Path(f"runs-{threshold}.sqlite")
    kept = bootstrap_pool(rac, few, lm=lm, metric=strict, journal=journal, threads=1)
    print(f"threshold {threshold}: {len(kept['clarify'])} of {len(few)} runs became demos")
bootstrapped = polyqa.load("rac", index=index)
set_knn_demos(bootstrapped, kept, k=4)

# %% [markdown]
# A high threshold keeps few good demos, a low one many doubtful ones. Look at one of them: the program wrote it, not a
# person.

# %%
own = kept["clarify"][0]
print(own["question"])
for reading in own["interpretations"]:
    print("   ", reading["question"], "→", reading["answer"])

# %% [markdown]
# ## Do they help?
#
# Score all four on questions that gave no demo. The last column counts the tokens of a prompt.


# %%
def score(program, questions):
    """Return the mean DR of a program, the mean length of its answers, and the tokens of a prompt."""
    found, words, tokens = [], [], []
    for question in questions:
        with dspy.context(lm=lm):
            result = polyqa.ask(question.question, program=program)
        found.append(metric(question.to_example(), result))
        words.append(len(result.answer.split()))
        tokens.append(result.input_tokens)
    return [sum(numbers) / len(numbers) for numbers in (found, words, tokens)]


PROGRAMS = {"no demos": rac, "fixed": fixed, "nearest": nearest, "bootstrapped": bootstrapped}
print(f"{'':13}    DR  words  tokens in")
for name, program in PROGRAMS.items():
    value, words, tokens = score(program, dev)
    print(f"{name:13} {100 * value:5.1f} {words:6.0f} {tokens:10,.0f}")

# %% [markdown]
# Be careful with conclusions. Six questions are far too few to tell small differences from chance (see lesson 6). Only the
# last column is certain: demos multiply the price. Look at the words as well: a program that imitates demos moves towards
# their length.
#
# The embedded engine learns only labels, wordings, lengths and thresholds from demos, and it is good at the form from the
# start. So a small gain here says nothing about another model. A language model learns more: five demos raise the F1 of answers
# of the real one in lesson 9 from 0 to 59, on 72 test questions. Measure with the model that you will use.

# %% [markdown]
# ## The trap: a question that sees its own answer
#
# If you score a program on the questions that its demos were made from, every question finds itself in its prompt, with the
# answer. While compiling, polyqa leaves out a question's own demos; if you score by hand, you have to do this yourself.

# %%
asked = train[0].question
print("asked:  ", asked)
print("nearest:", picked_demos(nearest, asked)["clarify"][-1]["question"])

from polyqa.optimizers.leave_one_out import leave_one_out

with dspy.context(lm=lm), leave_one_out([train[0]]):
    sent = polyqa.ask(asked, program=nearest).calls[0].messages
print("in the prompt then:", any(asked in message["content"] for message in sent[:-1]))

# %% [markdown]
# ## Saving
#
# When DSPy saves a program, its own nearest demos (`KNNFewShot`) are lost. polyqa's are part of the predictor and survive:

# %%
nearest.save("mine.json")
again = polyqa.load("rac", index=index, demos="mine.json")
print(len(again.clarify.demos), "demos,", again.clarify.k, "of them in each prompt")

# %% [markdown]
# The command line does all this and keeps a record: `polyqa compile --program rac --recipe knn --out compiled/mine`, and
# `polyqa ask QUESTION --program compiled/mine --show-prompts` shows what was picked. `polyqa programs --recipes` lists the ways to compile.

# %% [markdown]
# ## With a real language model
#
# Two questions, with and without demos.

# %%
import os

LM = os.environ.get("POLYQA_LESSON_LM")
if LM:
    lm = polyqa.language_model(LM)
    for name in ("no demos", "nearest"):
        value, words, tokens = score(PROGRAMS[name], dev[:2])
        print(f"{name:13} DR {100 * value:5.1f}, {words:.0f} words, {tokens:,.0f} tokens in")
else:
    print("Skipped: POLYQA_LESSON_LM names no language model.")

# %% [markdown]
# ## Exercises
#
# 1. How do tokens grow with `k`? Try 1, 2, 4 and 8 nearest demos on one question.
# 2. Make a pool of demos from questions with exactly two readings only. Does `rac` find fewer readings than with all
#    demos?
# 3. Which dev question has the *least* similar nearest demo? Would you expect demos to help it?

# %% [markdown]
# ## Solutions
#
# **1.** Roughly a straight line. polyqa sends the passages of one demo only, which shows how sources are cited. Otherwise the
# line would be many times as steep.

# %%
for k in (1, 2, 4, 8):
    nearest.clarify.set_k(k)
    print(k, "demos:", polyqa.ask(ASKED[0], program=nearest).input_tokens, "tokens in")
nearest.clarify.set_k(4)

# %% [markdown]
# **2.** Compare the two counts. With the embedded engine there may be no difference: it finds as many readings as the
# passages hold.

# %%
two = [demo for demo in pools["clarify"] if len(demo["interpretations"]) == 2]
narrow = polyqa.load("rac", index=index)
set_knn_demos(narrow, {"clarify": two}, k=4)
for name, program in (("all demos", nearest), ("two readings", narrow)):
    print(name, sum(len(polyqa.ask(question.question, program=program).interpretations) for question in dev))

# %% [markdown]
# **3.** The farther away the demos, the less they say about this question. They still show the form.

# %%
farthest = min(dev, key=lambda question: picked_demos(nearest, question.question)["clarify"][-1]["similarity"])
one = picked_demos(nearest, farthest.question)["clarify"][-1]
print(farthest.question, "| nearest:", one["question"], f"({one['similarity']:.2f})")
