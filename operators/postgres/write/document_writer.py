"""Writes whole documents: a reader sees a document's old chunks or its new ones, never a mixture.

One transaction a batch replaces the chunks of its documents, their ledger rows, and the counts for
the IDF of text search. It writes cached vectors; workers add the others later. Bulk work follows in
:func:`operators.postgres.schema.indexes.make_searchable`.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any
from uuid import UUID

import numpy as np
import polars as pl

from operators.dedup.token_index import token_sketches
from operators.errors import CrosscorpusError
from operators.foundation.principals import ALLOWED, RESTRICTED, access_class
from operators.foundation.sanitize import clean_frame
from operators.frames import CHUNKS, DOCUMENTS, FrameError
from operators.postgres.document_key import document_key
from operators.postgres.row_writer import LARGEST_HALF, copy_rows, insert_rows, vector_bytes
from operators.postgres.schema.caller_views import make_views, views_schema
from operators.postgres.schema.migrate import schema_exists
from operators.postgres.schema.partitions import ensure_partitions, lock, lock_writers
from operators.postgres.store import Connection, Store, check_space, collection_info, need_space
from operators.postgres.write.postings import count_terms, write_postings
from operators.postgres.write.term_statistics import Deltas, apply_deltas, delete_chunks, take_out
from operators.postgres.write.version_store import keep_names

LONGEST_KEY = 512
"""Maximum characters of a corpus or repo name, because it is an index key."""

RULES = "rights/rules"
"""The lock of writers that apply the rules, and of whoever sets them."""

_RENAMED = {"state": "item_state"}
_KEY_TEXTS = ("document_id", "repo", "title", "path", "uri", "language", "item_state")
_MORE_TEXTS = ("date_source", "version", "lineage_id", "metadata")
_TIMES = ("created_at", "doc_date")
_RIGHTS = {"access": "int8", "allowed_by": "text"}
_LEDGER_TEXTS = ("corpus", "content_hash", "fingerprint", *_KEY_TEXTS, *_MORE_TEXTS, "reason")
_LEDGER = {
    **{"document_key": "uuid", "chunks": "int4", "state": "text"},
    **dict.fromkeys(_LEDGER_TEXTS, "text"),
    **dict.fromkeys(_TIMES, "timestamptz"),
    **_RIGHTS,
}

_CHUNK = {
    **{"document_key": "uuid", "embedding": "bytea", "token_sketch": "bytea", "chunk_id": "int8"},
    **dict.fromkeys(("corpus", "text", "anchor", *_KEY_TEXTS, *_MORE_TEXTS), "text"),
    **dict.fromkeys(("ordinal", "start_line", "end_line"), "int4"),
    **dict.fromkeys(_TIMES, "timestamptz"),
    "access": "int8",
}


@dataclass(frozen=True)
class Written:
    """What a batch wrote; ``replaced`` counts characters that Postgres cannot store.

    ``new`` documents had no ledger row when they were written: another run may write them too.
    """

    documents: int
    new: int
    chunks: int
    replaced: int


class RulesChanged(CrosscorpusError):
    """The collection's rules of who may see what have changed since they were read."""


def write_documents(
    store: Store, documents: pl.DataFrame, chunks: pl.DataFrame, rules: str | None = None
) -> Written:
    """Replace ``documents`` and their ``chunks`` in the store, or add them.

    Args:
        store: the open collection; its model is set.
        documents: columns ``DOCUMENTS``, ``content_hash`` and ``fingerprint``, each document once;
            optionally ``note`` (String) on how it was read, and ``allowed`` (List(String), the
            principals that may see it; null: unmarked) with ``allowed_by``. A document without
            chunks is recorded as empty.
        chunks: columns ``CHUNKS``, of those documents only. A chunk without an embedding is queued,
            see :mod:`operators.postgres.write.chunk_vectors`. ``ALLOWED`` in its metadata names its
            readers, if they are not its document's.
        rules: the text of the rules file that ``allowed`` comes from, empty if there was none;
            None: do not check.

    Raises:
        RulesChanged: the rules have changed meanwhile; nothing is written.
        CrosscorpusError: no model is set, a vector is not finite or of another dimension, a
            document is listed twice, or a chunk belongs to none of the documents.
        FrameError: a column is missing.
        ModelMismatch: the collection holds vectors of another space than ``store`` was opened for.
    """
    _need(documents, [*DOCUMENTS, "content_hash", "fingerprint"], "documents")
    _need(chunks, list(CHUNKS), "chunks")
    vectors = _vectors(store, chunks)
    texts, replaced = clean_frame(chunks.drop("embedding"))
    documents, replaced_too = clean_frame(documents.drop("text"))
    if "note" not in documents.columns:
        documents = documents.with_columns(note=None)
    if "allowed" not in documents.columns:
        documents = documents.with_columns(allowed=None, allowed_by=None)
    texts, documents = texts.rename(_RENAMED), documents.rename(_RENAMED | {"note": "reason"})
    documents, classes = _classed(documents)
    _check_names(documents, "documents")
    _check_names(texts, "chunks")
    keys = document_keys(documents)
    chunk_keys = document_keys(texts)
    _check_keys(documents, keys, chunk_keys)
    of = dict(zip(keys, documents["access"], strict=True))
    metadata, own = _own_readers(texts["metadata"])
    classes |= {access_class(one): one for one in own if one is not None}
    access = [
        of[key] if one is None else access_class(one)
        for key, one in zip(chunk_keys, own, strict=True)
    ]
    texts = texts.with_columns(metadata, pl.Series("access", access, dtype=pl.Int64))

    counts = count_terms(texts)
    corpora = sorted(set(documents["corpus"]))
    if documents.is_empty():
        return Written(0, 0, 0, 0)
    if classes:
        keep_classes(store, classes)
    ensure_partitions(store, corpora)
    chunk_counts = Counter(chunk_keys)
    ledger = [
        (key, chunk_counts[key], "indexed" if chunk_counts[key] else "empty", *row)
        for key, row in zip(keys, documents.select(list(_LEDGER)[3:]).rows(), strict=True)
    ]
    named = documents.select("corpus", "path", "document_id", "version").rows()
    names = [(key, None, *row) for key, row in zip(keys, named, strict=True)]
    plain = texts.select(list(_CHUNK)[3:]).rows()
    of_chunk = zip(chunk_keys, vectors, token_sketches(texts["text"].to_list()), plain, strict=True)
    rows = [(*three, *row) for *three, row in of_chunk]
    written = dict(zip(texts["chunk_id"].to_list(), chunk_keys, strict=True))

    def work(conn: Connection) -> int:
        if rules is not None:
            lock(conn, RULES, alone=False)  # new rules wait for this, and then apply to it
            if rules_of(conn) != rules:
                raise RulesChanged("the rights of the collection have changed meanwhile")
        lock_writers(conn, corpora)
        check_space(store, conn)
        totals = {"corpus": "text", "chunks": "int8", "total_length": "int8"}
        insert_rows(conn, "corpora", totals, [(corpus, 0, 0) for corpus in corpora])
        # The ledger first: its row locks serialise two writers of one document.
        new = write_ledger(conn, _LEDGER, ledger)
        keep_names(conn, names)
        deltas = {corpus: Deltas() for corpus in corpora}
        delete_chunks(conn, keys, deltas, written)
        copy_rows(conn, "chunks", _CHUNK, rows)
        write_postings(conn, texts, counts, deltas)
        apply_deltas(conn, deltas)
        return new

    new = store.run(work)
    store.forget_info()
    return Written(len(documents), new, len(texts), replaced + replaced_too)


def rules_of(conn: Connection) -> str:
    """The text of the current rules file; empty if no rules are set."""
    row = conn.execute("SELECT rules FROM rights").fetchone()
    return str(row[0]) if row else ""


def keep_classes(store: Store, classes: Mapping[int, Sequence[str]]) -> None:
    """Record the principals of ``classes``; the first call creates the views of callers."""

    def work(conn: Connection) -> None:
        lock(conn, "rights")
        if not schema_exists(conn, views_schema(store.schema)):
            make_views(conn, store.schema)
        for access, names in sorted(classes.items()):
            conn.execute(
                "INSERT INTO access_classes (access, principals) VALUES (%s, %s)"
                " ON CONFLICT DO NOTHING",
                (access, list(names)),
            )

    store.run(work)


def delete_documents(
    store: Store, corpus: str, repo: str, document_ids: Sequence[str] | pl.Series
) -> int:
    """Delete documents with their chunks and ledger rows; return how many there were."""
    keys = sorted(document_key(corpus, repo, document_id) for document_id in document_ids)

    def work(conn: Connection) -> int:
        lock_writers(conn, [corpus])
        deleted = conn.execute("DELETE FROM documents WHERE document_key = ANY(%s)", (keys,))
        take_out(conn, corpus, keys)
        return deleted.rowcount

    deleted = store.run(work)
    store.forget_info()
    return deleted


def document_keys(frame: pl.DataFrame) -> list[UUID]:
    """The key of each row's document, from its columns corpus, repo and document_id."""
    return [document_key(*row) for row in frame.select("corpus", "repo", "document_id").iter_rows()]


def write_ledger(
    conn: Connection, columns: Mapping[str, str], rows: Iterable[Sequence[Any]]
) -> int:
    """Write rows of the ledger, ``document_key`` first; return how many documents are new."""
    changed = ", ".join(f"{name} = excluded.{name}" for name in columns)
    replaced = (
        f"ON CONFLICT (document_key) DO UPDATE SET {changed}, failed_with = NULL,"
        " failed_reason = NULL, indexed_at = excluded.indexed_at RETURNING xmax = 0"
    )
    inserted = insert_rows(conn, "documents", columns, sorted(rows, key=itemgetter(0)), replaced)
    return sum(is_new for (is_new,) in inserted)


def _need(frame: pl.DataFrame, columns: Sequence[str], name: str) -> None:
    if missing := [column for column in columns if column not in frame.columns]:
        raise FrameError(f"{name}: missing column {', '.join(map(repr, missing))}")


def _check_names(frame: pl.DataFrame, name: str) -> None:
    for column in ("corpus", "repo", "document_id"):
        values = frame[column]
        if values.null_count() or (column == "corpus" and (values == "").any()):
            raise CrosscorpusError(f"{name}: a row has no {column}")
        longest = values.str.len_chars().max()
        if column != "document_id" and isinstance(longest, int) and longest > LONGEST_KEY:
            raise CrosscorpusError(
                f"{name}: a {column} name of {longest} characters, at most {LONGEST_KEY} are taken"
            )


def _check_keys(documents: pl.DataFrame, keys: list[UUID], chunk_keys: list[UUID]) -> None:
    if twice := [key for key, count in Counter(keys).items() if count > 1]:
        name = documents["document_id"][keys.index(twice[0])]
        raise CrosscorpusError(f"document {name!r} is listed twice in one batch")
    if strangers := set(chunk_keys) - set(keys):
        raise CrosscorpusError(f"{len(strangers)} chunks are of none of the batch's documents")


def _classed(documents: pl.DataFrame) -> tuple[pl.DataFrame, dict[int, list[str]]]:
    """``documents`` with the number of their class in ``access``, and the classes."""
    named = [None if one is None else list(one) for one in documents["allowed"].to_list()]
    numbers = [access_class(one) for one in named]
    classes = {of: one for of, one in zip(numbers, named, strict=True) if one is not None}
    access = pl.Series("access", numbers, dtype=pl.Int64)
    return documents.drop("allowed").with_columns(access), classes


def _own_readers(metadata: pl.Series) -> tuple[pl.Series, list[list[str] | None]]:
    """The chunks' metadata with a mark in the place of ``ALLOWED``, and its values."""
    kept: list[str | None] = metadata.to_list()
    readers: list[list[str] | None] = [None] * len(kept)
    for at in (
        metadata.str.contains(f'"{ALLOWED}":', literal=True).fill_null(value=False).arg_true()
    ):
        known = json.loads(kept[at] or "{}")
        readers[at] = known.pop(ALLOWED, None)
        if readers[at] is not None:
            kept[at] = json.dumps(known | {RESTRICTED: True}, sort_keys=True, ensure_ascii=False)
    return pl.Series("metadata", kept, dtype=pl.String), readers


def _vectors(store: Store, chunks: pl.DataFrame) -> list[bytes | None]:
    info = collection_info(store)
    need_space(store, info.model, info.space)
    if info.dimensions is None:
        raise CrosscorpusError(
            f"collection {store.collection!r} has no model yet: set_model comes before writing"
        )
    embedding = chunks["embedding"].cast(pl.List(pl.Float32))
    vectors = embedding.drop_nulls()
    if wrong := set(vectors.list.len().to_list()) - {info.dimensions}:
        raise CrosscorpusError(
            f"a vector has {min(wrong)} dimensions, but collection {store.collection!r} holds "
            f"vectors of model {info.model!r} with {info.dimensions}"
        )
    flat = vectors.explode()
    values = flat.to_numpy().astype(np.float32, copy=False).reshape(len(vectors), info.dimensions)
    unfit = ~(np.abs(values) <= LARGEST_HALF).all(axis=1)
    if flat.null_count() or unfit.any():
        named = chunks["document_id"].filter(embedding.is_not_null())
        raise CrosscorpusError(
            f"{int(unfit.sum())} vectors are not finite half-precision numbers (NaN, infinity or "
            f"beyond {LARGEST_HALF:g}), the first in document {named[int(np.argmax(unfit))]!r}"
        )
    return vector_bytes(values, embedding.is_not_null())
