"""The freshness of an answer: when each source of its passages was read, and its changes since.

The most frequent complaint about such servers is an outdated index that does not say so.
"""

import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from dataflow.service import models
from operators.foundation.os_user import child_environment, child_python
from operators.postgres.inspect.status import names_repo, sources
from operators.postgres.store import Home, by_store
from operators.sources.git.unread_changes import changed_since, recently_changed

MOST = 20
"""Maximum number of sources of one answer."""


def sources_of(
    homes: Mapping[str, Home], passages: Iterable[tuple[str, str | None]]
) -> list[models.Read]:
    """The sources that may contain these passages, by name, at most ``MOST``.

    Args:
        homes: where each corpus is.
        passages: corpus and repository of each; None: any of the corpus.
    """
    shown = set(passages)
    names = {corpus for corpus, _ in shown}
    rows = []
    for store, corpora in by_store({name: homes[name] for name in sorted(names)}):
        pairs = {(home, repo) for home, name in corpora.items() for of, repo in shown if of == name}
        for row in sources(store).iter_rows(named=True):
            any_repo = " " not in row["source"]  # it has no repository after its reader
            asked = {repo for of, repo in pairs if of in row["corpora"]}
            if any(any_repo or one is None or names_repo(row["source"], one) for one in asked):
                rows.append(row)
    return [read_of(row, recently_changed) for row in rows[:MOST]]


def read_again(homes: Mapping[str, Home]) -> None:
    """Run the ingestion of each source whose working tree has changed since its last run.

    It runs in the folder where a person typed it. Only ingestions run, and no code of that folder.
    If it fails, standard error has the reason, and answers continue to note the unread changes.
    """
    for store, _ in by_store(homes):
        for row in sources(store).iter_rows(named=True):
            if row["command"] and row["command"][1:2] == ["ingest"] and read_of(row).since:
                folder, *arguments = row["command"]
                command = child_python("-m", "dataflow", *arguments, "--in-turn")
                options: dict[str, Any] = {"cwd": folder, "env": child_environment()}
                try:
                    subprocess.run(command, capture_output=True, check=True, text=True, **options)
                except (OSError, subprocess.CalledProcessError) as error:
                    reason = getattr(error, "stderr", None) or error
                    print(f"{row['source']} was not read again: {reason}", file=sys.stderr)
                store.forget_info()


def read_of(
    row: Mapping[str, Any], changes: Callable[[str, str, datetime], str | None] = changed_since
) -> models.Read:
    """A row of ``SOURCES``, with the changes of its working tree since the run."""
    commit, folder = row["revision"], row["folder"]
    return models.Read(
        **{name: row[name] for name in ("source", "corpora", "read_at", "state")},
        commit=commit,
        since=changes(folder, commit, row["read_at"]) if folder and commit else None,
    )
