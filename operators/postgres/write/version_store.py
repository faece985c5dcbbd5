"""The place of each document among the versions of its topic, and the superseded chunks.

Both tables are derived from the ledger and the chunks. A run records their state at its very end,
so the run after an interrupted one detects the versions again.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import polars as pl
from psycopg.rows import TupleRow

from operators.foundation.front_matter import find_front_matter
from operators.postgres.row_writer import insert_rows
from operators.postgres.schema.partitions import lock
from operators.postgres.store import Connection, Store
from operators.postgres.write.term_statistics import SUPERSEDED
from operators.versions import lineage, text_sketches
from operators.versions.alignment import Passage
from operators.versions.lineage import LINEAGE_DOCUMENTS, LINEAGES
from operators.versions.moved_sections import Ends
from operators.versions.normalized_names import versionless_path

PLACED_VERSIONS = pl.Schema({**LINEAGES, "compared": pl.Boolean()})
"""``compared``: neither the document nor the one it moved to has changed since its passages were
compared."""

SEARCHED = ("document_versions", "superseded_chunks")
"""The tables that searches read."""

NAMES = lineage.RULES * 100 + text_sketches.RULES
"""Version of the rules for a document's stored names and sketch."""

DOCUMENTS_AT_ONCE = 200
"""Maximum number of documents whose texts are in memory for sketches."""

NAMES_AT_ONCE = 5_000
"""Maximum number of documents whose names are in memory."""

_PLACES = {
    **{"document_key": "uuid", "lineage_id": "text", "version": "text", "position": "int4"},
    **{"newest": "bool", "released_at": "timestamptz", **dict.fromkeys(Ends._fields, "uuid")},
    **{"indexed_at": "timestamptz", "corpus": "text"},
}

_HASH = "hashfloat8extended(date_part('epoch', indexed_at), uuid_hash_extended(document_key, 0))"
_MODULUS = 2**62
_STAMP = f"coalesce(sum({_HASH}) %% {_MODULUS}, 0)::bigint"
_CORPORA = """
    SELECT corpus, v.versioned, v.rules IS DISTINCT FROM %s
    FROM corpora FULL JOIN versioned_corpora v USING (corpus) ORDER BY corpus COLLATE "C"
"""

_CANDIDATES = """
    (SELECT d.*, s.sketch FROM (
         SELECT document_key, sketch FROM document_sketches WHERE corpus = %(corpus)s AND versioned
         UNION ALL
         SELECT p.document_key, p.sketch FROM document_sketches p JOIN (
             SELECT DISTINCT path FROM document_sketches
             WHERE corpus = %(corpus)s AND versioned AND path <> '') v
             ON p.path = v.path AND hashtextextended(p.path, 0) = hashtextextended(v.path, 0)
         WHERE p.corpus = %(corpus)s AND p.versioned IS NOT TRUE
     ) s JOIN documents d USING (document_key) WHERE d.state = 'indexed') AS candidates
"""
"""Documents with a version or a date in the name, and those at such a path without it."""


class Changed(NamedTuple):
    """A corpus whose versions must be detected again."""

    corpus: str
    anew: bool  # the stored versions come from other rules or none, so none is kept


class Candidates(NamedTuple):
    """The documents of a corpus that may be versions of a topic."""

    stamp: int  # of these documents; :func:`mark_found` takes it
    unsketched: list[str]  # the keys of those without a sketch of their current text
    rows: list[TupleRow]  # the class of rights, then ``LINEAGE_DOCUMENTS``

    def by_class(self, sketches: Mapping[str, bytes]) -> dict[int, pl.DataFrame]:
        """``LINEAGE_DOCUMENTS`` by class of rights; ``sketches``: of ``unsketched``, by key."""
        by_class: dict[int, list[TupleRow]] = {}
        for access, key, *names, sketch in self.rows:
            row = (key, *names, sketches.get(key, sketch))
            by_class.setdefault(access, []).append(row)
        return {
            access: pl.DataFrame(by_class[access], schema=LINEAGE_DOCUMENTS, orient="row")
            for access in sorted(by_class)
        }


class SupersededChunk(NamedTuple):
    """A row of ``superseded_chunks``: a passage that the newest version lacks or replaces."""

    chunk_id: int
    document_key: str
    relation: str
    by_chunk: int | None
    superseded_at: datetime | None
    last_version: str | None


class Stored(NamedTuple):
    """The passages of a document, in order, and the time from which a search may see them."""

    chunk_ids: list[int]
    passages: list[Passage]
    created_at: datetime | None


def changed_corpora(store: Store, rules: int) -> list[Changed]:
    """The corpora whose candidates or rules have changed since their versions were detected."""
    changed = []
    for corpus, known, anew in store.rows(_CORPORA, (rules,)):
        ((stamp,),) = store.rows(f"SELECT {_STAMP} FROM {_CANDIDATES}", {"corpus": corpus})
        if anew or stamp != known:
            changed.append(Changed(corpus, anew))
    return changed


def mark_found(store: Store, corpus: str, stamp: int, rules: int) -> None:
    """Record that all versions of a corpus are detected; ``stamp``: of its :class:`Candidates`."""
    store.execute(
        "INSERT INTO versioned_corpora (corpus, rules, versioned) VALUES (%s, %s, %s)"
        " ON CONFLICT (corpus) DO UPDATE SET rules = excluded.rules,"
        " versioned = excluded.versioned, found_at = excluded.found_at",
        (corpus, rules, stamp),
    )
    store.forget_info()


def unnamed(store: Store, corpus: str) -> Iterator[list[TupleRow]]:
    """The indexed documents of a corpus whose names are not stored, or under other rules.

    Yields:
        Up to ``NAMES_AT_ONCE`` documents, as :func:`keep_names` takes them.
    """
    after = "00000000-0000-0000-0000-000000000000"
    while rows := store.rows(
        "SELECT d.document_key::text, d.indexed_at, d.corpus, d.path, d.document_id, d.version"
        " FROM documents d LEFT JOIN document_sketches s USING (document_key)"
        " WHERE d.corpus = %s AND d.state = 'indexed' AND d.document_key > %s"
        " AND (d.indexed_at, %s) IS DISTINCT FROM (s.indexed_at, s.rules)"
        " ORDER BY d.document_key LIMIT %s",
        (corpus, after, NAMES, NAMES_AT_ONCE),
    ):
        yield rows
        after = rows[-1][0]


def keep_names(conn: Connection, documents: Sequence[TupleRow]) -> None:
    """Store the names of documents without their versions, and forget their sketches.

    Args:
        documents: document_key, indexed_at (None: that of the ledger), corpus, path, document_id
            and version. One that was written again meanwhile keeps its new names.
    """
    named = [
        (key, at, *name)
        for key, at, *names in documents
        if (name := versionless_path(*names)) is not None
    ]
    keys, times = [row[0] for row in documents], [row[1] for row in documents]
    # Locked until the end: meanwhile no writer can replace these documents and their names.
    conn.execute(
        "SELECT FROM documents WHERE document_key = ANY(%s::uuid[])"
        " ORDER BY document_key FOR SHARE",
        (keys,),
    )
    conn.execute(
        "DELETE FROM document_sketches s USING unnest(%s::uuid[], %s::timestamptz[])"
        " AS n(key, indexed_at) JOIN documents d ON d.document_key = n.key"
        " AND d.indexed_at = coalesce(n.indexed_at, d.indexed_at) WHERE s.document_key = n.key",
        (keys, times),
    )
    if not named:
        return
    conn.execute(
        "INSERT INTO document_sketches (document_key, corpus, indexed_at, rules, path, versioned)"
        " SELECT d.document_key, d.corpus, d.indexed_at, %s, n.path, n.versioned FROM"
        " unnest(%s::uuid[], %s::timestamptz[], %s::text[], %s::bool[])"
        " AS n(key, indexed_at, path, versioned)"
        " JOIN documents d ON d.document_key = n.key"
        " AND d.indexed_at = coalesce(n.indexed_at, d.indexed_at)"
        " ON CONFLICT (document_key) DO NOTHING",
        (NAMES, *map(list, zip(*named, strict=True))),
    )


def candidates(store: Store, corpus: str) -> Candidates:
    """The documents of a corpus that may be versions of a topic."""
    rows = store.rows(
        f"SELECT {_HASH}, access, document_key::text, repo, document_id, path, title, version,"
        " doc_date, date_source, CASE WHEN strpos(metadata, '\"topic\"') > 0"
        " THEN metadata::jsonb ->> 'topic' END, sketch"
        f" FROM {_CANDIDATES} ORDER BY document_key",
        {"corpus": corpus},
    )
    total = sum(row[0] for row in rows)
    stamp = abs(total) % _MODULUS * (-1 if total < 0 else 1)  # as the server's %
    unsketched = [row[2] for row in rows if row[-1] is None]
    return Candidates(stamp, unsketched, [row[1:] for row in rows])


def texts(
    store: Store, corpus: str, keys: Sequence[str]
) -> Iterator[list[tuple[str, datetime, str]]]:
    """The texts of documents.

    Yields:
        Up to ``DOCUMENTS_AT_ONCE`` documents: document_key, indexed_at and text.
    """
    for start in range(0, len(keys), DOCUMENTS_AT_ONCE):
        yield store.rows(
            "SELECT d.document_key::text, d.indexed_at,"
            " coalesce(string_agg(c.text, E'\\n' ORDER BY c.ordinal), '')"
            " FROM documents d LEFT JOIN chunks c"
            " ON c.corpus = %s AND c.document_key = d.document_key"
            " WHERE d.document_key = ANY(%s::uuid[]) GROUP BY d.document_key"
            " ORDER BY d.document_key",
            (corpus, list(keys[start : start + DOCUMENTS_AT_ONCE])),
        )


def keep_sketches(store: Store, sketches: Sequence[tuple[str, datetime, bytes]]) -> None:
    """Store sketches: document_key, indexed_at of the sketched text, and the sketch."""
    columns = list(zip(*sketches, strict=True)) or [(), (), ()]
    store.execute(
        "UPDATE document_sketches SET sketch = s.sketch FROM"
        " unnest(%s::uuid[], %s::timestamptz[], %s::bytea[]) AS s(key, indexed_at, sketch)"
        " JOIN documents d ON d.document_key = s.key AND d.indexed_at = s.indexed_at"
        " WHERE document_sketches.document_key = s.key",
        (*map(list, columns),),
    )


def placed(store: Store, corpus: str) -> pl.DataFrame:
    """The stored versions of a corpus: columns ``PLACED_VERSIONS``, by lineage and position."""
    rows = store.rows(
        "SELECT v.document_key::text, v.lineage_id, v.version, v.position, v.newest,"
        " v.released_at, v.split_from::text, v.ended_in::text, v.moved_to::text,"
        " d.indexed_at = v.indexed_at AND d.state = 'indexed'"
        " FROM document_versions v JOIN documents d USING (document_key)"
        ' WHERE v.corpus = %s ORDER BY v.lineage_id COLLATE "C", v.position',
        (corpus,),
    )
    # a separate statement: a cluster supports no correlated subquery on sharded chunks
    lost = store.rows(
        "SELECT DISTINCT s.document_key::text FROM superseded_chunks s"
        " LEFT JOIN chunks n ON n.corpus = s.corpus AND n.chunk_id = s.by_chunk"
        " WHERE s.corpus = %s AND s.by_chunk IS NOT NULL AND n.chunk_id IS NULL",
        (corpus,),
    )
    whole = ~pl.col("document_key").is_in([key for (key,) in lost])
    compared = pl.col("compared") & (pl.col("moved_to").is_null() | whole)
    return pl.DataFrame(rows, schema=PLACED_VERSIONS, orient="row").with_columns(compared=compared)


def passages(store: Store, corpus: str, key: str) -> tuple[datetime | None, Stored]:
    """A document's indexed_at (None: it is deleted) and its passages, without front matter."""
    rows = store.rows(
        "SELECT d.indexed_at, d.created_at, c.chunk_id, c.anchor, c.text FROM documents d"
        " LEFT JOIN chunks c ON c.corpus = %s AND c.document_key = d.document_key"
        " WHERE d.document_key = %s ORDER BY c.ordinal, c.chunk_id",
        (corpus, key),
    )
    chunks = [row[2:] for row in rows if row[2] is not None]
    texts = [Passage(anchor, text) for _, anchor, text in chunks]
    if texts:
        matter = find_front_matter(texts[0].text)
        body = texts[0].text[matter.end :] if matter else texts[0].text
        texts[0] = texts[0]._replace(text=body if body.strip() else "---")
    indexed_at, created_at = rows[0][:2] if rows else (None, None)
    return indexed_at, Stored([row[0] for row in chunks], texts, created_at)


def write_lineages(
    store: Store,
    corpus: str,
    versions: pl.DataFrame,
    indexed_at: Sequence[datetime | None],
    superseded: Sequence[SupersededChunk],
    leaving: Sequence[str] = (),
) -> bool:
    """Replace the stored lineages of these documents of a corpus, in one transaction.

    Args:
        versions: columns of ``operators.versions.lineage.LINEAGES``, of whole lineages.
        indexed_at: of each document when its passages were read; None: it is deleted.
        superseded: the passages that newer versions lack or replace.
        leaving: documents that were in lineages and are now in none.

    Returns:
        False if a document has changed since its passages were read; then nothing is written.
    """
    keys = versions["document_key"].to_list()

    def work(conn: Connection) -> bool:
        lock(conn, f"versions/{corpus}")
        # Locked until the end: meanwhile no writer can replace the chunks of these documents.
        unchanged = conn.execute(
            "SELECT d.document_key FROM unnest(%s::uuid[], %s::timestamptz[]) AS k(key, indexed_at)"
            " JOIN documents d ON d.document_key = k.key AND d.indexed_at = k.indexed_at"
            " WHERE d.state = 'indexed' ORDER BY d.document_key FOR SHARE OF d",
            (keys, list(indexed_at)),
        ).fetchall()
        if len(unchanged) < len(keys):
            return False
        # invalidates caches of the corpus's versions
        conn.execute("UPDATE versioned_corpora SET found_at = now() WHERE corpus = %s", (corpus,))
        for table in SEARCHED:
            gone = f"DELETE FROM {table} WHERE document_key = ANY(%s::uuid[])"
            conn.execute(gone, ([*keys, *leaving],))
        placed_now = zip(versions.select(list(_PLACES)[:-2]).iter_rows(), indexed_at, strict=True)
        rows = [(*version, at, corpus) for version, at in placed_now]
        insert_rows(conn, "document_versions", _PLACES, rows, "")
        chunks = [(*chunk[:2], corpus, *chunk[2:]) for chunk in superseded]
        insert_rows(conn, "superseded_chunks", SUPERSEDED, chunks, "")
        return True

    return store.run(work)


def broken(store: Store) -> list[tuple[str, int]]:
    """The corpora with rows whose chunk is missing, and the number of these rows."""
    return store.rows(
        "SELECT s.corpus, count(*) FROM superseded_chunks s"
        " LEFT JOIN chunks c ON c.corpus = s.corpus AND c.chunk_id = s.chunk_id"
        " LEFT JOIN chunks n ON n.corpus = s.corpus AND n.chunk_id = s.by_chunk"
        " WHERE c.chunk_id IS NULL OR c.document_key <> s.document_key"
        " OR (s.by_chunk IS NOT NULL AND n.chunk_id IS NULL) GROUP BY 1 ORDER BY 1"
    )


def invalidate_versions(store: Store, corpus: str) -> None:
    """Make the next run detect all versions of a corpus again."""
    store.execute("UPDATE versioned_corpora SET rules = -1 WHERE corpus = %s", (corpus,))
