"""The ranked lists of a search, from the rows that its statements gave."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl

from operators.arrays.segments import Integers, places
from operators.frames import TEXT_LISTS, VECTOR_LISTS, frame_of

_SCHEMAS = {"distance": VECTOR_LISTS, "score": TEXT_LISTS}


def ranked_lists(
    text: Integers,
    texts: Sequence[tuple[int, int]],
    chunk_id: Sequence[int],
    values: Sequence[float],
    value: Literal["distance", "score"],
) -> pl.DataFrame:
    """Columns ``VECTOR_LISTS`` (``distance``, best lowest) or ``TEXT_LISTS`` (``score``, highest).

    Args:
        text: the place of each row's query text in ``texts``.
        texts: query_id and text_no of each query text, ascending.
        chunk_id: of each row.
        values: of each row; the chunk_id breaks ties. A distance of NaN (a zero vector) becomes 2.
        value: the name of the column of ``values``.
    """
    number, chunk = np.asarray(values, np.float64), np.asarray(chunk_id, np.int64)
    if value == "distance":
        number = np.where(np.isnan(number), 2.0, number)
    order = np.lexsort((chunk, number if value == "distance" else -number, text))
    query_id, text_no = np.asarray(texts, np.uint32).reshape(-1, 2)[text[order]].T
    columns = {
        "query_id": np.ascontiguousarray(query_id),
        "text_no": np.ascontiguousarray(text_no),
        "chunk_id": chunk[order],
        "rank": places(text[order]),
        value: number[order],
    }
    named = [pl.Series(name, column) for name, column in columns.items()]
    return frame_of(named, _SCHEMAS[value])
