"""Looks up chunks by the names that people use, whether or not a search returns them."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from operators.foundation.sanitize import clean_text
from operators.frames import CHUNKS
from operators.postgres.search.batches import Deadline, run
from operators.postgres.search.code_links import link_findings
from operators.postgres.search.filters import is_visible
from operators.postgres.store import Store
from operators.postgres.undeleted_notes import LEFT_OUT

MOST = 1_000
"""Chunks of one call; a document may have thousands."""

LONGEST_DOCUMENT = 50_000
"""Chunks of one document that is read whole; a text of ``protocol.MAX_TEXT`` has fewer."""

LOCATED = pl.Schema({name: dtype for name, dtype in CHUNKS.items() if name != "embedding"})
"""``CHUNKS`` without vectors."""

_COLUMNS = ", ".join("c.item_state" if name == "state" else f"c.{name}" for name in LOCATED)

_BY_NAME = """d.document_id = ANY(%(names)s::text[]) OR d.path = ANY(%(names)s::text[])
    OR d.title = ANY(%(names)s::text[]) OR d.uri = ANY(%(names)s::text[])"""
_BY_END = """EXISTS (SELECT 1 FROM unnest(%(names)s::text[]) AS n(name)
    WHERE right(lower(d.path), length(n.name) + 1) = '/' || lower(n.name))"""
_IN_LABEL = r"""d.document_key IN (SELECT o.document_key
    FROM (SELECT *, regexp_replace(path, '^.*/', '') AS file, coalesce(substring(document_id
            FROM '^(?:pull|issues|merge_requests)/([0-9]+)'), substring(title
            FROM '^(?:PR #|MR !)([0-9]+)')) AS number,
            regexp_replace(title, '^(PR #|MR !)[0-9]+\s*', '') AS topic FROM documents) o,
        unnest(%(names)s::text[]) AS n(name)
    WHERE o.chunks > 0 AND (strpos(name, nullif(o.file, '')) > 0
        OR strpos(name, left(o.document_id, 20)) > 0
        OR (o.document_id ~ '^[0-9a-f]{7}' AND strpos(name, left(o.document_id, 7)) > 0)
        OR strpos(name, nullif(left(CASE WHEN strpos(name, '…') > 0
            THEN split_part(o.topic, ' ', 1) ELSE o.topic END, 20), '')) > 0
        OR name ~ ('(#|pull/|issues/|requests/)' || o.number || '\M'))
      AND {visible}
    ORDER BY (strpos(name, nullif(o.path, '')) > 0 IS TRUE)::int
        + (strpos(name, nullif(left(o.topic, 60), '')) > 0 IS TRUE)::int
        + (strpos(name, left(o.document_id, 7)) > 0)::int
        + (name ~ ('#' || o.number || '\M') IS TRUE)::int
        + (strpos(name, nullif(o.repo, '')) > 0 IS TRUE)::int DESC,
        length(coalesce(o.path, o.title)) DESC, o.document_key
    LIMIT 100)"""


def locate(
    store: Store,
    chunk_ids: Sequence[int],
    names: Sequence[str],
    *,
    repos: Sequence[str] | None = None,
    visible: Mapping[str, Mapping[str, Any]] | None = None,
    by_end: bool = False,
    in_label: bool = False,
    most: int = MOST,
) -> pl.DataFrame:
    """The chunks with one of ``chunk_ids``, and those of documents with one of ``names``.

    Args:
        names: each is exactly a document's id, path, title or link.
        repos: the repositories that the caller may see; None: every one, empty: none. Other filters
            are ignored here: a caller wants to know why they hide a chunk.
        visible: a corpus's name -> its filters that the configuration sets; None: the store's.
        by_end: ``names`` are instead the ends of paths after a ``/``; case is ignored.
        in_label: ``names`` are instead labels; the documents are the likeliest 100 of those whose
            name, title or id is in one of them.
        most: the maximum number of rows.

    Returns:
        Columns ``LOCATED``, by corpus, document and ordinal.
    """
    parameters = {**_parameters(names, repos), "ids": list(chunk_ids), "most": most}
    visible = store.visible if visible is None else visible
    by_label = _IN_LABEL.replace("{visible}", is_visible("o", visible, parameters))
    named = _BY_END if by_end else by_label if in_label else _BY_NAME
    statement = f"""
        SELECT {_COLUMNS} FROM chunks c
        WHERE (c.chunk_id = ANY(%(ids)s::bigint[]) OR c.document_key IN (
            SELECT d.document_key FROM documents d WHERE {named}))
          AND (%(repos)s::text[] IS NULL OR c.repo = ANY(%(repos)s::text[]))
          AND {is_visible("c", visible, parameters)}
        ORDER BY c.corpus, c.repo, c.document_id, c.ordinal, c.chunk_id LIMIT %(most)s
    """
    deadline = Deadline.after(None, "looking for the named chunks")
    rows = run(store, deadline, lambda conn: conn.execute(statement, parameters).fetchall())
    return link_findings(store, pl.DataFrame(rows, schema=LOCATED, orient="row"), deadline)


def unread_reason(
    store: Store, names: Sequence[str], repos: Sequence[str] | None, visible: Mapping[str, Any]
) -> str | None:
    """Why a document has no chunks: the ledger's reason, or the scan's; None if there is none.

    ``names`` are ids, or their ends after a ``/``; ``repos`` and ``visible`` are as :func:`locate`
    takes them. The ledger has no path for an unread document: a filter on paths hides it.
    """
    parameters = _parameters(names, repos)
    row = store.row(
        f"""
        SELECT coalesce(d.reason, 'it has no text')
        FROM (SELECT * FROM documents UNION ALL {LEFT_OUT}) d, unnest(%(names)s::text[]) name
        WHERE d.chunks = 0 AND (d.document_id = name
            OR right(d.document_id, length(name) + 1) = '/' || name)
          AND (%(repos)s::text[] IS NULL OR d.repo = ANY(%(repos)s::text[]))
          AND {is_visible("d", visible, parameters)}
        ORDER BY length(d.document_id), d.document_key LIMIT 1
        """,
        parameters,
    )
    return str(row[0]) if row else None


def _parameters(names: Sequence[str], repos: Sequence[str] | None) -> dict[str, Any]:
    return {
        "names": [clean_text(name) for name in names],
        "repos": None if repos is None else [clean_text(repo) for repo in repos],
    }
