# ---
# jupyter:
#   polyqa:
#     title: What the model is really sent
#     minutes: 25
#     learns: find every part of a signature in the prompt, compare two adapters, count what a question costs
# ---

# %% [markdown]
# # Lesson 2: What the model is really sent
#
# Nobody writes prompts in polyqa. A prompt is rendered from a **signature** (typed fields and an instruction) by an
# **adapter**. This lesson looks at the text that comes out, because that text is what a language model answers, and what
# you pay for.
#
# After this lesson you can
#
# - read a signature, and find each of its parts in the messages that are sent;
# - say what an adapter does, and compare two of them in tokens;
# - see what a question costs before you send anything.

# %% [markdown]
# ## One call, word by word
#
# A result keeps its calls: the messages that were sent, and the reply. The model is Qwen2.5-Coder-1.5B, a small one (lesson 9). Its
# replies were *recorded*, so you need no model and no key.

# %%
import os

os.environ.setdefault("POLYQA_PRECISION", "float32")  # as when the replies were recorded: prompts have to be the same

import polyqa
from polyqa.lesson_files import lessons_home

QUESTION = "Who founded Alexandria?"
lm = polyqa.recorded(lessons_home() / "sent.jsonl.gz")
index = polyqa.open_index("homonyms")
rac = polyqa.load("rac", index=index, passages=2)
result = polyqa.ask(QUESTION, program=rac, lm=lm)

call = result.calls[0]
for message in call.messages:
    print(f"──── {message['role']}\n{message['content']}\n")
print(f"──── reply\n{call.reply}")

# %% [markdown]
# There are two messages. The *system* message says what to do, what is given, and how to write the reply. It is the same for
# every question. The *user* message has only this question and its passages. The common part comes first because providers
# charge less for a beginning that they have seen before.
#
# The reply has the right headers and the right form: a *grammar* lets this model write nothing else.
#
# `polyqa ask … --show-prompts` shows the same in the terminal.
#
# ## The signature
#
# The words come from a class. Its docstring is the instruction; its fields have names, types and descriptions.

# %%
signature = rac.clarify.signature
print(signature.instructions, "\n")
for name, field in signature.fields.items():
    kind = field.json_schema_extra["__dspy_field_type"]
    print(f"{kind:6}  {name:16} {field.json_schema_extra['desc']}")

# %% [markdown]
# Find each line in the system message above. Compiling a program changes two things: the instruction, and the demos
# between the two messages. The fields stay the same. (For this small model, demos also change how a list is to be written: see *Demos
# are turns of a conversation*.)
#
# The output is typed: you get a list of readings, not a text.

# %%
import dspy

passages = polyqa.base.values.render_passages(result.passages)
with dspy.context(lm=lm):
    prediction = rac.clarify(question=QUESTION, passages=passages)
for reading in prediction.interpretations:
    print(type(reading).__name__, "|", f"{reading.question:.40} …", "|", f"{reading.answer:.40} …")

# %% [markdown]
# ## Two adapters
#
# The same signature with the same inputs, rendered by two adapters: DSPy's own `ChatAdapter`, and polyqa's `LeanAdapter`,
# which is the default here. Look at how each asks for the list of readings. (The lean adapter has two forms for lists. Small models get
# the JSON that you saw above; here is the other one, *lean lines*, for large models and for prompts with examples.)

# %%
adapters = {"ChatAdapter": dspy.ChatAdapter(), "LeanAdapter": polyqa.lm.adapter.LeanAdapter()}
inputs = {"question": QUESTION, "passages": passages}
rendered = {name: adapter.format(signature, [], inputs) for name, adapter in adapters.items()}
print(rendered["ChatAdapter"][0]["content"])
print("──── lean:", rendered["LeanAdapter"][0]["content"].splitlines()[-2])

# %% [markdown]
# `ChatAdapter` names every field three times and describes the list by a JSON schema. The lean adapter names each field once
# and describes the list in words. A **token** is a piece of a word; providers count them. Here are both prompts in tokens,
# without the passages, which are the same:

# %%
from polyqa.evaluation.tokens import tokenizer

tokens = tokenizer("openai/gpt-4o")


def count(messages):
    return sum(tokens.count(message["content"]) for message in messages)


same = sum(tokens.count(passage) for passage in passages)
for name, messages in rendered.items():
    print(f"{name:12} {count(messages) - same:5} tokens beside the {same} of the passages")

# %% [markdown]
# Is the shorter prompt the better one? Here is what the same small model makes of both. (Setting `takes_grammar` to False makes polyqa
# treat it as a large, hosted model, which gets the lean lines.)

# %%
for name, adapter in adapters.items():
    with dspy.context(lm=lm, adapter=adapter):
        lm.takes_grammar = False
        asked = polyqa.ask(QUESTION, program=rac, lm=lm)
        lm.takes_grammar = True
    print(f"──── {name}\n{asked.calls[0].reply[:700]}")

# %% [markdown]
# Asked for JSON it gives two short answers, one of them right; asked for lean lines it copied passages. A model that was trained on code
# knows JSON, and a field called `answer` tells it more than a place behind a `|`. (Its long answer, though, is the question.)
#
# ## The order of the fields
#
# A model writes one word after the other, and what it has written is a part of its prompt from then on. Here are two types of a reading,
# with the same fields in another order, in the same prompt:

# %%
from pydantic import BaseModel


class QuestionFirst(BaseModel):
    question: str
    short_answer: str
    passage: int


class AnswerFirst(BaseModel):
    passage: int
    short_answer: str
    question: str


for name, kind in {"question first": list[QuestionFirst], "answer first": list[AnswerFirst]}.items():
    fields = {
        "passages": (str, dspy.InputField(desc="numbered passages, title | text")),
        "question": (str, dspy.InputField(desc="a question that may be ambiguous")),
        "readings": (kind, dspy.OutputField(desc="as many distinct readings as the passages answer")),
    }
    predict = dspy.Predict(dspy.Signature(fields, signature.instructions))
    with dspy.context(lm=lm, adapter=adapters["ChatAdapter"]):
        for reading in predict(passages=passages, question=QUESTION).readings:
            print(f"{name:14} [{reading.passage}] {reading.short_answer}")

# %% [markdown]
# With the question first the model loses its way here. With the passage first it takes a sentence from that passage, and only then says
# which question this answers. So the form of the fields and their order are a part of the prompt like any other, for a small model
# above all. One question proves nothing (lesson 11 says how many do). But on a few other questions, with a grammar, the F1 of answers
# (lesson 3: 100 is the best) was 0 with the lean lines, 7 with the question first and 60 with the passage first (`lab/log.md`), so polyqa
# asks small models in the last way. Worked examples teach them the lean lines as well, as the end of this lesson shows.
#
# ## Replies in any form
#
# A real language model does not always keep to the form. Here is one reply in four forms. Which adapter reads which?

# %%
READINGS = [("Who founded Alexandria, Egypt?", "Alexander the Great"), ("Who founded Alexandria, Troas?", "Antigonus")]
as_json = str([{"question": question, "answer": answer} for question, answer in READINGS]).replace("'", '"')
lines = "\n".join(f"{number}. {question} | {answer}" for number, (question, answer) in enumerate(READINGS, 1))
LONG = "It depends on which Alexandria is meant."
DRESSES = {
    "lean": f"## interpretations\n{lines}\n\n## answer\n{LONG}",
    "chat": f"[[ ## interpretations ## ]]\n{as_json}\n\n[[ ## answer ## ]]\n{LONG}\n\n[[ ## completed ## ]]",
    "bold heads": f"**Interpretations:**\n{lines}\n\n**Answer:**\n{LONG}",
    "JSON in a fence": '```json\n{"interpretations": ' + as_json + f', "answer": "{LONG}"}}\n```',
}
for dress, reply in DRESSES.items():
    for name, adapter in adapters.items():
        try:
            read = adapter.parse(signature, reply)["interpretations"]
            told = f"{len(read)} readings"
        except Exception as error:
            told = f"not read ({type(error).__name__})"
        print(f"{dress:16} {name:12} {told}")

# %% [markdown]
# A reply that cannot be read costs a second call, so an adapter that reads more forms is also cheaper.
#
# ## Demos are turns of a conversation
#
# A demo is a worked example: inputs with the desired outputs. It is sent as a user message with the assistant's reply, as
# if the conversation had begun earlier. The shipped program `rac-homonyms-local` was compiled and has demos.

# %%
compiled = polyqa.load("rac-homonyms-local", index=index)
shown = polyqa.ask(QUESTION, program=compiled, lm=lm)
for message in shown.calls[0].messages:
    first = " ".join(message["content"].split())[:70]
    print(f"{message['role']:10} {tokens.count(message['content']):5} tokens   {first} …")
print(f"──── reply\n{shown.calls[0].reply}")

# %% [markdown]
# After five examples it writes short answers in the lean form, and one of the four is right. (polyqa then asks a small reader whether the
# passage supports each answer, and keeps only this one: lesson 7.) These five demos are sent with every question, so a server that stores
# the beginnings of prompts reads them only once. Other programs pick the demos nearest to each question; lesson 4 shows how.
#
# ## What a question costs
#
# `polyqa.cost` runs a program with the embedded engine in the place of the language model and counts every prompt. It
# sends nothing and needs no key. (In the terminal: `polyqa cost --program diva --lm openai/gpt-4o-mini`.)

# %%
few = polyqa.Questions("homonyms/dev", limit=2, seed=0)
costs = {name: polyqa.cost(name, few, index=index, lm="openai/gpt-4o-mini") for name in ("rac", "diva", "verdict")}
costs["rac-homonyms-local"] = polyqa.cost(compiled, few, lm="openai/gpt-4o-mini")
for name, cost in costs.items():
    print(
        f"{name:18} {cost.calls.mean:5.1f} calls  {cost.input_tokens.mean:6,.0f} tokens in  "
        f"{cost.output_tokens.mean:4,.0f} out  at most {cost.depth} round trips"
    )

# %%
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(7, 2.8))
left = dict.fromkeys(costs, 0.0)
for name in dict.fromkeys(step.step for cost in costs.values() for step in cost.steps):
    widths = [sum(step.input_tokens for step in cost.steps if step.step == name) for cost in costs.values()]
    ax.barh(list(costs), widths, left=list(left.values()), label=name)
    left = {name: left[name] + width for name, width in zip(costs, widths, strict=True)}
ax.invert_yaxis()
ax.set(xlabel="tokens in, for one question")
ax.legend(ncols=7, loc="upper center", bbox_to_anchor=(0.45, 1.18), frameon=False, fontsize="small")
plt.show()

# %% [markdown]
# Each colour is a step. Every call repeats the instructions, the format and passages. After compiling, the one step of `rac`
# costs more than twice as much, because its prompt shows demos. So there are three ways to save: fewer calls, shorter
# passages, fewer demos. Lessons 3 and 6 show how to check whether the answers are still as good.
#
# The idea of signatures and adapters is DSPy's ([Khattab et al. 2023](https://arxiv.org/abs/2310.03714)).

# %% [markdown]
# ## With a real language model
#
# The same prompt, with a reply of a language model. The first line says what the question would cost.

# %%
import os

LM = os.environ.get("POLYQA_LESSON_LM")
if LM:
    cost = polyqa.cost(rac, question=QUESTION, lm=LM)
    print(cost.input_tokens.mean, "tokens in,", cost.dollars.mean if cost.dollars else "unknown", "US dollars")
    print(polyqa.ask(QUESTION, program=rac, lm=LM).calls[0].reply)
else:
    print("Skipped: POLYQA_LESSON_LM names no language model.")

# %% [markdown]
# ## Exercises
#
# 1. Write a signature of your own with two inputs and two outputs, one of them a list, and render it with both adapters.
# 2. `rac` has another *preset*, a way to divide the work into calls. It is called `paper`: `polyqa.load("rac", index=index,
#    preset="paper")`. What does it send twice, and what does that cost?
# 3. Change the instruction of `rac` (`rac.clarify.signature = rac.clarify.signature.with_instructions("…")`). Which message changes?
#    polyqa knows the fields of a signature by a fingerprint, `signature_fingerprint(signature)` of `polyqa.artifacts.state`: does it
#    change?

# %% [markdown]
# ## Solutions
#
# **1.** One adapter describes the type of the list by a schema, the other in words.


# %%
class Facts(dspy.Signature):
    """List the facts of the text that answer the question."""

    text: str = dspy.InputField(desc="a paragraph")
    question: str = dspy.InputField(desc="about the text")
    facts: list[str] = dspy.OutputField(desc="one sentence each")
    enough: bool = dspy.OutputField(desc="whether they answer it")


for name, adapter in adapters.items():
    system = adapter.format(Facts, [], {"text": "…", "question": "…"})[0]["content"]
    print(f"──── {name}, {tokens.count(system)} tokens\n{system}\n")

# %% [markdown]
# **2.** Two calls instead of one: the first extracts the readings, the second writes the answer. Both prompts have the
# passages.

# %%
for preset in ("lean", "paper"):
    cost = polyqa.cost("rac", few, index=index, preset=preset)
    taken = {step.step: round(step.input_tokens) for step in cost.steps}
    print(f"{preset:6} {cost.calls.mean:.0f} calls  tokens in: {taken}")

# %% [markdown]
# **3.** Only the system message. An artifact stores a fingerprint of the fields, which is the same: instructions are what
# compiling may change.

# %%
from polyqa.artifacts.state import signature_fingerprint

changed = signature.with_instructions("Name every reading of the question, then answer each in a full sentence.")
messages = adapters["LeanAdapter"].format(changed, [], inputs)
print([old == new for old, new in zip(rendered["LeanAdapter"], messages, strict=True)])
print(signature_fingerprint(signature) == signature_fingerprint(changed))
