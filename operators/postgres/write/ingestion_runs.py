"""The record of ingestion runs: what each did, and which did not end."""

from collections.abc import Iterable, Mapping, Sequence

from operators.foundation.sanitize import clean_text
from operators.postgres.store import Connection, Store

KEPT = 1_000
"""Maximum number of recorded runs; older ones are deleted."""

COUNTS = (
    "documents_new",
    "documents_changed",
    "documents_unchanged",
    "documents_deleted",
    "failed",
    "chunks",
)


def begin_run(
    store: Store,
    source: str,
    corpora: Iterable[str],
    revision: str | None = None,
    folder: str | None = None,
    command: Sequence[str] | None = None,
) -> int:
    """Record that an ingestion of ``source`` has begun, and return its number.

    ``source`` is for people: the reader, and the repositories that it fills. ``revision`` is the
    commit that it reads, ``folder`` its working tree; ``command`` is the folder and the arguments
    of the command that reads it; it is not kept if it is not UTF-8.
    """
    named = sorted(set(corpora))
    if command and clean_text(joined := "".join(command)) != joined:
        command = None

    def work(conn: Connection) -> int:
        ((number,),) = conn.execute(
            "INSERT INTO runs (source, corpora, revision, folder, command)"
            " VALUES (%s, %s, %s, %s, %s) RETURNING run_id",
            (source, named, revision, folder, command and list(command)),
        ).fetchall()
        conn.execute("DELETE FROM runs WHERE run_id <= %s", (number - KEPT,))
        return int(number)

    return store.run(work)


def meet_corpus(store: Store, run: int, corpus: str) -> None:
    """Record that a run has documents of ``corpus``."""
    store.execute(
        "UPDATE runs SET corpora = array_append(corpora, %s)"
        " WHERE run_id = %s AND NOT %s = ANY(corpora)",
        (corpus, run, corpus),
    )


def scopes_before(store: Store, run: int, kind: str) -> list[tuple[str, str]]:
    """The (corpus, repo) pairs that the last run of the same command filled, sorted.

    It is for a run that has seen none of them itself. A command is the same with and without
    ``--prune``. A run without a recorded command gets none.

    Args:
        run: its number.
        kind: how the fingerprints of its documents begin.
    """
    rows = store.rows(
        """
        SELECT DISTINCT d.corpus, d.repo FROM documents d WHERE starts_with(d.fingerprint, %s)
          AND d.corpus = ANY((
            SELECT before.corpora FROM runs before, runs this
            WHERE this.run_id = %s AND before.run_id < this.run_id AND before.corpora <> '{}'
              AND before.source = this.source
              AND array_remove(before.command, '--prune') = array_remove(this.command, '--prune')
            ORDER BY before.run_id DESC LIMIT 1
          )::text[])
        """,
        (kind, run),
    )
    return sorted((str(corpus), str(repo)) for corpus, repo in rows)


def end_run(store: Store, run: int, ok: bool, counts: Mapping[str, int]) -> None:
    """Record the end of a run; ``counts`` has ``COUNTS``."""
    columns = ", ".join(f"{name} = %({name})s" for name in COUNTS)
    store.execute(
        f"UPDATE runs SET finished_at = now(), ok = %(ok)s, {columns} WHERE run_id = %(run)s",
        {**{name: counts[name] for name in COUNTS}, "ok": ok, "run": run},
    )
