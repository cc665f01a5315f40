# ---
# jupyter:
#   polyqa:
#     title: A small model
#     minutes: 20
#     learns: see what a grammar, five demos and another program change for a real model, and what they do not
# ---

# %% [markdown]
# # Lesson 9: A small model
#
# This lesson looks closely at the replies of a real language model, a small one: Qwen2.5-Coder-1.5B, which fits into 3 GB of memory
# and runs on an ordinary processor (`polyqa model pull`, then `--lm local`).
#
# After this lesson you can
#
# - recognize how a small model fails at a prompt that a large one understands;
# - say what a grammar changes, and with a figure and its interval what demos change;
# - shape a program for a small model: short questions, and the probability of Yes instead of the word.
#
# The replies were **recorded**: every request is stored with its reply, and a replay gives the same replies without the model.
# So you need neither the model nor the hours that it took, and you get the same figures. A cell near the end asks a live model.

# %% [markdown]
# ## Eighteen questions
#
# `rac-homonyms-local` is a compiled program that polyqa ships: `rac` (lesson 1) with five demos for this model. Beside its card
# are the replies, before and after compiling, to all dev and test questions. Let us ask 18 test questions again. (Once you have read
# test questions, you must not use them to improve a program. Here we only look.)

# %%
import dspy

import polyqa
from polyqa.artifacts.store import read_artifact

dspy.disable_logging()  # DSPy reports replies that broke off; we shall look at them
shipped = read_artifact("rac-homonyms-local").path
lm = polyqa.recorded(shipped / "replies.jsonl.gz")
index = polyqa.open_index("homonyms")
rac = polyqa.load("rac", index=index)
by_id = {question.id: question for question in polyqa.Questions("homonyms/test").asked}
FEW = """cromwell-film-charles little-women-jo little-women-2019-oscar hyde-park-president colorado-river-dam-lake
    columbia-which-university notre-dame-architect cricket-world-cup-shrubsole eurovision-loreen-song eurovision-sweden-where
    prohibition-iceland-legal prohibition-utah driving-side-when republic-second saturn-console-out saturn-rings curie-nobel
    curie-curium-number"""
TEST = [by_id[one] for one in FEW.split()]
print(lm.model, "answers", len(TEST), "questions with", sum(len(one.readings) for one in TEST), "readings")

# %% [markdown]
# ## The plain prompt
#
# The prompt is that of lesson 2: an instruction, the fields, passages, a question. Readings are asked for in a form that a small model
# knows: JSON, for each reading the number of the passage, then the short answer, then the question that it answers. Here are three
# replies, as they came.

# %%
plain = {one.id: polyqa.ask(one.question, program=rac, lm=lm) for one in TEST}
THREE = ["eurovision-loreen-song", "republic-second", "hyde-park-president"]
for name in THREE:
    print(f"──── {by_id[name].question} ({plain[name].output_tokens} tokens)")
    print(plain[name].calls[0].reply)
    print("passages:", [passage.title for passage in plain[name].passages], "\n")

# %% [markdown]
# In the first two replies every short answer stands in the passage that it names, in the third only the first: the other passages do not
# mention Roosevelt. And you see three more ways to fail, and will meet them with every model of this size:
#
# - it **finds something everywhere**: the passage on the song *Hallelujah* says nothing of Loreen, and gets a reading all the same;
# - each reading is **the same question again**: nothing says that one is about Spain and the next about France;
# - the **long answer forgets** readings that the model wrote just before.
#
# How often?

# %%
from polyqa.lm.adapter import LeanAdapter


def count(results):
    """Print what the replies are like."""
    told = [LeanAdapter().parse(rac.clarify.signature, one.calls[0].reply) for one in results.values()]
    same = sum(
        one.question == asked.question
        for asked, reply in zip(TEST, told, strict=True)
        for one in reply["interpretations"]
    )
    several = [reply for reply in told if len(reply["interpretations"]) > 1]
    whole = sum(all(one.answer in reply["answer"] for one in reply["interpretations"]) for reply in several)
    print(f"{sum(len(reply['interpretations']) for reply in told)} readings, {same} of them the user's question again")
    print(f"{len(several)} replies have several readings; {whole} of their long answers tell the short answers of all")
    print("words in a long answer:", round(sum(len(reply["answer"].split()) for reply in told) / len(told)))


count(plain)

# %% [markdown]
# ## What a grammar changes
#
# Every reply could be read into fields. That is the work of a **grammar**: while the model writes, every token that
# would break the form is forbidden, and the model has to take another one. polyqa makes the grammar from the signature and the
# passages of the call, and gives it to models that it runs itself.

# %%
from polyqa.base.values import render_passages
from polyqa.lm.fields import for_small_models
from polyqa.lm.grammar import reply_grammar

found = plain[THREE[0]]
inputs = {"passages": render_passages(found.passages), "question": by_id[THREE[0]].question}
grammar = reply_grammar(for_small_models(rac.clarify.signature), inputs)
for line in grammar.splitlines():
    print(line if len(line) < 250 else f"{line[:170]} … {line[-30:]}")

# %% [markdown]
# Read the first lines (the second is cut in the middle): two headers; below the first one a list of none or at most six objects, each
# with the number of a passage that exists, a short answer of at most 15 words and a question that ends in `?`. A long answer has at most
# 250 words. Every reply has the form, every source exists, every list ends.
#
# But a grammar gives **form, not sense**. The form has a place for a passage, so the model puts one there; it cannot say whether the
# passage answers the question.

# %% [markdown]
# ## What five demos change
#
# The recipe `labeled-few-shot` put five worked examples between the instruction and the question, the same for every question.
# The instruction is the same, word for word. But one more thing changes: without demos polyqa asks this model for JSON, with demos for
# lines, as the demos write them (lesson 2). So what follows compares demos *with their form* against neither.

# %%
compiled = polyqa.load("rac-homonyms-local", index=index)
for demo in compiled.clarify.demos:
    print(demo["question"], "→", [reading["answer"] for reading in demo["interpretations"]])

# %%
demos = {one.id: polyqa.ask(one.question, program=compiled, lm=lm) for one in TEST}
for name in THREE:
    print(f"──── {by_id[name].question} ({demos[name].output_tokens} tokens)")
    print(demos[name].calls[0].reply, "\n")
count(demos)

# %% [markdown]
# Fewer readings, in the form of the demos, and answers twice as long. Eight of 16 now tell all their readings, eight of 18 did before: no
# difference to speak of. And not all of it is true: read the replies again, against the passages.
#
# Now the figures. **F1 of the answers** compares the short answers of the readings with those that people wrote
# ([Min et al. 2020](https://arxiv.org/abs/2004.10645)); **DR** looks at the long answer only (lesson 3). Both programs answered the
# same questions, so they are compared in pairs (lesson 6).

# %%
from polyqa.evaluation.comparison import compare_runs

METRICS = {"f1_answer": "F1 of answers", "dr": "DR", "str_em": "STR-EM of the long answer"}
models = polyqa.Models(lm=lm, judge=None)
questions = polyqa.Questions(TEST, name="18 of homonyms/test")
runs = {
    name: polyqa.evaluate(program, questions, models=models, folder=name, threads=1)
    for name, program in (("plain", rac), ("demos", compiled))
}
gain = compare_runs(runs["plain"], runs["demos"]).metrics
for metric, label in METRICS.items():
    one = gain[metric]
    print(f"{label:26} {one.a:5.1f} → {one.b:5.1f}  {one!s:22} p {one.p:.4f}; {one.wins} won, {one.losses} lost")

# %% [markdown]
# - Each interval reaches from far below zero to far above: 18 questions cannot tell whether demos help or harm. Lesson 11 asks all 72
#   test questions.
# - What one can see is **form**: readings as lines, and longer answers. Nothing here shows that the model reads passages better, or
#   knows which of them the question can mean.
# - Say which metric you mean when you report a gain, and give all that you looked at. Here DR is higher and F1 lower, and neither can be
#   told from chance.
#
# ## What a fixed beginning saves
#
# Demos make prompts longer. But a server that stores what it has read need not read the same beginning twice. The recording
# says how many tokens of each prompt were stored already:

# %%
from polyqa.lm.reply_file import Recording


def tokens(recording, chosen):
    """Return the means of tokens: of the prompt, of those read anew, of the reply."""
    asked = [record for record in recording if any(one.question in str(record.request.messages[-1]) for one in TEST)]
    used = [record.usage for record in asked if chosen(record.request.messages)]
    read = [one["input_tokens"] for one in used]
    anew = [one["input_tokens"] - one.get("cache_read_tokens", 0) for one in used]
    written = [one["output_tokens"] for one in used]
    return [sum(numbers) / len(numbers) for numbers in (read, anew, written)]


recording = Recording(shipped / "replies.jsonl.gz")
price = {
    "plain": tokens(recording, lambda messages: len(messages) == 2),
    "demos": tokens(recording, lambda messages: len(messages) > 2),
}
print(f"{'':6} prompt  read anew  written")
for name, (read, anew, written) in price.items():
    print(f"{name:6} {read:6,.0f} {anew:10,.0f} {written:8,.0f}")
common = price["plain"][0] - price["plain"][1]
print(f"with other demos each time: {price['demos'][0] - common:,.0f} read anew")

# %% [markdown]
# The prompt with demos is more than twice as long, but only a fifth more of it is read anew, and the reply is a quarter shorter: with
# demos a question takes no more work. This holds for demos that are the same for every question. The nearest demos of each question (`knn`)
# differ each time, so only the instruction would be stored; that is the last line. And if a hosted model has no such cache, you
# pay for the longer prompt in full.
#
# ## A program for small models
#
# A small model cannot read five passages, find all readings, word them, answer and cite in one reply. `spanwise` takes the
# work apart:
#
# 1. polyqa's span reader (22 million parameters) marks up to three pieces of each passage that may answer.
# 2. The model is asked about **each piece alone** whether the question can mean it: Yes or No.
# 3. It words what is likely right, in one short reply. Of the less likely pieces the sentence is quoted.
#
# Here is one of the calls of step 2.

# %%
from polyqa.lesson_files import lessons_home

spanned_lm = polyqa.recorded(lessons_home() / "spanwise.jsonl.gz")
spanwise = polyqa.load("spanwise", index=index)
spans = {one.id: polyqa.ask(one.question, program=spanwise, lm=spanned_lm) for one in TEST}
example = spans["hyde-park-president"]
(call,) = [one for one in example.calls if one.messages[-1]["content"].endswith("| Franklin D. Roosevelt")]
print(call.messages[0]["content"], "\n…")
for message in [*call.messages[-3:], {"role": "reply", "content": call.reply}]:
    print(f"──── {message['role']}\n{message['content']}")
print(len(example.calls), "calls")

# %% [markdown]
# ## Yes, but how sure?
#
# A small model says Yes too readily. But *how sure* it is of its Yes tells something. The probability of the token is part of the
# reply, so we need not ask again. Let us take every piece of the 18 questions. It counts as right if it is one of the answers
# that people wrote down.

# %%
import matplotlib.pyplot as plt

from polyqa.lm.probabilities import probability_of_yes
from polyqa.metrics.exact_match import exact_match

pieces = []
with dspy.context(lm=spanned_lm, adapter=LeanAdapter()):
    for one in TEST:
        gold = [answer for reading in one.readings for answer in reading.short_answers]
        for finding in spanwise.mark(one.question, spans[one.id].passages):
            reply = spanwise.verify(question=one.question, finding=finding.render())
            pieces.append(
                (one.id, finding, probability_of_yes(reply, reply.holds), exact_match(finding.answer, gold) == 1)
            )

right, wrong = ([yes for *_, yes, is_right in pieces if is_right is wanted] for wanted in (True, False))
for name, values in (("right", right), ("wrong", wrong)):
    said = sum(yes > 0.5 for yes in values)
    print(
        f"{name}: {len(values)} pieces, Yes to {said} ({100 * said / len(values):.0f}%), mean {sum(values) / len(values):.2f}"
    )
ahead = sum((a > b) + 0.5 * (a == b) for a in right for b in wrong) / (len(right) * len(wrong))
print(f"a right piece has more than a wrong one in {100 * ahead:.0f}% of all pairs")
fig, ax = plt.subplots(figsize=(6.5, 2.8))
ax.hist([right, wrong], bins=20, range=(0, 1), stacked=True, label=["right", "wrong"], color=["C2", "0.75"])
ax.set(xlabel="probability of Yes", ylabel="pieces")
ax.legend()
plt.show()

# %% [markdown]
# The word alone would keep every piece above 0.5. `spanwise` adds up what it knows: the probability, the passage's score, and how sure
# the span reader is. A logistic regression on dev questions said how much each counts. So it can keep the likely pieces, and mark the
# doubtful ones as *less certain*.

# %%
chosen = [piece for piece in pieces if piece[0] == "hyde-park-president"]
for _, finding, yes, is_right in sorted(chosen, key=lambda piece: -piece[1].probability(piece[2])):
    print(f"{finding.probability(yes):.2f}  P(Yes) {yes:.2f}  {finding.answer[:44]:46}{'right' if is_right else ''}")
print(example.answer)

# %% [markdown]
# ## The same model, three ways to ask
#
# Now all three on the same 18 questions:

# %%
runs["spanwise"] = polyqa.evaluate(
    spanwise, questions, models=polyqa.Models(lm=spanned_lm, judge=None), folder="spanwise", threads=1
)
figures = {name: run.summarized() for name, run in runs.items()}
for metric, label in METRICS.items():
    print(f"{label:26}", "  →  ".join(f"{name} {own[metric]}" for name, own in figures.items()))
print()
last = {name: compare_runs(runs[name], runs["spanwise"]).metrics for name in ("plain", "demos")}
for name, differences in last.items():
    for metric, label in METRICS.items():
        print(f"spanwise against {name}: {label:26} {differences[metric]!s:22} p {differences[metric].p:.4f}")

fig, ax = plt.subplots(figsize=(6.5, 3.2))
for shift, metric in enumerate(("f1_answer", "dr")):
    values = [own[metric] for own in figures.values()]
    errors = [[one.value - one.low for one in values], [one.high - one.value for one in values]]
    places = [at + 0.36 * shift for at in range(len(values))]
    ax.bar(places, [one.value for one in values], width=0.34, yerr=errors, capsize=3, label=METRICS[metric])
ax.set_xticks([at + 0.18 for at in range(len(figures))], ["plain prompt", "five demos", "spanwise"])
ax.set(ylabel="points, with 95% interval")
ax.legend(loc="upper left")
plt.show()

# %% [markdown]
# Against the plain prompt DR and STR-EM rise, against the demos STR-EM: the long answers hold more of what is right. For the rest
# 18 questions cannot tell the three apart. The model is the same in all three columns.
#
# And the price?

# %%
price["spanwise"] = tokens(Recording(lessons_home() / "spanwise.jsonl.gz"), lambda messages: True)
print(f"{'':9} calls  prompts  read anew  written   (tokens a question)")
for name, own in figures.items():
    calls = own["calls"].value
    print(
        f"{name:9} {calls:5.1f}"
        + "".join(f"{calls * count:{width},.0f}" for count, width in zip(price[name], (9, 11, 9), strict=True))
    )

# %% [markdown]
# Nine calls, and less work than one: each begins with the same examples, which are read once, and ends with a word. But with a
# provider that charges for every token of a prompt, it is the most expensive of the three. **A program is made for a model and
# for its price.**

# %% [markdown]
# ## Weights instead of examples
#
# Examples in the prompt are one way to teach a model. The other is to change it, which is called *fine-tuning*. polyqa ships weights that
# are added to this model for one call: beside each large matrix of the model stand two thin ones (LoRA), 15 MB in all against 1.1 GB.
# They were trained on 56,000 questions, each with a passage: to copy every answer that the passage gives, or to write `none`. So the
# model reads a passage a call, without examples; the span reader only says which passages are worth a call. `--lm local` does this; the
# recording above was made without. Here are its calls for one question, and then the same 18 questions:

# %%
trained_lm = polyqa.recorded(lessons_home() / "read.jsonl.gz")
copied = polyqa.ask(by_id["hyde-park-president"].question, program=spanwise, lm=trained_lm)
print("copied:", *sorted(call.reply for call in copied.calls[:-1]), sep="\n   ")
print(copied.answer)

runs["trained"] = polyqa.evaluate(
    spanwise, questions, models=polyqa.Models(lm=trained_lm, judge=None), folder="trained", threads=1
)
print()
for metric, label in METRICS.items():
    difference = compare_runs(runs["spanwise"], runs["trained"]).metrics[metric]
    print(f"{label:26} {runs['trained'].summarized()[metric]}, against examples {difference!s:22} p {difference.p:.4f}")
price["trained"] = tokens(Recording(lessons_home() / "read.jsonl.gz"), lambda messages: True)
for name in ("spanwise", "trained"):
    calls = runs[name].summarized()["calls"].value
    print(f"{name}: {calls:.1f} calls and {calls * price[name][0]:,.0f} tokens of prompts a question")

# %% [markdown]
# Half the calls and a quarter of the tokens. Of the three figures nothing can be told: 18 questions are few (lesson 11). The table of all
# 72 test questions in `lab/README.md` is clearer: nine of ten readings that polyqa tells are right, seven of ten with examples, and more of
# the gold ones are found. **Examples show a model the form of a task; training can teach it the task.** Training took 55,000 questions with
# passages and eight minutes on a large GPU, and then a thousand and an hour and a half on two cores;
# `polyqa/models/weights/read-passage/README.md` says how.

# %% [markdown]
# ## With a real language model
#
# The same three programs, live, on one question: `POLYQA_LESSON_LM=local` takes the model of this lesson, after
# `polyqa model pull`; expect some minutes on a laptop. Or name any other.

# %%
import os

LM = os.environ.get("POLYQA_LESSON_LM")
if LM:
    for name, program in (("plain", rac), ("demos", compiled), ("spanwise", spanwise)):
        live = polyqa.ask("Who founded Alexandria?", program=program, lm=LM)
        print(name, [reading.answer for reading in live.interpretations], f"{live.output_tokens} tokens written")
else:
    print("Skipped: POLYQA_LESSON_LM names no language model.")

# %% [markdown]
# ## Exercises
#
# 1. F1 of answers does not look at the *questions* of the readings. In how many replies with demos do several readings ask
#    the very same question? And with `spanwise`?
# 2. Keep only pieces with P(Yes) above a threshold. Is there one that keeps most of the right pieces and few of the wrong ones?
# 3. What happens if a request is not in the recording? Ask `rac` another question with `lm`, and read the error.

# %% [markdown]
# ## Solutions
#
# **1.** A metric that does not look at something cannot find it wrong. (Here readings are counted as `polyqa.ask` returns them, without
# those that it drops, so fewer replies have several.)

# %%
for name, results in (("demos", demos), ("spanwise", spans)):
    several = [result for result in results.values() if len(result.interpretations) > 1]
    double = sum(
        len({reading.question for reading in one.interpretations}) < len(one.interpretations) for one in several
    )
    print(f"{name}: {double} of {len(several)} replies with several readings ask the same question twice")

# %% [markdown]
# **2.** Go down from 1, and count. No threshold does: that is why the other two clues are needed.

# %%
for threshold in (0.95, 0.9, 0.8, 0.7, 0.6, 0.5):
    hits, false = (sum(yes >= threshold for yes in values) for values in (right, wrong))
    print(f"P(Yes) from {threshold:.2f} on: {hits} right, {false} wrong")

# %% [markdown]
# **3.** The error names the nearest recorded request and the first difference. So a recording shows every change of a prompt.

# %%
try:
    polyqa.ask("Who founded Alexandria?", program=rac, lm=lm)
except Exception as error:
    print(type(error).__name__, str(error)[:300], "…")
