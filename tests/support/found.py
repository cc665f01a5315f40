"""A retriever that finds the same passages for every question, and reranks them in their order."""

from typing import Any

import numpy as np

from polyqa.base.values import Passage


class Found:
    """Finds passages; the score of the i-th, from 0, is 1 - i · ``step``."""

    def __init__(self, *passages: Passage, step: float = 0.1) -> None:
        self.passages, self.step = list(passages), step

    def search(self, query: str, k: int) -> list[Passage]:
        return self.passages[:k]

    def score(self, queries: Any, passages: Any) -> Any:
        return np.array([[1 - self.step * at for at in range(len(passages))]] * len(queries), dtype=np.float32)
