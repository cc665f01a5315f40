# ---
# jupyter:
#   polyqa:
#     title: What MaxSim sees
#     minutes: 20
#     learns: read the score of a passage token by token, say what compression costs, follow a search through its passes
# ---

# %% [markdown]
# # Lesson 10: What MaxSim sees
#
# Every program of polyqa begins with a search, and what is not found cannot be answered. The search is
# [ColBERT](https://arxiv.org/abs/2004.12832)'s: a question and a passage are compared **token by token**. So one can look at
# a score and see what it is made of.
#
# After this lesson you can
#
# - draw which tokens of a passage match which tokens of a question, and compute the score from them;
# - say why this distinguishes things of one name, and what one vector for a whole passage cannot show;
# - say what compression takes from a score, and what each pass of a search leaves out.
#
# No language model is needed. A **token** is a word or a piece of one; a **vector** is a row of numbers that stands for it.

# %% [markdown]
# ## A vector for every token
#
# The encoder is a small BERT. It reads the whole text and gives each token a vector of 128 numbers and of length 1. The vector
# depends on the words around the token, so *Saturn* gets one vector beside *rings* and another beside *rocket*.
#
# The index stores the vectors of passages compressed. Here we compute them again, to see them uncompressed first.

# %%
import itertools

import matplotlib.pyplot as plt
import numpy as np

import polyqa
from polyqa.colbert_index.checkpoint import resolve_checkpoint
from polyqa.colbert_index.engine import encode_documents, load_checkpoint

index = polyqa.open_index("homonyms")
encoder = load_checkpoint(resolve_checkpoint(index.manifest.checkpoint), index.settings)
position = {passage.title: at for at, passage in enumerate(index.positions) if passage}


def names(ids):
    """Return the tokens of some ids, as text."""
    return encoder.raw_tokenizer.convert_ids_to_tokens(ids)


def of_question(text):
    """Return the tokens of a question with their vectors."""
    ids, _ = encoder.query_tokenizer.tensorize([text])
    vectors = index.query_encoder([text])[0]
    kept = np.linalg.norm(vectors, axis=1) > 0  # what fills up to 32 tokens has no vector with this checkpoint
    return [name for name, keep in zip(names(ids[0].tolist()), kept, strict=True) if keep], vectors[kept]


def of_passages(texts):
    """Return for each text its tokens, without punctuation, with their vectors."""
    ids, _ = encoder.doc_tokenizer.tensorize(texts)
    ignored = {*encoder.skiplist, encoder.pad_token}
    tokens = [names([one for one in row if one not in ignored]) for row in ids.tolist()]
    vectors, lengths = encode_documents(encoder, texts)
    return list(zip(tokens, np.split(vectors.float().numpy(), np.cumsum(lengths)[:-1]), strict=True))


QUESTION = "When did the film Titanic of 1953 come out?"
FILM, SHIP = "Titanic (1953 film)", "RMS Titanic"
asked, question = of_question(QUESTION)
passages = dict(
    zip(
        (FILM, SHIP),
        of_passages([index.positions[position[title]].indexed_text for title in (FILM, SHIP)]),
        strict=True,
    )
)
print(len(asked), "tokens in the question:", *asked)
for title, (tokens, vectors) in passages.items():
    print(title, vectors.shape, *tokens[:14], "…")

# %% [markdown]
# `[CLS]` and `[SEP]` mark the beginning and the end; this checkpoint says *question* and *passage* by a second `[CLS]`. They
# have vectors, too, which summarize a little of the whole text. The title is part of a passage's text: it comes first.
#
# ## The heat map
#
# Vectors of length 1 are compared by their dot product, the **cosine**: 1 for the same direction, 0 for nothing in common.
# Each row is a token of the question. A passage has about a hundred tokens, so the picture shows only those that are the best
# match for some token of the question.


# %%
def draw(ax, title):
    """Draw the cosines of a question's tokens with those tokens of a passage that are best for one of them."""
    tokens, vectors = passages[title]
    cosines = question @ vectors.T
    best = sorted(set(cosines.argmax(axis=1)))
    shown = ax.imshow(cosines[:, best], vmin=0, vmax=1, cmap="Blues", aspect="auto")
    for row, column in enumerate(cosines.argmax(axis=1)):
        ax.text(
            best.index(column), row, f"{cosines[row, column]:.2f}", ha="center", va="center", fontsize=7, color="C1"
        )
    ax.set(title=f"{title}: {cosines.max(axis=1).sum():.2f}", yticks=range(len(asked)), yticklabels=asked)
    ax.set_xticks(range(len(best)), [tokens[at] for at in best], rotation=60, ha="right")
    return shown


fig, axes = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained")
for ax, title in zip(axes, passages, strict=True):
    shown = draw(ax, title)
fig.colorbar(shown, ax=axes, label="cosine", shrink=0.7)
plt.show()

# %% [markdown]
# The orange number in each row is the best cosine of that token. Their sum is the score, **MaxSim**; it stands above each
# picture.
#
# Read the film's picture first: *1953* meets *1953*, *film* meets *film*, and *come* and *out* meet *released*, a word that is
# not in the question. In the ship's picture most meet *titanic*, for want of anything better, and *film* meets *star*, which is
# that of the White Star Line.
#
# ## Which pairs make the difference
#
# The score is a sum, so the difference between two passages is a sum, too. Here it is for each token of the question:

# %%
cosines = {title: question @ vectors.T for title, (_, vectors) in passages.items()}
best = {title: [passages[title][0][at] for at in table.argmax(axis=1)] for title, table in cosines.items()}
score = {title: float(table.max(axis=1).sum()) for title, table in cosines.items()}
gap = cosines[FILM].max(axis=1) - cosines[SHIP].max(axis=1)
print(f"{'question':10} {FILM:>22} {SHIP:>16}  difference")
for at in np.argsort(-gap):
    film, ship = (f"{best[title][at]} {cosines[title][at].max():.2f}" for title in (FILM, SHIP))
    print(f"{asked[at]:10} {film:>22} {ship:>16} {gap[at]:+11.2f}")
print(f"{'sum':10} {score[FILM]:22.2f} {score[SHIP]:16.2f} {gap.sum():+11.2f}")

# %% [markdown]
# The name, which matters most in a search by words, makes no difference: *titanic* scores the same in both. The year makes the
# largest one. Then come small words such as *did* and *come*: their vectors depend on the whole question, when a film came out,
# and match a passage about this. That is what the context in a vector is good for.
#
# ## Late interaction
#
# There are three ways to compare a question and a passage.
#
# | | when they meet | what it costs |
# |---|---|---|
# | one vector for each text | after all is read, once | one dot product a passage; it cannot be seen which word did it |
# | a vector for each token, **late interaction** | after reading, token by token | some thousand dot products a passage; vectors of passages are made beforehand |
# | a model that reads both together | from the first word on | a run of the model for each passage and question |
#
# polyqa has the first as well: it reranks with a sentence encoder. Here are both, for the same question with another year.

# %%
from polyqa.models import Encoder

sentences = Encoder()
titles = ["Titanic (1943 film)", FILM, "Titanic (1997 film)", SHIP]
one_vector = np.stack([index.vectors(sentences.name)[position[title]] for title in titles], dtype=np.float32)
print(f"{'':26}" + "".join(f"{title:>21}" for title in titles))
margins = {}
for year in (1943, 1953, 1997):
    text = f"When did the film Titanic of {year} come out?"
    found = {passage.title: passage.score for passage in index.search(text, len(index))}
    late = np.array([found[title] for title in titles])
    single = one_vector @ sentences.encode([text])[0]
    for name, values in (("one vector", single), ("MaxSim", late)):
        print(f"{year} {name:20} " + "".join(f"{value:21.2f}" for value in values))
        first, second = np.sort(values)[::-1][:2]
        margins[year, name] = 1 - second / first, titles[int(values.argmax())]
for (year, name), (margin, title) in margins.items():
    print(f"{year} {name:10} {title}, the second has {100 * margin:.0f}% less")

# %% [markdown]
# Both find the right film each time; sometimes one has the larger distance, sometimes the other. Four passages prove nothing
# about which way is better (lesson 11). But in one vector the year is mixed with everything else; with MaxSim it has a row of
# its own, and you can trace a wrong order to a token.
#
# ## Compression
#
# A vector of 128 numbers of 2 bytes takes 256 bytes, and each passage has about a hundred.
# [ColBERTv2](https://arxiv.org/abs/2112.01488) stores the number of the nearest **centroid**, one of some thousand vectors that
# stand for all, and the **residual**, what is left, with 2 bits for each of the 128 numbers. That is 36 bytes.

# %%
from polyqa.colbert_index.compressed import weights_of_bytes
from polyqa.colbert_index.files import read_part

stored = index.token_vectors
_, weights = read_part(index.parts[0] / "buckets.pt")
of_byte = weights_of_bytes(weights.float().numpy(), stored.nbits)  # each byte holds four numbers
print(
    len(stored.codes), "token vectors,", len(stored.centroids), "centroids; 2 bits are one of", weights.numpy().round(3)
)


def unpacked(at):
    """Return the vectors of a passage by centroid alone, and with the residual."""
    rows = slice(stored.offsets[at], stored.offsets[at + 1])
    centroids = stored.centroids[stored.codes[rows]]
    both = centroids + of_byte[stored.residuals[rows]].reshape(centroids.shape)
    return [vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in (centroids, both)]


near, kept = {}, {}
print(f"{'':22}{'cosine to the original':>33}{'score':>27}")
print(f"{'':22}{'centroid':>20}{'2 bits':>13}{'centroid':>11}{'2 bits':>8}{'original':>10}")
for title, (_, original) in passages.items():
    near[title], kept[title] = unpacked(position[title])
    same = [(vectors * original).sum(axis=1).mean() for vectors in (near[title], kept[title])]
    scores = [(question @ vectors.T).max(axis=1).sum() for vectors in (near[title], kept[title], original)]
    print(f"{title:22}{same[0]:20.2f}{same[1]:13.2f}{scores[0]:11.2f}{scores[1]:8.2f}{scores[2]:10.2f}")
(found,) = [passage.score for passage in index.search(QUESTION, 1)]
print(f"the search says {found:.2f}")

# %% [markdown]
# The centroid alone gives the direction, and the residual mends most of the rest. Scores fall a little, those of all
# passages, and what counts is their order. The last line is the search itself: it computes from the compressed vectors, so it
# agrees with the column *2 bits*.
#
# ## The search, in three passes
#
# To compare a question with all passages exactly would take too long in a corpus of millions. So a search
# ([PLAID](https://arxiv.org/abs/2205.09707)) has three passes. Each takes more time for a passage, and looks at fewer passages:
#
# 1. **Centroids**: each token of the question takes its nearest centroids (`ncells`). Only passages that have a token there go
#    on, scored by these centroids alone.
# 2. **Candidates**: the best of them (`candidates`) are scored with the centroids of all their tokens.
# 3. **Exact**: the best of these (`ndocs`) are scored with their residuals.
#
# This corpus is so small that the usual settings leave out nearly nothing. With stingy ones you can watch:

# %%
from polyqa.colbert_index import SearchSettings

stingy = SearchSettings(ncells=4, candidates=12, ndocs=6)
table = question @ stored.centroids.T  # each token of the question with each centroid
cells = np.argsort(-table, axis=1)[:, : stingy.ncells]
probed = np.full_like(table, -np.inf)
np.put_along_axis(probed, cells, np.take_along_axis(table, cells, axis=1), axis=1)
worst = np.take_along_axis(table, cells[:, -1:], axis=1)
codes = [stored.codes[begin:end] for begin, end in itertools.pairwise(stored.offsets)]
met = {at: probed[:, own].max(axis=1) for at, own in enumerate(codes) if np.isin(own, cells).any()}
first = {at: np.maximum(best, worst[:, 0]).sum() for at, best in met.items()}
taken = sorted(first, key=lambda at: -first[at])[: stingy.candidates]
second = {at: table[:, codes[at]].max(axis=1).sum() for at in taken}
survivors = sorted(second, key=lambda at: -second[at])
last = dict(stored.search(question, stingy.ndocs, stingy))
print(
    f"{len(index)} passages, {len(met)} stand in a cell, {len(taken)} after the first pass, {len(last)} after the second"
)
print(f"{'':36}{'centroids':>10}{'candidates':>12}{'exact':>8}")
for at in survivors:
    exact = f"{last[at]:.2f}" if at in last else "–"
    print(f"{index.positions[at].title:36}{first[at]:10.2f}{second[at]:12.2f}{exact:>8}")

# %% [markdown]
# Look at the scores of one passage from left to right. The first pass is generous: a token of the question that finds no token
# of the passage in its cells scores as if there were one in the worst of these cells. Each further pass knows more.
#
# How much is lost? Let us take the questions of dev, and count how many of the five passages that are really the best a search
# finds.

# %%
questions = [of_question(one.question)[1] for one in polyqa.Questions("homonyms/dev").asked]
everything = SearchSettings(ncells=len(stored.centroids), ndocs=len(stored))
best_five = [{at for at, _ in stored.search(vectors, 5, everything)} for vectors in questions]
CELLS = [1, 2, 4, 8, 16]
recall = {}
for width in (5, 10, 20):
    recall[width] = []
    for cells in CELLS:
        settings = SearchSettings(ncells=cells, candidates=4 * width, ndocs=width)
        hits = [
            len({at for at, _ in stored.search(vectors, 5, settings)} & best)
            for vectors, best in zip(questions, best_five, strict=True)
        ]
        recall[width].append(100 * sum(hits) / (5 * len(questions)))
    print(f"{width:3} exact, ncells {CELLS}:", *(f"{value:.1f}" for value in recall[width]))
usual = [
    len({at for at, _ in stored.search(vectors, 5, SearchSettings())} & best)
    for vectors, best in zip(questions, best_five, strict=True)
]
usual = 100 * sum(usual) / (5 * len(questions))
print(f"the usual settings: {usual:.1f}")
fig, ax = plt.subplots(figsize=(6.5, 3.2))
for width, values in recall.items():
    ax.plot(CELLS, values, marker="o", label=f"{width} passages scored exactly")
ax.set_xscale("log", base=2)
ax.set(xticks=CELLS, xticklabels=CELLS, xlabel="cells that each token probes", ylabel="of the best five found, %")
ax.legend()
plt.show()

# %% [markdown]
# Two settings, two kinds of loss: a passage in none of the cells is never found (more cells help), and one that looks poor by its
# centroids alone is dropped before its residuals are read (more exact scores help). On this corpus the usual settings lose
# nothing. For a large one, see the measurements in `docs/reference/scale.md`.

# %% [markdown]
# ## With a real language model
#
# The two best passages by MaxSim, and what a language model makes of them.

# %%
import os

LM = os.environ.get("POLYQA_LESSON_LM")
if LM:
    result = polyqa.ask(QUESTION, program=polyqa.load("rac", index=index, passages=2), lm=LM)
    print([passage.title for passage in result.passages])
    print([(reading.question, reading.answer) for reading in result.interpretations])
else:
    print("Skipped: POLYQA_LESSON_LM names no language model.")

# %% [markdown]
# ## Exercises
#
# 1. Ask *When was the Titanic launched?* Which token decides between the ship and the film now?
# 2. Take the title off both passages, and score them again. How much does each lose, and on which token most?
# 3. Order all passages by their centroids alone for each dev question. How many of the really best five are among the first
#    five then?

# %% [markdown]
# ## Solutions
#
# **1.** The film is about the ship, so *titanic* helps neither. See which rows are left.

# %%
tokens, launched = of_question("When was the Titanic launched?")
film, ship = ((launched @ passages[title][1].T).max(axis=1) for title in (FILM, SHIP))
for at in np.argsort(film - ship)[:3]:
    print(f"{tokens[at]:10} film {film[at]:.2f}, ship {ship[at]:.2f}")
print(f"{'sum':10} film {film.sum():.2f}, ship {ship.sum():.2f}")

# %% [markdown]
# **2.** The text about the film contains neither *Titanic* nor *film*, and without the title all its vectors lose this context.
# The text about the ship names it. It is worth writing titles.

# %%
bare = of_passages([index.positions[position[title]].text for title in (FILM, SHIP)])
for title, (_, vectors) in zip((FILM, SHIP), bare, strict=True):
    own = (question @ vectors.T).max(axis=1)
    lost = cosines[title].max(axis=1) - own
    most = [f"{asked[at]} {lost[at]:.2f}" for at in np.argsort(-lost)[:5]]
    print(f"{title:22}{score[title]:6.2f} → {own.sum():5.2f}; lost most on", ", ".join(most))

# %% [markdown]
# **3.** Unpack every passage by its centroids, and score.

# %%
by_centroids = [unpacked(at)[0] for at in range(len(stored))]
hits = 0
for vectors, best_of in zip(questions, best_five, strict=True):
    rough = [(vectors @ passage.T).max(axis=1).sum() for passage in by_centroids]
    hits += len(best_of & set(np.argsort(rough)[-5:].tolist()))
print(f"{100 * hits / (5 * len(questions)):.0f}% of them")
