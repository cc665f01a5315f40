# ---
# jupyter:
#   polyqa:
#     title: Metrics, and how each can be fooled
#     minutes: 30
#     learns: compute the usual scores, write an answer that fools each, choose what to report
# ---

# %% [markdown]
# # Lesson 3: Metrics, and how each can be fooled
#
# An ambiguous question has several right answers, and a long answer can give some of them, in any words. No single number
# says how good it is. This lesson computes the usual ones on answers that are good, bad, and made to cheat.
#
# After this lesson you can
#
# - say what STR-EM, ROUGE-L, Disambig-F1, DR and the judged metrics measure;
# - write an answer that fools each of them, and so know what a high score does *not* mean;
# - choose which figures to report together.

# %% [markdown]
# ## One question, and what people said
#
# People wrote down what is right for each question, the *gold* data: its readings, each with its short answers (any spelling
# counts), and long reference answers.

# %%
import os
from dataclasses import replace

os.environ.setdefault("POLYQA_PRECISION", "float32")  # as when the replies were recorded: prompts have to be the same

import polyqa

questions = {question.question: question for question in polyqa.Questions("homonyms/dev").asked}
gold = questions["Who played Paul Atreides in Dune?"]
first, second = gold.long_answers
gold = replace(gold, long_answers=(first,))  # the second person's text is scored below, so it is no reference here
for reading in gold.readings:
    print(reading.question, "→", " = ".join(reading.short_answers))
print("\nreference:", first)

# %% [markdown]
# ## Six answers
#
# The first was written by another person: as good as it gets. The second is what a small language model, Qwen2.5-Coder-1.5B,
# made of five passages with the compiled program `rac-homonyms-local`; its replies were recorded. The last four were made to cheat.

# %%
from polyqa.artifacts.store import read_artifact

index = polyqa.open_index("homonyms")
lm = polyqa.recorded(read_artifact("rac-homonyms-local").path / "replies.jsonl.gz")
small = polyqa.ask(gold.question, program=polyqa.load("rac-homonyms-local", index=index), lm=lm)
names = [reading.short_answers[0] for reading in gold.readings]


def swapped(text: str) -> str:
    """Put each answer in the place of the next one."""
    for at, name in enumerate(names):
        text = text.replace(name, f"<{at}>")
    for at in range(len(names)):
        text = text.replace(f"<{at}>", names[(at + 1) % len(names)])
    return text


ANSWERS = {
    "a person": second,
    "small model": small.answer,
    "all names": ", ".join(names) + ".",
    "swapped": swapped(first),
    "telegram": " ".join(f"{one.question.rstrip('?')}: {one.short_answers[0]}." for one in gold.readings),
    "everything": " ".join(passage.text for passage in small.passages),
}
for name, answer in ANSWERS.items():
    print(f"{name:11} {answer[:150]}{' …' if len(answer) > 150 else ''}")

# %% [markdown]
# ## The scores
#
# | metric | what it asks | from |
# |---|---|---|
# | **STR-EM** | which share of the gold short answers appears in the text, letter by letter? | [ASQA](https://arxiv.org/abs/2204.06092) |
# | **ROUGE-L** | how many words of each sentence does it share, in order, with what people wrote? | [ASQA](https://arxiv.org/abs/2204.06092) |
# | **D-F1** (Disambig-F1) | a *reader*, a small model, looks for the answer to each reading's question in the text: is it right? | [ASQA](https://arxiv.org/abs/2204.06092) |
# | **DR** | the geometric mean of D-F1 and ROUGE-L | [ASQA](https://arxiv.org/abs/2204.06092) |
# | **LEN** | how many words? | |

# %%
from polyqa.metrics.long_form import score_long_answers
from polyqa.models import Reader

reader = Reader()
scores = dict(zip(ANSWERS, score_long_answers(list(ANSWERS.values()), [gold] * len(ANSWERS), reader), strict=True))
print(f"{'':11} STR-EM  ROUGE-L   D-F1     DR   LEN")
for name, one in scores.items():
    print(f"{name:11}{one.str_em:7.2f} {one.rouge_l:8.2f} {one.disambig.f1:6.2f} {one.dr:6.2f} {one.length:5}")

# %% [markdown]
# Go through it line by line.
#
# - **a person** sets the scale. The words differ from the reference's, so ROUGE-L is far from full. The small reader does
#   not find every answer in them, so D-F1 is not full either. Nothing is wrong with the text.
# - **small model** has two of the three names, and a D-F1 as high as the person's. But read it: neither actor directed the film. The
#   model made that up. No score here notices: each asks whether what people wrote is there, none asks what else is there.
# - **all names** has full STR-EM, which only checks whether the letters are there. Neither a person nor the reader can tell from
#   this answer who played in which film, so D-F1 and DR are zero.
# - **swapped** is a fluent text in which every fact is wrong. Its STR-EM is full and its ROUGE-L is the highest of all, because it is the
#   reference with the names exchanged: ROUGE-L compares sentence by sentence, and finds each name in another sentence. Only the reader
#   notices.
# - **telegram** repeats the gold questions and so has full D-F1: a reader needs no fluency. No system could write it
#   without having seen the gold, but a system can learn to write *like* it.
# - **everything** is not an answer at all: it is the passages. STR-EM does not mind. Its length gives it away, so every
#   table has LEN.
#
# Here is what the reader answered to each reading's question:

# %%
for name in ("a person", "all names", "swapped"):
    print(name)
    for reading, answer in zip(gold.readings, scores[name].disambig.answers, strict=True):
        print(f"   {reading.question}  →  {answer or '(no answer)'}")

# %% [markdown]
# For the first two films the reader read the swapped text correctly; the text itself is wrong. For the third it took the director for the
# actor, and it did not understand all of the person's text. D-F1 is only as good as its reader. The reader here is the small embedded
# one; the papers use a large RoBERTa (`--reader deepset/roberta-large-squad2`). **Do not compare figures of two readers**; polyqa warns
# if you try.
#
# ## A picture of the cheats
#
# DR is high only if both of its factors are. The lines join answers of the same DR.

# %%
import matplotlib.pyplot as plt
import numpy as np

fig, ax = plt.subplots(figsize=(6, 4))
x, y = np.meshgrid(np.linspace(0, 1.05, 120), np.linspace(0, 1.05, 120))
lines = ax.contour(x, y, np.sqrt(x * y), levels=[0.2, 0.4, 0.6, 0.8], colors="0.75")
ax.clabel(lines, fmt="DR %.1f", fontsize="small")
for name, one in scores.items():
    ax.scatter(one.rouge_l, one.disambig.f1, s=50)
    beside = (6, -12) if name == "small model" else (6, 4)
    ax.annotate(name, (one.rouge_l, one.disambig.f1), xytext=beside, textcoords="offset points")
ax.set(xlabel="ROUGE-L", ylabel="Disambig-F1", xlim=(0, 1.25), ylim=(-0.05, 1.12))
plt.show()

# %% [markdown]
# ## The order of averaging
#
# For many questions, DR is computed from the means of both factors. The mean of the questions' DRs is another, lower number. Two
# answers are enough to see this:

# %%
from polyqa.metrics.dr import corpus_dr, dr

disambig, rouge = [1.0, 0.0], [0.1, 0.9]
print("DR of the means:", round(corpus_dr(disambig, rouge), 2))
print("mean of the DRs:", round(sum(map(dr, disambig, rouge)) / 2, 2))

# %% [markdown]
# If a paper does not say which one it reports, you cannot compare with it.
#
# ## Short answers, as sets
#
# The readings of a result can be scored without its text: AmbigQA's **F1 answer** compares two sets of short answers
# ([Min et al. 2020](https://arxiv.org/abs/2004.10645)). It punishes answers that nobody asked for, as STR-EM does not.

# %%
from polyqa.metrics.f1_answer import f1_answer

wanted = [gold.answers]
guesses = {"right": names, "one missing": names[:-1], "two too many": [*names, "Sting", "Zendaya"], "one": names[:1]}
for name, guess in guesses.items():
    print(f"{name:13} F1 answer {f1_answer(guess, wanted):.2f}")

# %% [markdown]
# ## Judges
#
# None of these metrics asks whether the *passages* say what the answer says. VERDICT's grounded metrics do
# ([Lee et al. 2025](https://arxiv.org/abs/2502.10352)): a judge decides for each reading whether its passage supports it,
# and whether it is one of the gold readings. polyqa's embedded judge is a reader with a sentence encoder.

# %%
from polyqa.base.values import Interpretation
from polyqa.metrics.embedded_judge import EmbeddedJudge
from polyqa.metrics.judges import judge_readings
from polyqa.models import Encoder

judge = EmbeddedJudge(reader, Encoder())
true = small.interpretations
pid = true[0].pid
CLAIMS = {
    "what it found": true,
    "one of them": true[:1],
    "said three times": [
        true[0],
        Interpretation(question=true[0].question.replace("Who played", "Who acted as"), answer=true[0].answer, pid=pid),
        Interpretation(question=true[0].question.replace("Who played", "Who was"), answer=true[0].answer, pid=pid),
    ],
    "wrong source": [
        Interpretation(question=one.question, answer=one.answer, pid=other.pid)
        for one, other in zip(true, [*true[1:], true[0]], strict=True)
    ],
}
print(f"{'':17} readings  supported  distinct  gold readings found")
for name, claims in CLAIMS.items():
    seen = judge_readings(gold, claims, small.passages, judge)
    print(
        f"{name:17}{len(claims):9} {sum(seen.grounded):10} {seen.distinct:9} {sum(seen.found):12} of {len(seen.found)}"
    )

# %% [markdown]
# *What it found* is supported but for one: a judge looks at the readings, each a question with its answer. Two are right. The third has
# Rebecca Ferguson play Paul, *in the 1965 book*: no passage supports that. That the text around them names the wrong directors the
# judge does not see either.
#
# *One of them* is perfectly supported, but it is only a third of the truth: precision without recall. *Said three times* has
# more supported readings without saying anything new, so only distinct readings count. *Wrong source* cites passages that do
# not say it; none of the earlier metrics would have noticed.
#
# A judge is a model and makes mistakes. A language model as a judge (`--judge openai/…`) knows more and costs more. Do not
# compare figures of two judges, either.

# %% [markdown]
# ## What to report
#
# - DR with both factors beside it, STR-EM and LEN, and the reader's name.
# - F1 answer or G-F1 beside them (*grounded* F1, of the supported readings and the gold readings found, as the judge counted them above):
#   what fools one does not fool the other.
# - The number of questions and an interval (lesson 6). And always read ten answers.

# %% [markdown]
# ## With a real language model
#
# The judge of the VERDICT paper: a language model with the paper's prompts.

# %%
import os

LM = os.environ.get("POLYQA_LESSON_LM")
if LM:
    from polyqa.metrics.llm_judge import LLMJudge

    judged = judge_readings(gold, CLAIMS["wrong source"], small.passages, LLMJudge(polyqa.language_model(LM)))
    print("supported:", judged.grounded)
else:
    print("Skipped: POLYQA_LESSON_LM names no language model.")

# %% [markdown]
# ## Exercises
#
# 1. Raise the DR of the small model's answer without adding a fact: change only its wording.
# 2. Write an answer of at most thirty words with a full D-F1 that a person would still like to read.
# 3. *everything* has full STR-EM. How many of its passages does that take? Try fewer, in the order of `small.passages`.

# %% [markdown]
# ## Solutions
#
# **1.** ROUGE-L rewards the style of the references. Here each of the model's readings is one sentence, as a person would write it.
# The directors that it made up are gone, too, but DR rises for the style alone.

# %%
restyled = "Paul Atreides has been played by different actors. " + " ".join(
    f"In {reading.question.partition(' in ')[2].rstrip('?')} he was played by {reading.answer}." for reading in true
)
before, after = score_long_answers([small.answer, restyled], [gold] * 2, reader)
print(restyled)
print(f"DR {before.dr:.2f} → {after.dr:.2f}  (D-F1 {after.disambig.f1:.2f}, ROUGE-L {after.rouge_l:.2f})")

# %% [markdown]
# **2.** Each name next to what tells its reading apart.

# %%
short = (
    "Kyle MacLachlan played Paul Atreides in the 1984 film, Alec Newman in the 2000 miniseries, "
    "and Timothée Chalamet in the 2021 film."
)
(score,) = score_long_answers([short], [gold], reader)
print(score.length, "words, D-F1", round(score.disambig.f1, 2))

# %% [markdown]
# **3.** STR-EM of passages says what retrieval found, and nothing about an answer. (For a list of passages that is the
# metric AC@k, `polyqa.metrics.answer_coverage`.)

# %%
from polyqa.metrics.str_em import str_em

for number in range(1, len(small.passages) + 1):
    text = " ".join(passage.text for passage in small.passages[:number])
    print(number, "passages, STR-EM", round(str_em(text, gold.answers), 2))
