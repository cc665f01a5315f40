"""Rows that are in memory: lists, data frames, data sets of `datasets`, documents of LangChain, mappings by id."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from polyqa.base.values import Passage

from .record import Record, Shape, excerpt, no_split, plain, problem

_WRAPPED = "data"  # what ALCE's results, SQuAD and TriviaQA call their list


def rows_in_memory(source: Any, shape: Shape, split: str | None = None) -> Iterator[Record]:
    """Yield the rows of an object; an iterable is read no further than it is wanted.

    Parameters
    ----------
    source
        A data frame of pandas or polars, a table of pyarrow, a data set of `datasets`, a mapping (see `rows_of_json`),
        or an iterable of rows: mappings, texts, documents of LangChain or nodes of LlamaIndex.
    split
        Which split to take; may be left out where there is one at most.
    """
    origin = f"the {shape.what}"
    if isinstance(source, Mapping):
        yield from rows_of_json(source, shape, split, origin)
        return
    if split is not None:
        raise problem(origin, f"there are no splits, so no {split!r}; leave the split out")
    rows = _iterable(source)
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
        raise problem(origin, f"expected rows, got {type(source).__name__}")
    singular = shape.what.removesuffix("s")
    for number, row in enumerate(rows, 1):
        yield Record(f"{singular} {number}", _row(row))


def _iterable(source: Any) -> Iterable[Any]:
    """Return an iterable of rows; iterating over a table would give the names of its columns, or its columns."""
    if hasattr(source, "to_dicts"):  # polars
        return source.to_dicts()
    if hasattr(source, "to_pylist"):  # pyarrow
        return source.to_pylist()
    if hasattr(source, "to_dict") and hasattr(source, "columns"):  # pandas; an index with a name is a column, too
        plain_index = source.index.name is None or source.index.name in source.columns
        return (source if plain_index else source.reset_index()).to_dict("records")
    return source


def _row(row: Any) -> Any:
    """Return a row as a mapping or a text where it is one; documents of LangChain and nodes of LlamaIndex have both."""
    text = getattr(row, "page_content", None)
    metadata = getattr(row, "metadata", None)
    if not isinstance(text, str) and isinstance(metadata, Mapping):
        text = getattr(row, "text", None)
    if isinstance(text, str) and isinstance(metadata, Mapping) and not isinstance(row, Passage):
        id = getattr(row, "id", None) or getattr(row, "id_", None)
        return {"page_content": text, "metadata": dict(metadata), "id": id}
    if callable(to_dict := getattr(row, "toDict", None)):  # an example of DSPy
        return to_dict()
    if callable(as_dict := getattr(row, "_asdict", None)):  # a named tuple
        return as_dict()
    return plain(row)


def rows_of_json(data: Any, shape: Shape, split: str | None, origin: str) -> Iterator[Record]:
    """Yield the rows of decoded JSON, or of a mapping made in Python.

    Parameters
    ----------
    data
        A list of rows; an object of rows by id; an object of columns; either of these under the name of a split, or of
        ``data``. A data set of `datasets` may stand for a list.
    origin
        What messages call it.
    """
    content, place = _unwrapped(data, shape), origin
    singular = shape.what.removesuffix("s")
    if isinstance(content, Mapping) and _are_splits(content, shape):
        if split is None and len(content) == 1:
            split = next(iter(content))
        if split is None or split not in content:
            raise no_split(origin, split, content)
        content, place = _unwrapped(content[split], shape), f"{origin}: split {split!r}"
    elif split is not None:
        raise problem(origin, f"there are no splits, so no {split!r}; leave the split out")
    if shape.is_row(content):
        raise problem(place, "expected a list or an object of records, got one record", excerpt(content))
    if isinstance(content, Mapping):
        yield from (Record(f"{origin}: {singular} {key!r}", value, str(key)) for key, value in content.items())
    elif isinstance(content, Iterable) and not isinstance(content, str | bytes):
        yield from (Record(f"{place}: record {number}", value) for number, value in enumerate(_iterable(content), 1))
    else:
        kind = type(content).__name__
        raise problem(place, f"expected a list or an object of records, got {kind}", excerpt(content))


def by_row(value: Any) -> Any:
    """Turn an object of equally long lists into the list of objects that it stands for.

    Hugging Face's ``datasets`` stores a sequence of objects by column:
    ``{"question": [q1, q2], "answer": [a1, a2]}``. Anything else is returned as it is, for the field's
    type to judge.
    """
    if not isinstance(value, Mapping) or not value or not all(isinstance(column, list) for column in value.values()):
        return value
    if len({len(column) for column in value.values()}) != 1:
        return value
    return [dict(zip(value, cells, strict=True)) for cells in zip(*value.values(), strict=True)]


def _unwrapped(data: Any, shape: Shape) -> Any:
    """Return the list that an object wraps, or the rows of an object of columns, or else what is given."""
    if not isinstance(data, Mapping) or hasattr(data, "num_columns"):
        return data
    by_name = {str(name).strip().lower(): value for name, value in data.items()}
    rows = by_name.get(_WRAPPED)
    if isinstance(rows, list) and (isinstance(names := by_name.get("columns"), list)):  # pandas, orient="split"
        return [dict(zip(names, row, strict=False)) for row in rows]
    if isinstance(rows, list):
        return rows
    if not shape.names & by_name.keys():
        return data
    columns = [*data.values()]
    if all(isinstance(column, Mapping) for column in columns) and len({tuple(column) for column in columns}) == 1:
        return [{name: column[number] for name, column in data.items()} for number in columns[0]]  # to_json() of pandas
    return by_row(data)


def _are_splits(data: Mapping[Any, Any], shape: Shape) -> bool:
    """Tell an object of splits from one of rows by id, which may be texts."""
    rows = shape.is_row(data) or any(map(shape.is_row, data.values())) or all(isinstance(v, str) for v in data.values())
    return shape.splits and bool(data) and not rows
