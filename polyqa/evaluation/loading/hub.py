"""Reads the rows of a data set on the Hugging Face hub."""

from pathlib import Path

from polyqa.base.rows import Record, listed, problem


def read_hub(name: str, config: str | None = None, split: str | None = None) -> list[Record]:
    """Return the rows of a split as records.

    Parameters
    ----------
    name, config, split
        As ``datasets.load_dataset`` takes them; the split may be left out where there is one.

    Raises
    ------
    PolyqaError
        If the data set cannot be had, or has several splits and none is named.
    """
    origin = f"hub:{name}@{config}" if config else f"hub:{name}"
    if Path(name).exists():
        # `load_dataset` would take the files in it, and nobody could see it from the outcome.
        raise problem(origin, f"{Path(name).absolute()} hides the hub's data set of this name; start elsewhere")
    import datasets  # seconds, and local files do without

    try:
        data = datasets.load_dataset(name, config, split=split)
    except Exception as error:  # the library, the hub and each data set raise what they like; it is passed on
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise problem(
            origin,
            f"the data set cannot be loaded from the Hugging Face hub ({reason}). Check the name, the configuration "
            "(hub:NAME@CONFIGURATION), the split and the network; without a network, give a .json or .jsonl file",
        ) from error
    if isinstance(data, dict):
        if len(data) != 1:
            raise problem(origin, f"name a split; there are {listed(data)}")
        ((split, data),) = data.items()
    return [Record(f"{origin}: {split}: record {number}", row) for number, row in enumerate(data, 1)]
