"""Opens an index whose shards are spread over the workers of a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from polyqa.base.errors import PolyqaError
from polyqa.colbert_index import ColBERTIndex, SearchSettings
from polyqa.colbert_index.spread import Share, SpreadIndex

from .cluster import Ray, placed


@contextmanager
def spread_index(
    index: str | Path, ray: Ray, *, beside: int = 0, search_settings: SearchSettings = SearchSettings()
) -> Iterator[SpreadIndex]:
    """Open an index on a cluster: each worker holds an equal share of its shards, this process none of them.

    For an index that is larger than one machine's memory, or of which each worker that answers questions would hold a
    copy. Give it to `polyqa.load`, `polyqa.ask` or `polyqa.answer_many` as ``index``; what is found is what
    `ColBERTIndex` finds.

    Parameters
    ----------
    index
        Name or path of an index that was built in shards. Every worker opens it under the same path.
    ray
        The cluster; at most as many of its workers are used as there are shards.
    beside
        How many other workers are to run at the same time, such as those of `polyqa.Batch`: a cluster that is started
        here has CPUs for them, too.
    search_settings
        How thoroughly to search.

    Raises
    ------
    PolyqaError
        If the index has one part only, there is no cluster, or a worker cannot open its share.
    """
    if ray.workers < 1:
        raise PolyqaError(f"A cluster has at least 1 worker, not {ray.workers}.")
    opened = ColBERTIndex(index)
    shards = opened.manifest.shards
    if shards == 1:
        raise PolyqaError(
            f"The index {opened.name} is in one part, which cannot be spread over workers: build it in several with "
            "polyqa index build --shards."
        )
    shares = [own.tolist() for own in np.array_split(np.arange(shards), min(ray.workers, shards))]
    makes = [partial(Share, str(opened.path), opened.fingerprint, own, search_settings) for own in shares]
    with placed(makes, f"holds a part of the index {opened.name}", ray.address, beside=beside) as workers:
        yield SpreadIndex(opened.path, workers, fingerprint=opened.fingerprint, search_settings=search_settings)
