"""The commits that changed a file or a folder, newest first: why it is as it is.

What a commit changed stands in its metadata, under the names that files have today, if it changed
few (``CHANGED_PATHS``). Who has the working tree knows the commits of single lines, and gives them.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from operators.frames import CHANGED_PATHS
from operators.postgres.search.filters import is_visible
from operators.postgres.store import Store

COMMITS = pl.Schema(
    {
        "corpus": pl.String(),
        "chunk_id": pl.Int64(),  # of the beginning of its message
        "commit": pl.String(),
        "subject": pl.String(),
        "author": pl.String(),
        "created_at": pl.Datetime("us", "UTC"),
        "reverts": pl.String(),  # the commit that it undoes; null: none is named
    }
)

_REVERTS = re.compile(r"\bThis reverts commit ([0-9a-f]{7,40})\b")
# of any passage of the commit: where files have other readers than its message, theirs name them
_BY_PATH = f"""c.document_key IN (
    SELECT o.document_key FROM chunks o, jsonb_array_elements_text(CASE
        WHEN jsonb_typeof(o.metadata::jsonb -> '{CHANGED_PATHS}') = 'array'
        THEN o.metadata::jsonb -> '{CHANGED_PATHS}' END) AS p(path)
    WHERE strpos(o.metadata, %(quoted)s) > 0
      AND (p.path = %(path)s OR starts_with(p.path, %(path)s || '/')) AND {{visible}})"""
_IS_ONE = "c.document_id = ANY(%(commits)s::text[])"


def commits_of(
    store: Store,
    path: str,
    visible: Mapping[str, Mapping[str, Any]],
    *,
    repo: str | None = None,
    commits: Sequence[str] | None = None,
    most: int = 50,
) -> pl.DataFrame:
    """``COMMITS`` that changed ``path``, newest first.

    Args:
        path: of a file, or of a folder, without a slash at its end.
        visible: as :func:`operators.postgres.search.chunk_lookup.locate` takes it; only commits of
            its corpora.
        repo: only commits of this repository.
        commits: only these; which of them changed the path is then not looked at. Of one second
            they stay in this order.
    """
    parameters: dict[str, Any] = {"path": path, "repo": repo, "most": most}
    parameters |= {"quoted": json.dumps(path, ensure_ascii=False)[:-1], "commits": commits}
    by_path = _BY_PATH.replace("{visible}", is_visible("o", visible, parameters))
    rows = store.rows(
        f"""
        SELECT c.corpus, c.chunk_id, c.document_id, c.title, c.metadata, c.created_at, c.text
        FROM chunks c
        WHERE c.ordinal = 0 AND c.metadata LIKE '%%"commit": %%'
          AND (%(repo)s::text IS NULL OR c.repo = %(repo)s)
          AND {by_path if commits is None else _IS_ONE}
          AND c.corpus = ANY(%(filtered)s::text[]) AND {is_visible("c", visible, parameters)}
        ORDER BY c.created_at DESC NULLS LAST,
            array_position(%(commits)s::text[], c.document_id), c.chunk_id LIMIT %(most)s
        """,
        parameters,
    )
    made = []
    for corpus, chunk_id, commit, subject, metadata, created_at, text in rows:
        author = json.loads(metadata).get("author")
        author = author if isinstance(author, str) else None  # a document may say anything
        undone = _REVERTS.search(text)
        own = (corpus, chunk_id, commit, subject or commit, author, created_at)
        made.append((*own, undone and undone[1]))
    return pl.DataFrame(made, schema=COMMITS, orient="row")
