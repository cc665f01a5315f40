import sys
import threading

import numpy as np
import torch

from polyqa.base.values import Passage
from polyqa.colbert_index import IndexSettings
from polyqa.colbert_index.checkpoint import EMBEDDED_CHECKPOINT, resolve_checkpoint
from polyqa.colbert_index.engine import encode_documents, load_checkpoint, quiet


def test_quiet_in_two_threads_gives_standard_output_back() -> None:
    before = sys.stdout
    entered, leave = threading.Event(), threading.Event()

    def first() -> None:
        with quiet():
            entered.set()
            leave.wait(10)

    def second() -> None:
        with quiet():
            pass

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    assert entered.wait(10)
    threads[1].start()
    leave.set()
    for thread in threads:
        thread.join(10)
    assert sys.stdout is before


def test_a_passage_has_the_vectors_that_colbert_ai_gives_it_whatever_stands_beside_it() -> None:
    long = [" ".join(["one more word"] * times) for times in (1, 200, 30, 5)]
    passages = [Passage(pid="0", title="A title", text=text) for text in long]
    texts = [*(one.indexed_text for one in passages), "Word, by word; and so on: here. There!"]
    model = load_checkpoint(resolve_checkpoint(EMBEDDED_CHECKPOINT), IndexSettings(batch_size=2), "float32")
    vectors, lengths = encode_documents(model, texts)
    assert lengths[1] == 180
    for text, own in zip(texts, vectors.split(lengths), strict=True):
        theirs = model.docFromText([text], bsize=1, keep_dims="flatten")[0]
        np.testing.assert_allclose(own.float().numpy(), theirs.numpy(), atol=2e-3)
        assert torch.equal(own, encode_documents(model, [text])[0])


def test_bfloat16_gives_nearly_the_same_vectors_of_passages_and_questions() -> None:
    texts, location = (
        ["Word, by word; and so on: here. There!", "A title | It sank in 1923."],
        resolve_checkpoint("embedded"),
    )
    exact, quick = (load_checkpoint(location, IndexSettings(), kind) for kind in ("float32", "bfloat16"))
    assert next(quick.bert.parameters()).dtype == torch.bfloat16
    for passages in (True, False):
        one, other = (
            encode_documents(model, texts)[0].float() if passages else model.queryFromText(texts).float().flatten(0, 1)
            for model in (exact, quick)
        )
        told = one.norm(dim=1) > 0.5  # what pads a question has no vector
        assert torch.nn.functional.cosine_similarity(one[told], other[told]).min() > 0.99
