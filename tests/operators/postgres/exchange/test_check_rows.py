from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from operators.postgres.exchange.check_rows import check_rows, unreferenced
from operators.postgres.exchange.manifest import Manifest
from operators.postgres.row_writer import vector_bytes
from operators.postgres.store import Store
from operators.postgres.write.document_writer import document_key

HEAD = Manifest(name="a", model="m", space="s", dimensions=4, migrations=[], rows={})


def cached(space: str, vector: Any) -> dict[str, list[Any]]:
    raw = vector if isinstance(vector, bytes) else np.array(vector, "<f2").tobytes()
    return {"space": [space], "text_hash": ["h"], "embedding": [raw]}


def chunk(*, key: bytes | None = None, vector: list[float] | None = None) -> dict[str, list[Any]]:
    own = key or document_key("docs", "o/r", "d").bytes
    return {
        "document_key": [own],
        "corpus": ["docs"],
        "repo": ["o/r"],
        "document_id": ["d"],
        "embedding": vector_bytes([vector] if vector else [], [vector is not None]),
    }


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("corpora", {"corpus": ["docs"], "chunks": [0], "average_length": [1.0]}),
        ("documents", chunk() | {"metadata": ['{"a": [1, {"b": null}]}'], "chunks": [None]}),
        ("chunks", chunk(vector=[0.5, -0.5, 0.5, 0.5]) | {"metadata": [None]}),
        ("chunks", chunk()),
        ("sync_state", {"value": ["[]"]}),
        ("runs", {"revision": ["0f" * 20], "corpora": [["docs"]]}),
        ("runs", {"revision": ["0f" * 32], "corpora": [[]]}),
        ("embedding_cache", cached("s", [0, 0, 0, 1])),
        ("embedding_cache", cached("an earlier one", [0.6, 0.8])),
    ],
)
def test_what_ingestion_makes_is_taken(table: str, columns: dict[str, list[Any]]) -> None:
    check_rows(table, columns, HEAD)


@pytest.mark.parametrize(
    ("table", "columns", "said"),
    [
        ("corpora", {"corpus": [""]}, "corpus can't be ''"),
        ("corpora", {"average_length": [float("inf")]}, "average_length can't be inf"),
        ("corpora", {"total_length": [-1]}, "total_length can't be -1"),
        ("repos", {"repo": ["r" * 513]}, "repo can't be 'rrr"),
        ("documents", {"metadata": ["1"]}, "metadata can't be '1'"),
        ("documents", {"metadata": ['{"a": NaN}']}, "metadata can't be"),
        ("documents", {"metadata": ["\x1b\n"]}, r"metadata can't be '\\x1b\\n'"),
        ("runs", {"revision": ["HEAD"]}, "revision can't be 'HEAD'"),
        ("runs", {"failed": [-1]}, "failed can't be -1"),
        ("runs", {"corpora": [["c" * 600]]}, "corpora can't be"),
        ("chunks", chunk(key=b"k" * 16), "document_key is not the one of document 'd'"),
        ("chunks", chunk(vector=[0, 0, 0, 0]), "length 0 instead of 1"),
        ("chunks", chunk(vector=[1, 1, 1, 1]), "length 2 instead of 1"),
        ("embedding_cache", cached("s", [1, 0]), "4 bytes instead of 8"),
        ("embedding_cache", cached("other", b"\0"), "1 bytes instead of"),
        ("embedding_cache", cached("other", b""), "0 bytes instead of a vector"),
        ("embedding_cache", cached("s", [np.nan, 0, 0, 0]), "not finite"),
    ],
)
def test_what_no_ingestion_makes_is_refused(
    table: str, columns: dict[str, list[Any]], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        check_rows(table, columns, HEAD)


def test_rows_of_a_document_that_is_not_there_are_counted(full: Store) -> None:
    assert full.run(unreferenced) is None
    full.execute("UPDATE document_sketches SET corpus = 'wi-ki'")
    assert full.run(unreferenced) == ("document_sketches", 1)
