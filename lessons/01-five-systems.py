# ---
# jupyter:
#   polyqa:
#     title: One ambiguous question, five systems
#     minutes: 20
#     learns: ask one question of five systems, read what each found, say what each cost
# ---

# %% [markdown]
# # Lesson 1: One ambiguous question, five systems
#
# *When did Titanic come out?* has no single answer: several things are called Titanic, and a film can come out at a
# festival first and in cinemas later. A complete answer tells these **readings** apart and answers each of them.
#
# After this lesson you can
#
# - ask a question and read the result: the answer, its readings, their sources;
# - explain in a sentence how each of five systems finds the readings;
# - say what a system costs, in calls and in tokens, and what you get for it.
#
# Everything runs on your computer without a key. The *embedded engine*, which finds and quotes answers with small models,
# takes the place of a language model. Some of its replies are clumsy. That is fine here: you will see the systems work, and near the
# end what a real language model makes of the question.

# %% [markdown]
# ## Ask
#
# The shipped corpus `homonyms` holds short passages about things that share their names. The program `rac`
# (retrieval-augmented clarification) is the simplest of the five: it retrieves the passages that are nearest to the
# question, and one call of the language model extracts the readings from them and writes the answer.

# %%
import polyqa

QUESTION = "When did Titanic come out?"
index = polyqa.open_index("homonyms")  # opened once, for all programs
rac = polyqa.load("rac", index=index)
result = polyqa.ask(QUESTION, program=rac)
result

# %% [markdown]
# Read it from the top. The text is the long answer; a number in brackets names the passage that says so. The table has the
# readings: each is a question that can be understood alone, with a short answer. Then come the passages; click to see those
# that are not cited. The last line has the calls and tokens.
#
# In Python these are fields:

# %%
print(result.answer[:100], "…")
for reading in result.interpretations:
    print(f"{reading.question}  →  {reading.answer}  [{reading.pid}]")
print(len(result.calls), "call,", result.input_tokens, "tokens in,", result.output_tokens, "tokens out")

# %% [markdown]
# ## Five ways to find the readings
#
# | program | how it finds the readings | paper |
# |---|---|---|
# | `rac` | reads them off the passages nearest to the question | baseline in [In et al. 2024](https://arxiv.org/abs/2409.02361) |
# | `diva` | guesses first what could be meant, searches for each guess, checks what was found, then answers | [In et al. 2024](https://arxiv.org/abs/2409.02361) |
# | `verdict` | asks each of many passages, alone, which reading it answers; keeps one of each cluster | [Lee et al. 2025](https://arxiv.org/abs/2502.10352) |
# | `toc` | clarifies the question, then each clarification again: a tree, whose bad branches are cut | [Kim et al. 2023](https://arxiv.org/abs/2310.14696) |
# | `sixpaq` | searches questions that were made from the corpus beforehand | [Sun et al. 2023](https://arxiv.org/abs/2308.08661) |
#
# All five search the same corpus. They differ in what they ask the language model, and how often.
#
# `sixpaq` needs questions that were made from the passages. For all 378 passages this takes some minutes
# (`polyqa questions build`); for those about a Titanic or a Perth, which are enough here, some seconds.

# %%
chosen = [passage.pid for passage in index.passages if "Titanic" in passage.title or "Perth" in passage.title]
polyqa.build_questions(index, pids=chosen, out="questions-of-lesson-1", overwrite=True)

SYSTEMS = ["rac", "diva", "verdict", "toc", "sixpaq"]
programs = {name: polyqa.load(name, index=index) for name in SYSTEMS if name != "sixpaq"}
programs["sixpaq"] = polyqa.load("sixpaq", index=index, questions="questions-of-lesson-1")
results = {name: polyqa.ask(QUESTION, program=program) for name, program in programs.items()}

answers = sorted({reading.answer for found in results.values() for reading in found.interpretations})
print(f"{'':20}" + "".join(f"{name:>9}" for name in SYSTEMS))
for answer in answers:
    told = [answer in {reading.answer for reading in results[name].interpretations} for name in SYSTEMS]
    print(f"{answer:20}" + "".join(f"{'yes' if one else '–':>9}" for one in told))

# %% [markdown]
# Each row is one answer, each column one system. (A dash would mean that the system did not find this answer, or that it is much less
# sure of it than of another one: then the answer tells it last, as *less certain*.) Here all five found the same four answers, in
# different ways and with different numbers of calls. The next cells show these ways.
#
# ### DIVA: guess, search, verify
#
# DIVA names the kind of ambiguity and writes *pseudo-interpretations*: guesses, made before any passage was read.

# %%
diva = results["diva"]
print("kind:", *[kind.value for kind in diva.extra["ambiguity"]])
for guess, verified in zip(diva.extra["pseudo_interpretations"], diva.extra["verdicts"], strict=True):
    print(f"{'answered' if verified else 'not answered':14}{guess}")
print("coverage:", diva.coverage)

# %% [markdown]
# The guesses only steer the search and the check: the readings of the answer come from passages. Compare the guesses
# with the table above. The embedded engine has no knowledge of the world. It guesses common kinds of things that share a
# name, and its check is too lenient. A real language model knows which Titanics there are.
#
# ### VERDICT: every passage is asked
#
# VERDICT asks twenty passages, each in a call of its own. A passage that does not answer the question abstains. Here are
# the replies for the passages about a Titanic:

# %%
verdict = results["verdict"]
said = {}
for call in verdict.calls:
    passage = call.messages[-1]["content"].partition("## passage\n")[2]
    said[passage.partition(" | ")[0]] = call.reply.replace("## ", "").split("\n")
for title in sorted(title for title in said if "Titanic" in title):
    print(f"{title:20}", *said[title], sep="  ")
print("passages that abstained:", verdict.extra["abstained"], "of", len(verdict.extra["universe"]))

# %% [markdown]
# `null` means that the passage abstains. The passage about the film of 1943 abstains although it mentions a first showing: the
# engine is not sure enough that this answers the question. If each passage is asked alone, no passage can hide another.
#
# ### Tree of Clarifications: clarify again
#
# The tree clarifies the question, then tries to clarify each clarification.

# %%
toc = results["toc"]


def draw(node, indent=0):
    print("   " * indent + node.question, "→ " + node.answer if node.answer else "", f"({node.status.value})")
    for child in node.children:
        draw(child, indent + 1)


draw(toc.extra["tree"])

# %% [markdown]
# Only this system has a second level: readings of a reading. The film of 1997 came out at a festival and, later, in cinemas. (polyqa is
# less sure of the festival, so it is not in the table.)
#
# ### SIXPAQ: questions made beforehand
#
# Questions were made from the passages beforehand. Each was checked: does a *reader*, a small model that finds answers in a
# text, give the answer that the question was written for? SIXPAQ finds the questions that are similar to yours:

# %%
for found in results["sixpaq"].extra["questions"][:6]:
    print(f"{found.score:.2f}  {found.question}  →  {', '.join(found.answers)}")

# %% [markdown]
# The embedded engine wrote them, so some sound odd and some are wrong. Here it kept none of them as a reading of your question, so SIXPAQ
# read the passages as `rac` does, after one call more. With `polyqa questions build --lm …` a language model writes them, once for all
# later questions.
#
# ## What it costs
#
# A call is one request to the language model; tokens (pieces of words) are what providers charge for. The picture compares what
# a system read with what it found.

# %%
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(7, 2.8))
for name, found in results.items():
    taken = found.input_tokens + found.output_tokens
    calls = f"{len(found.calls)} call{'s' * (len(found.calls) > 1)}"
    ax.barh(name, taken, color="C0")
    ax.annotate(f" {len(found.interpretations)} readings, {calls}", (taken, name), va="center")
ax.invert_yaxis()
ax.set(xlabel="tokens, in and out", title=QUESTION)
ax.margins(x=0.4)
plt.show()

# %% [markdown]
# One question proves nothing. It only shows what a difference can look like: more calls may find a finer reading, or only cost more, as
# here. Lesson 3 measures answers, lesson 6 shows how many questions a comparison needs.
#
# ## The program that decides: `auto`
#
# Many questions are not ambiguous in a given corpus, and a list of readings would only annoy. `auto` looks at the passages
# first. It gives one answer if the corpus has one, and does what DIVA does if it has several.

# %%
auto = polyqa.load("auto", index=index)
PLAIN = "Who wrote the music of the musical Titanic?"
for question in (PLAIN, QUESTION):
    found = polyqa.ask(question, program=auto)
    print(question, "→", found.extra["answers"], f"({len(found.calls)} calls)")

# %% [markdown]
# ## With a real language model
#
# Qwen2.5-Coder-1.5B is a small language model that runs on a laptop. Its replies to the question were recorded, so you need no model. (For
# another one, name it in the environment variable `POLYQA_LESSON_LM`, as for `polyqa ask --lm`: `openai/gpt-4o-mini`,
# `ollama_chat/llama3.1`; the key is in the provider's own variable. Then run the cell again.) Three programs are asked: `rac`, the same
# after *compiling*, and `spanwise`, which was made for small models.

# %%
import os

from polyqa.lesson_files import lessons_home

os.environ.setdefault("POLYQA_PRECISION", "float32")  # as when the replies were recorded: prompts have to be the same
LM = os.environ.get("POLYQA_LESSON_LM")
small = LM or polyqa.recorded(lessons_home() / "first.jsonl.gz")
REAL = {}
for name in ("rac", "rac-homonyms-local", "spanwise"):
    REAL[name] = polyqa.ask(QUESTION, program=polyqa.load(name, index=index), lm=small)
    print(f"{name}: {len(REAL[name].calls)} calls, {REAL[name].output_tokens} tokens written")
    print("   ", [reading.answer for reading in REAL[name].interpretations])

# %% [markdown]
# With `rac` this model tells four readings; the one of 1912 is when the ship sank. Compiling changed nothing but the prompt, which now
# begins with five worked examples: now the model tells the musical, too, and 1985, when the wreck was found. `spanwise` asks it little
# at a time, and keeps to the words of the passages; the first showing of 1997 and the opening in cinemas are two readings. How to compile,
# and how to know whether it helped, is what the next lessons are about.

# %% [markdown]
# ## Exercises
#
# 1. Give `rac` fewer passages: `polyqa.load("rac", index=index, passages=2)` makes such a program. Which readings are lost, and why
#    these?
# 2. Ask all five *What river runs through Perth?* How many readings does each system find, and at what price?
# 3. Find a question about the corpus on which `rac` and `verdict` differ. `polyqa.Questions("homonyms/dev").asked` has
#    questions to try.

# %% [markdown]
# ## Solutions
#
# **1.** Only readings in the two nearest passages can be found.

# %%
two = polyqa.ask(QUESTION, program=polyqa.load("rac", index=index, passages=2))
print([passage.title for passage in two.passages])
print([reading.answer for reading in two.interpretations])

# %% [markdown]
# **2.** The corpus names the rivers of three towns called Perth (Tay, Swan and South Esk). All five tell one of them, with one call or
# with twenty-two: more calls do not always find more.

# %%
for name, program in programs.items():
    found = polyqa.ask("What river runs through Perth?", program=program)
    print(f"{name:8} {len(found.calls):3} calls", [reading.answer for reading in found.interpretations])

# %% [markdown]
# **3.** A loop over some questions finds one. Where they differ, read the passages in `found.passages` to see who is right.

# %%
for question in polyqa.Questions("homonyms/dev").asked[8:10]:
    print(question.question)
    for name in ("rac", "verdict"):
        found = polyqa.ask(question.question, program=programs[name])
        print(f"   {name:8}", sorted(reading.answer for reading in found.interpretations))
