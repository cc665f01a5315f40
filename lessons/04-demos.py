# ---
# jupyter:
#   polyqa:
#     title: Demos, fixed, nearest and bootstrapped
#     minutes: 40
#     learns: make demos of labels and of runs, pick fixed or nearest ones, and score without the usual leak
# ---

# %% [markdown]
# # Lesson 4: Demos, fixed, nearest and bootstrapped
#
# A **demo** is a worked example in the prompt: inputs with the outputs that you want. A language model imitates it. This lesson makes
# demos in two ways (of labels, of good runs), picks them in two (always the same, the nearest), looks at the prompts, and scores what a
# real language model makes of them: Qwen2.5-Coder-1.5B, a small one (lesson 9). Its replies were *recorded*, so you need no model and no
# key. One number goes through the lesson: DR, the score of the long answer.
#
# After this lesson you can
#
# - make demos from labels, and from the good runs of a program;
# - explain how the demos nearest to a question differ from fixed ones, and see which are picked;
# - avoid the usual trap: scoring a question with its own answer in the prompt.

# %%
import os

os.environ.setdefault("POLYQA_PRECISION", "float32")  # as when the replies were recorded: prompts have to be the same

import dspy
import numpy as np

import polyqa
from polyqa.artifacts.store import read_artifact
from polyqa.lesson_files import lessons_home
from polyqa.metrics.optimizing import AnswerMetric
from polyqa.models import Encoder, Reader

dspy.disable_logging()  # DSPy reports replies that broke off; there will be some
index = polyqa.open_index("homonyms")
lm = polyqa.recorded(lessons_home() / "demos.jsonl.gz")
train = polyqa.Questions("homonyms/train").asked
dev = polyqa.Questions("homonyms/dev").asked[::2]  # every second one, to be quick
print(len(train), "questions to make demos of,", len(dev), "questions to score on;", lm.model, "answers")
print("in both:", {question.id for question in train} & {question.id for question in dev} or "none")

# %% [markdown]
# ## Without demos
#
# `rac` makes one call: an instruction, five passages and the question go in, the readings and the long answer come out. We score it with
# **DR**, which looks at the long answer (lesson 3), and beside it with AmbigQA's F1 of the answers: are the short answers of the readings
# those that people wrote? What is scored is the result of `polyqa.ask`, which leaves out readings that their passages do not support
# (lesson 7). DR is the mean of the questions' DRs here, since we shall compare question by question. It is lower than DR of the means
# (lesson 3), which cards and lessons 9 and 11 report: do not compare the two.


# %%
METRICS = {measure: AnswerMetric(Reader(), measure=measure) for measure in ("dr", "f1_answer")}
RESULTS = {}


def score(name, program, questions=dev):
    """Ask a program every question, print its means, and return the DR of each question."""
    results = [polyqa.ask(question.question, program=program, lm=lm) for question in questions]
    scores = {
        measure: [metric(question.to_example(), result) for question, result in zip(questions, results, strict=True)]
        for measure, metric in METRICS.items()
    }
    means = [100 * sum(values) / len(values) for values in scores.values()]
    counts = [[len(one.interpretations), one.input_tokens, one.output_tokens] for one in results]
    readings, read, written = (sum(column) / len(column) for column in zip(*counts, strict=True))
    print(f"{'':14}   DR  F1 of answers  readings  tokens in   out")
    print(f"{name:14} {means[0]:4.1f} {means[1]:14.1f} {readings:9.1f} {read:10,.0f} {written:5,.0f}")
    RESULTS[name] = results
    return np.array(scores["dr"])


rac = polyqa.load("rac", index=index)
DR = {"no demos": score("no demos", rac)}
print("\n", RESULTS["no demos"][0].calls[0].reply)

# %% [markdown]
# The list has what is right, and more than that. The long answer tells one of the readings and forgets the others, although the
# instruction says that it covers them all. You can say it in more words. Or you can show it.
#
# ## A demo from labels
#
# The training questions have *labels*: readings with their answers, and long answers that people wrote. They lack the
# passages that a prompt shows. `label_demos` retrieves these in the same way as the program, so that a demo looks like a
# prompt. It makes no call of a language model.

# %%
from polyqa.optimizers.labels import label_demos

pools = label_demos(rac, train)
print({predictor: len(pool) for predictor, pool in pools.items()})
demo = next(one for one in pools["clarify"] if len(one["interpretations"]) > 1)
print("question:", demo["question"])
for reading in demo["interpretations"]:
    print("reading: ", reading["question"], "→", reading["answer"], f"[{reading['pid']}]")
print("answer:  ", demo["answer"][:120], "…")
print("passages:", [passage.split(" | ")[0] for passage in demo["passages"]])

# %% [markdown]
# A *predictor* is a step of a program that calls the language model. `rac` has one, `clarify`, which gets a pool of demos with
# the fields of its signature.
#
# ## Bootstrapped
#
# If some step has no labels, let the program make its own demos: run it on the training questions and keep the runs
# with a good score. What each predictor said in such a run becomes a demo. This is DSPy's bootstrapping
# ([Khattab et al. 2023](https://arxiv.org/abs/2310.03714)); the *threshold* says how good a run must be.
#
# Has our program good runs? It depends on whom you ask. (These are the dev runs, which we have already; training questions would show the
# same.)

# %%
for measure, metric in METRICS.items():
    scores = [metric(one.to_example(), result) for one, result in zip(dev, RESULTS["no demos"], strict=True)]
    print(f"{measure}: {sum(value >= 0.5 for value in scores)} of {len(dev)} runs score at least 0.5")

# %% [markdown]
# By the F1 of the answers most runs are good, by DR few: DR does not look at readings at all, F1 not at the long answer. **What the
# metric does not see, the demos may contain.**
#
# Where a program is not good enough to begin, a **teacher** answers the training questions: a larger model, or the same
# one with other demos. polyqa ships such a program, `rac-homonyms-local`, with five demos for this model. Its runs are judged by DR.
# DSPy's `BootstrapFewShot` stops after four good ones.

# %%
from polyqa.optimizers.leave_one_out import leave_one_out

fixed = polyqa.load("rac-homonyms-local", index=index)
enough = AnswerMetric(METRICS["dr"].reader, measure="dr", threshold=0.5)
tried = []


def good(example, prediction, trace=None):
    """Say whether a run may become a demo, and note it."""
    tried.append((example.question, enough(example, prediction, trace)))
    return tried[-1][1]


optimizer = dspy.BootstrapFewShot(metric=good, max_bootstrapped_demos=4, max_labeled_demos=0)
with dspy.context(lm=lm), leave_one_out(train):  # see "The trap" below
    bootstrapped = optimizer.compile(rac, teacher=fixed, trainset=[question.to_example() for question in train])
for question, kept in tried:
    print("*" if kept else " ", question)
DR["bootstrapped"] = score("bootstrapped", bootstrapped)

# %% [markdown]
# DR is higher and F1 is not; whether that is more than chance comes later. The instruction is the same. The demos are new, and with
# them the form that is asked for: lines in place of JSON (lesson 2). A star marks the four runs that became demos. Look at one: the
# teacher wrote it, not a person. The readings all ask the same, and the last answer is that of another question.

# %%
own = max(bootstrapped.clarify.demos, key=lambda one: len(one["interpretations"]))
print(own["question"])
for reading in own["interpretations"]:
    print("   ", reading.question, "→", reading.answer)

# %% [markdown]
# ## Nearest, or fixed
#
# With **fixed** demos every prompt shows the same ones. With **nearest** demos (kNN) the whole pool is kept, and every
# prompt shows the few whose questions are most similar to the one that is asked. Tree of Clarifications
# ([Kim et al. 2023](https://arxiv.org/abs/2310.14696)) and DIVA ([In et al. 2024](https://arxiv.org/abs/2409.02361)) show the
# nearest; [Liu et al. 2021](https://arxiv.org/abs/2101.06804) saw that similar examples teach more.

# %%
from polyqa.optimizers.prompts import picked_demos
from polyqa.programs import set_knn_demos

nearest = polyqa.load("rac", index=index)
set_knn_demos(nearest, pools, k=5)

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

# %%
DR["nearest"] = score("nearest", nearest)

# %% [markdown]
# People wrote these demos, and some ask for the same kind of thing. Now the shipped program itself. Its five demos are labels, too, drawn
# from the same pool with a seed, but so that four of the five have **several readings**. (To fix demos of your own, call
# `set_knn_demos` with `k=None`.)

# %%
print([len(one["interpretations"]) for one in fixed.clarify.demos], "readings in each of its demos")
DR["fixed"] = score("fixed", fixed)

# %% [markdown]
# ## The number that rose
#
# All four answered the same questions, so they are compared in pairs (lesson 6): the mean of the differences, and its 95%
# interval from drawing questions again and again. (Differences are rounded last.)

# %%
from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.statistics import compare


def paired(before, after):
    """Return the difference of two lists of scores, with its interval."""
    return compare(COLUMNS["f1_answer"], [before], [after], seed=0)  # the column only says: a plain mean


fig, ax = plt.subplots(figsize=(6.5, 2.6))
for name, values in DR.items():
    against = paired(DR["no demos"], values)
    print(f"{name:14} {100 * sum(values) / len(values):5.1f}", "" if name == "no demos" else against)
    ax.barh(name, 100 * sum(values) / len(values), color="C0")
ax.invert_yaxis()
ax.set(xlabel="DR", xlim=(0, 100))
plt.show()
print("fixed against nearest:", paired(DR["nearest"], DR["fixed"]))
for split in ("dev", "test"):
    gain = getattr(read_artifact("rac-homonyms-local").card, f"{split}_gain")
    before, after = gain.before.value, gain.after.value
    print(f"fixed, all {gain.before.n} of {split}, DR of the means: {before:.1f} → {after:.1f}", end=", ")
    print(f"{gain.difference:+.1f} [{gain.low:+.1f}, {gain.high:+.1f}]")

# %% [markdown]
# - Every way has a higher DR than no demos, but only with the nearest ones the interval is above zero: 27 questions are few. Of the fixed
#   ones the card of the shipped program says more (last lines; it scores what the program itself returns): the gain cannot be told from
#   chance on all of dev, nor on the 72 test questions. Lessons 6 and 11 say how many questions it takes.
# - Which demos are best is not known: so few questions cannot tell fixed from nearest ones. [What recipes
#   gained](../docs/reference/gains.md) has the same ways on all test questions, and several draws of fixed demos.
# - The prompts have become twice as long, but with demos of labels the replies are a third shorter. And fixed demos
#   are a beginning that all prompts share, which a server reads once (lesson 9).
# - F1 of the answers rose with fixed demos, hardly with the nearest ones, with bootstrapped ones not at all; it has no interval here. So
#   the two measures do not agree which way is best.
#
# All this is of one model. Another one learns something else from demos: measure with the model that you will use.

# %% [markdown]
# ## The trap: a question that sees its own answer
#
# If you score a program on the questions that its demos were made from, every question finds itself in its prompt, with the
# answer. While compiling, polyqa leaves out a question's own demos; if you score by hand, you have to do this yourself. Twelve
# *training* questions, all with several readings and so harder than dev, first as one might do it, then without their own demos:

# %%
asked = [question for question in train if len(question.readings) > 1][:12]
print("asked:  ", asked[0].question)
print("nearest:", picked_demos(nearest, asked[0].question)["clarify"][-1]["question"], "\n")
leaking = score("with its own", nearest, asked)
with leave_one_out(train):
    honest = score("without", nearest, asked)
print("\nthe leak is worth", paired(honest, leaking))

# %% [markdown]
# ## Saving
#
# polyqa's nearest demos are part of the predictor, so they are saved with the program (those of DSPy's `KNNFewShot` are not):

# %%
nearest.save("mine.json")
again = polyqa.load("rac", index=index, demos="mine.json")
print(len(again.clarify.demos), "demos,", again.clarify.k, "of them in each prompt")

# %% [markdown]
# The command line does all this and keeps a record: `polyqa compile --program rac --recipe knn --lm local --out compiled/mine`, and
# `polyqa ask QUESTION --program compiled/mine --show-prompts` shows what was picked. `polyqa programs --recipes` lists the ways to compile.

# %% [markdown]
# ## With a real language model
#
# Two questions, with and without demos, by a model of yours.

# %%
LM = os.environ.get("POLYQA_LESSON_LM")
if LM:
    lm = polyqa.language_model(LM)
    for name, program in (("no demos", rac), ("nearest", nearest)):
        score(f"{name}, {LM}", program, dev[:2])
else:
    print("Skipped: POLYQA_LESSON_LM names no language model.")

# %% [markdown]
# ## Exercises
#
# 1. How do tokens grow with `k`, the number of nearest demos (`nearest.clarify.set_k(k)`)? The embedded engine (`polyqa.embedded_lm()`)
#    counts them as well: try 1, 2, 4 and 8 nearest demos on one question.
# 2. On which questions did the nearest demos win against the fixed ones, and on which did they lose? Read both answers of one.
# 3. Which dev question has the *least* similar nearest demo? Did demos help it?

# %% [markdown]
# ## Solutions
#
# **1.** From two demos on, each takes some 150 tokens. polyqa sends the passages of one demo only, which shows how sources are cited;
# with those of all, each would take several times as many.

# %%
for k in (1, 2, 4, 8):
    nearest.clarify.set_k(k)
    print(k, "demos:", polyqa.ask(ASKED[0], program=nearest, lm=polyqa.embedded_lm()).input_tokens, "tokens in")
nearest.clarify.set_k(5)

# %% [markdown]
# **2.** Nearly as many won as lost: that is what an interval around zero looks like. On the question that they lost by most both tell
# of one film alone: the fixed demos led to the days of its first showings, the nearest ones to the year.

# %%
gains = DR["nearest"] - DR["fixed"]
print((gains > 0).sum(), "won,", (gains < 0).sum(), "lost,", (gains == 0).sum(), "the same")
for at in gains.argsort():
    if gains[at]:
        print(f"{gains[at]:+.2f} {dev[at].question}")
at = gains.argmin()
print()
print(dev[at].question)
for name in ("fixed", "nearest"):
    print(f"   {name:8}", RESULTS[name][at].answer)

# %% [markdown]
# **3.** Nearest and fixed demos helped all the same, bootstrapped ones did not. Demos that are far away say nothing about the question,
# but perhaps show the form; one question cannot say.

# %%
similar = [picked_demos(nearest, question.question)["clarify"][-1]["similarity"] for question in dev]
at = similar.index(min(similar))
print(dev[at].question, f"| the nearest demo has {similar[at]:.2f}")
print("DR:", {name: round(float(values[at]), 2) for name, values in DR.items()})
