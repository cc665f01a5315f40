"""What building an index of Wikipedia takes on a cluster, reckoned from what was measured on one machine."""

from dataclasses import dataclass

from polyqa.evaluation.tables import markdown_table

from .building import Building
from .centroids import Finding

PASSAGES = 21_000_000
CENTROIDS = 1 << 19  # colbert-ai's rule for that many passages
_FOR_EACH = 64  # token vectors that k-means takes for each centroid
_ROUNDS = 4
_HOUR = 3_600


@dataclass(frozen=True)
class Reckoning:
    """The parts of a build, from measured rates.

    Attributes
    ----------
    rate
        Passages that a worker encodes and compresses a second, where centroids are few.
    finding
        Seconds that a worker needs to find the centroids of a passage among `CENTROIDS`.
    tokens
        Of a passage.
    """

    rate: float
    finding: float
    tokens: float

    @classmethod
    def of(cls, building: Building, finding: Finding) -> "Reckoning":
        """Return the reckoning of two measurements; a worker has the cores of the first."""
        whole = next(one for one in building.built if one.how == "polyqa, one part")
        found = next(one for one in finding.found if (one.centroids, one.how) == (CENTROIDS, "polyqa"))
        return cls(building.passages / whole.seconds, found.milliseconds / 1_000 / building.cores, finding.tokens)

    @property
    def sample(self) -> float:
        """Passages that are encoded for the centroids."""
        return CENTROIDS * _FOR_EACH / self.tokens

    @property
    def encoding(self) -> float:
        """Hours for encoding them, by one worker."""
        return self.sample / self.rate / _HOUR

    @property
    def kmeans(self) -> float:
        """Hours for its rounds, each of which finds the centroids of the sample, by one worker."""
        return _ROUNDS * self.sample * self.finding / _HOUR

    @property
    def each(self) -> float:
        """Seconds for a passage, by one worker."""
        return 1 / self.rate + self.finding

    def building(self, workers: int) -> float:
        """Hours for all shards."""
        return PASSAGES * self.each / workers / _HOUR

    def text(self, cores: int) -> str:
        """Return the arithmetic and a table of clusters, in Markdown."""
        lines = [
            f"- The centroids are {CENTROIDS:,}, and k-means takes {_FOR_EACH} token vectors for each. With "
            f"{self.tokens:.0f} of them in a passage those are in {CENTROIDS:,} × {_FOR_EACH} / {self.tokens:.0f} = "
            f"{self.sample:,.0f} passages. Encoding them takes {self.sample:,.0f} / {self.rate:.1f} / 3,600 = "
            f"{self.encoding:.1f} hours.",
            f"- Finding the centroids of a passage takes {1_000 * self.finding:.1f} ms. So {_ROUNDS} rounds of k-means "
            f"take {_ROUNDS} × {self.sample:,.0f} × {self.finding:.4f} / 3,600 = {self.kmeans:.1f} hours.",
            f"- A passage takes 1 / {self.rate:.1f} + {self.finding:.4f} = {self.each:.3f} seconds, and all of them on "
            f"one worker {PASSAGES:,} × {self.each:.3f} / 86,400 = {self.building(1) / 24:.1f} days.",
        ]
        rows = [
            [
                str(workers),
                f"{self.encoding:.1f}",
                f"{self.kmeans:.1f}",
                f"{self.building(workers):,.1f}",
                f"{self.encoding + self.kmeans + self.building(workers):,.1f}",
            ]
            for workers in (1, 8, 64)
        ]
        heads = [f"workers, {cores} cores each", "sample, hours", "k-means, hours", "shards, hours", "together"]
        return "\n".join(lines) + "\n\n" + markdown_table(heads, rows)
