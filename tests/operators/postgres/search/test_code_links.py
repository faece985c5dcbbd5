from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from operators.postgres.search.batches import Deadline, SearchTimeout
from operators.postgres.search.chunk_lookup import locate
from operators.postgres.search.chunk_reader import fetch_chunks
from operators.postgres.search.code_links import link_findings
from operators.postgres.store import Store


def of_file(chunk_id: int, path: str, **row: Any) -> dict[str, Any]:
    return {"chunk_id": chunk_id, "document_id": path, "path": path, "repo": "org/app", **row}


def finding(chunk_id: int, path: str, **row: Any) -> dict[str, Any]:
    return of_file(chunk_id, path, document_id=f"f{chunk_id}", corpus="memory", **row)


@pytest.fixture
def filled(store: Store, filling: Any) -> Store:
    rows = [
        of_file(1, "src/a.py", uri="https://h/app/src/a.py"),
        of_file(2, "src/a.py", uri="https://h/fork/src/a.py", repo="org/fork"),
        of_file(3, "README.md", uri="https://h/app/README.md", corpus="docs"),
        of_file(4, "src/new.py"),
        finding(11, "src/a.py"),
        finding(12, "src/a.py", repo="org/fork"),
        finding(13, "README.md"),
        finding(14, "src/new.py"),
        finding(15, "src/gone.py"),
        finding(16, "src/a.py", uri="https://tracker/16"),
        finding(17, "src/a.py", repo="org/other"),
        of_file(21, "src/a.py", corpus="wiki"),
    ]
    filling.write(store, rows)
    return store


LINKS = {
    11: "https://h/app/src/a.py",
    12: "https://h/fork/src/a.py",
    13: "https://h/app/README.md",
    14: None,
    15: None,
    16: "https://tracker/16",
    17: None,
}


def test_a_finding_leads_to_its_file_in_its_own_repository(filled: Store, filling: Any) -> None:
    ids = pl.Series(list(LINKS), dtype=pl.Int64)
    read = fetch_chunks(filled, "memory", ids, filling.queries([{}]))
    assert dict(read["chunk_id", "uri"].iter_rows()) == LINKS
    located = locate(filled, list(LINKS), [])
    assert dict(located["chunk_id", "uri"].iter_rows()) == LINKS


def test_a_page_of_another_corpus_takes_no_link_of_a_file(filled: Store, filling: Any) -> None:
    (chunk,) = fetch_chunks(filled, "wiki", pl.Series([21]), filling.queries([{}])).to_dicts()
    assert chunk["uri"] is None


def test_only_a_finding_without_a_link_is_looked_up(filled: Store) -> None:
    late = Deadline.after(1e-9, "looking up")
    plain = locate(filled, [1, 16, 21], [])
    assert link_findings(filled, plain, late) is plain
    with pytest.raises(SearchTimeout):
        link_findings(filled, locate(filled, [15], []), late)
