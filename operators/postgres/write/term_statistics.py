"""The counts for the IDF of text search, exact at every commit.

They count the chunks of a corpus and of a repo, their total length, and the chunks with each term.
The transaction that changes the chunks updates them too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from operators.foundation.principals import UNMARKED
from operators.postgres.row_writer import insert_rows
from operators.postgres.store import Connection

SUPERSEDED = {
    **{"chunk_id": "int8", "document_key": "uuid", "corpus": "text", "relation": "text"},
    **{"by_chunk": "int8", "superseded_at": "timestamptz", "last_version": "text"},
}
_KEY_TYPES = {"corpus": "text", "access": "int8"}


@dataclass
class Deltas:
    """How a transaction changes the counts of one corpus."""

    repos: Counter[str] = field(default_factory=Counter)
    length: int = 0
    classes: dict[int, Deltas] = field(default_factory=dict)  # the same of each class but 0
    _terms: Counter[int] = field(default_factory=Counter)

    def count(
        self, repo: str, length: int, terms: Iterable[int], sign: int, access: int = UNMARKED
    ) -> None:
        """Add (``sign`` 1) or subtract (-1) a chunk with these distinct ``terms``."""
        self.repos[repo] += sign
        self.length += sign * length
        for term in terms:
            self._terms[term] += sign
        if access != UNMARKED:
            self.classes.setdefault(access, Deltas()).count(repo, length, terms, sign)

    def terms(self) -> list[tuple[int, int]]:
        """The terms whose number of chunks changes, ascending, and the change."""
        return sorted((term, change) for term, change in self._terms.items() if change)


def delete_chunks(
    conn: Connection,
    keys: list[UUID],
    deltas: dict[str, Deltas],
    written: Mapping[int, UUID] | None = None,
) -> None:
    """Delete the chunks of the documents ``keys`` and subtract them from their corpus's deltas.

    A chunk loses its place among the versions, unless it is in ``written`` (chunk_id: document). If
    its document is no longer in the ledger, it no longer supersedes older chunks.
    """
    _keep_superseded(conn, keys, list(deltas), written or {})
    rows = conn.execute(
        """
        WITH gone AS (
            DELETE FROM chunks WHERE corpus = ANY(%(corpora)s) AND document_key = ANY(%(keys)s)
            RETURNING corpus, chunk_id, document_key
        ), current AS (
            DELETE FROM superseded_chunks s USING gone
            WHERE s.corpus = gone.corpus AND s.by_chunk = gone.chunk_id AND NOT EXISTS (
                SELECT 1 FROM documents d WHERE d.document_key = gone.document_key)
        )
        DELETE FROM postings p USING gone
        WHERE p.corpus = gone.corpus AND p.chunk_id = gone.chunk_id
          AND p.corpus = ANY(%(corpora)s)
        RETURNING p.corpus, p.repo, p.length, p.terms, p.access
        """,
        {"corpora": list(deltas), "keys": keys},
        binary=True,
    )
    for corpus, repo, length, terms, access in rows:
        deltas[corpus].count(repo, length, terms, -1, access)


def _keep_superseded(
    conn: Connection, keys: list[UUID], corpora: list[str], written: Mapping[int, UUID]
) -> None:
    """Keep old versions superseded until the end of the run, which detects versions again.

    Additional chunks of a document get the place of its last chunk.
    """
    last = conn.execute(
        """
        SELECT DISTINCT ON (s.document_key) s.document_key,
            s.corpus, s.relation, s.by_chunk, s.superseded_at, s.last_version
        FROM superseded_chunks s JOIN chunks c ON c.corpus = s.corpus AND c.chunk_id = s.chunk_id
        WHERE s.document_key = ANY(%s) AND c.corpus = ANY(%s)
        ORDER BY s.document_key, c.ordinal DESC
        """,
        (keys, corpora),
    ).fetchall()
    conn.execute(
        "DELETE FROM superseded_chunks"
        " WHERE document_key = ANY(%s) AND chunk_id <> ALL(%s::bigint[])",
        (keys, list(written)),
    )
    rows = {key: row for key, *row in last}
    kept = [(chunk, key, *rows[key]) for chunk, key in written.items() if key in rows]
    insert_rows(conn, "superseded_chunks", SUPERSEDED, kept)


def take_out(conn: Connection, corpus: str, keys: list[UUID]) -> None:
    """Delete the chunks of the documents ``keys`` of one corpus, and update its counts."""
    deltas = {corpus: Deltas()}
    delete_chunks(conn, keys, deltas)
    apply_deltas(conn, deltas)


def apply_deltas(conn: Connection, deltas: dict[str, Deltas]) -> None:
    """Add its deltas to the counts of each corpus."""
    # Every transaction locks the rows in one order (terms by number, then repos, then the corpus),
    # so that no two of them deadlock.
    for corpus, delta in sorted(deltas.items()):
        _add(conn, corpus, delta)
        for access, of in sorted(delta.classes.items()):
            _add(conn, corpus, of, access)
        conn.execute(
            "UPDATE corpora SET chunks = chunks + %s, total_length = total_length + %s"
            " WHERE corpus = %s",
            (sum(delta.repos.values()), delta.length, corpus),
        )


def _add(conn: Connection, corpus: str, delta: Deltas, access: int | None = None) -> None:
    """Add to the counts of a corpus, or of one of its classes."""
    key = {"corpus": corpus} if access is None else {"corpus": corpus, "access": access}
    kinds = {name: _KEY_TYPES[name] for name in key}
    columns, prefix = ", ".join(key), "" if access is None else "access_"
    of, changed = tuple(key.values()), delta.terms()
    added = f"ON CONFLICT ({columns}, term_id) DO UPDATE SET df = {prefix}terms.df + excluded.df"
    terms = [(*of, *change) for change in changed]
    insert_rows(conn, f"{prefix}terms", {**kinds, "term_id": "int4", "df": "int4"}, terms, added)
    conn.execute(
        f"DELETE FROM {prefix}terms WHERE ({columns}) = ({', '.join(['%s'] * len(of))})"
        " AND term_id = ANY(%s::int[]) AND df = 0",
        (*of, [term for term, count in changed if count < 0]),
    )
    repos = [(*of, repo, count) for repo, count in sorted(delta.repos.items()) if count]
    added = (
        f"ON CONFLICT ({columns}, repo)"
        f" DO UPDATE SET chunks = {prefix}repos.chunks + excluded.chunks"
    )
    insert_rows(conn, f"{prefix}repos", {**kinds, "repo": "text", "chunks": "int8"}, repos, added)
