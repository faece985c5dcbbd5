"""Builds the ranked lists of a search from the rows of its statements."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl

from operators.arrays.segments import Column, changes, places
from operators.frames import TEXT_LISTS, VECTOR_LISTS, frame_of

Hit = tuple[int, int, int, float]  # query_id, text_no, chunk_id, distance or score

_SCHEMAS = {"distance": VECTOR_LISTS, "score": TEXT_LISTS}


def ranked_lists(hits: Sequence[Hit], value: Literal["distance", "score"]) -> pl.DataFrame:
    """Columns ``VECTOR_LISTS`` (``distance``, best lowest) or ``TEXT_LISTS`` (``score``, highest).

    Args:
        hits: in any order; the chunk_id breaks ties. A distance of NaN (a zero vector) becomes 2.
        value: the name of the last column.
    """
    query_id, text_no, chunk_id, values = zip(*hits, strict=True) if hits else ((),) * 4
    query, text = np.array(query_id, np.uint32), np.array(text_no, np.uint32)
    chunk, number = np.array(chunk_id, np.int64), np.array(values, np.float64)
    if value == "distance":
        number = np.where(np.isnan(number), 2.0, number)
    order = np.lexsort((chunk, number if value == "distance" else -number, text, query))
    query, text = query[order], text[order]
    columns: dict[str, Column] = {
        "query_id": query,
        "text_no": text,
        "chunk_id": chunk[order],
        "rank": places(np.cumsum(changes(query) | changes(text))),
        value: number[order],
    }
    named = [pl.Series(name, column) for name, column in columns.items()]
    return frame_of(named, _SCHEMAS[value])
