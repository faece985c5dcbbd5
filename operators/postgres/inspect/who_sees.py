"""Who sees what in a collection, and why."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from operators.errors import UnknownName, suggest
from operators.foundation.principals import EVERYONE, IMPORTED, UNMARKED
from operators.postgres.store import Store

SETS = pl.Schema(
    {
        "corpus": pl.String(),
        "allowed": pl.List(pl.String()),  # null: unmarked
        "documents": pl.Int64(),
    }
)


class Reason(NamedTuple):
    """Whether a caller sees a document, and which rule or source decides it."""

    corpus: str
    repo: str
    document_id: str
    path: str | None
    sees: bool
    allowed: list[str] | None
    allowed_by: str | None  # ``source``, or the number of a rule; None: nothing
    opened: bool  # it is unmarked, and everyone may see unmarked documents
    about: str | None = None  # a path: what this commit says of the file there


MOST_COMMITS = 20
"""The newest commits that are listed for a path."""

_COMMITS = f"""
    SELECT d.corpus, d.repo, d.document_id, c.access, a.principals
    FROM documents d JOIN chunks c ON c.corpus = d.corpus AND c.document_key = d.document_key
    LEFT JOIN access_classes a ON a.access = c.access
    WHERE d.path IS NULL AND d.metadata::json->>'files' IS NOT NULL
        AND strpos(E'\\n' || c.text || E'\\n', E'\\n' || %s || E'\\n') > 0
    ORDER BY d.created_at DESC NULLS LAST, 1, 2, 3 LIMIT {MOST_COMMITS}
"""


def sets(store: Store) -> pl.DataFrame:
    """Columns ``SETS``: how many documents of each corpus each set of principals sees."""
    rows = store.rows(
        "SELECT d.corpus, a.principals, count(*) FROM documents d"
        " LEFT JOIN access_classes a USING (access)"
        " GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2"
    )
    return pl.DataFrame(rows, schema=SETS, orient="row")


_OPEN = (
    "coalesce((SELECT unmarked FROM rights),"
    f" NOT EXISTS (SELECT 1 FROM access_classes WHERE access <> {IMPORTED}))"
)


def is_open(store: Store) -> bool:
    """Whether everyone may see unmarked documents; true if nothing else has rights."""
    return store.row(f"SELECT {_OPEN}") == (True,)


def for_owner(store: Store) -> int:
    """How many documents only the owner sees, because nothing says who may."""
    row = store.row(
        "SELECT count(*) FROM documents"
        f" WHERE access = {IMPORTED} OR access = {UNMARKED} AND NOT {_OPEN}"
    )
    return int(row[0]) if row else 0


def reasons(store: Store, names: Sequence[str], document: str) -> list[Reason]:
    """For each document with that path or id, whether a caller with principals ``names`` sees it.

    Then the same of what the newest ``MOST_COMMITS`` commits say of that path.

    Raises:
        UnknownName: there is none; suggests the nearest path.
    """
    rows = store.rows(
        "SELECT d.corpus, d.repo, d.document_id, d.path, d.access, a.principals, d.allowed_by"
        " FROM documents d LEFT JOIN access_classes a USING (access)"
        " WHERE %s IN (d.path, d.document_id) ORDER BY 1, 2, 3",
        (document,),
    )
    commits = store.rows(_COMMITS, (document,))
    if not rows and not commits:
        known = [str(path) for (path,) in store.rows("SELECT DISTINCT path FROM documents") if path]
        raise UnknownName(f"no document {document!r}{suggest(document, known)}")
    opened, own = is_open(store), {*names, EVERYONE}
    listed = []
    for corpus, repo, document_id, path, access, allowed, by in rows:
        sees = opened if access == UNMARKED else bool(own & {*allowed})
        listed.append(Reason(corpus, repo, document_id, path, sees, allowed, by, opened))
    for corpus, repo, document_id, access, allowed in commits:
        sees = opened if access == UNMARKED else bool(own & {*allowed})
        reason = Reason(corpus, repo, document_id, None, sees, allowed, None, opened, document)
        listed.append(reason)
    return listed
