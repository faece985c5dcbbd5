"""What one commit changed in one file, as ``fetch`` takes it: ``0123abc:src/a.py``.

The commit's own passages say why it was made. The lines come from the working tree, where one is at
hand, and only of a file that the collection has: what ingestion left out as a secret stays out, and
a credential in a former line is redacted. No tree is at hand for a caller with rights, because a
former line has no rights of its own.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from dataflow.driver.retrieval_driver import RetrievalDriver
from dataflow.driver.visibility import visible_filters
from dataflow.service.places import place_named
from operators.errors import UnknownName
from operators.foundation.escape import label_text
from operators.foundation.sanitize import clean_text
from operators.postgres.inspect.status import names_repo, sources
from operators.postgres.store import Home, by_store
from operators.sources.git.git_process import GitError, git_output
from operators.sources.secrets import redacted

SECONDS = 10.0
"""Without a word from git, after which a tree counts as not at hand."""

_CHANGE = re.compile(r"([0-9a-f]{7,40})[: ](?!//)(\S.*)")


class FileChange(NamedTuple):
    """The diff of a file in a commit, and the passage that begins the commit's message."""

    corpus: str
    commit: dict[str, Any]
    title: str
    diff: str


def change_named(
    driver: RetrievalDriver, homes: Mapping[str, Home], name: str
) -> FileChange | None:
    """The change that ``name`` means: a commit, a colon or a space, a path; None: not of this form.

    Raises:
        UnknownName: the commit or the file is unknown, the one did not change the other, or no
            working tree is at hand.
        CrosscorpusError: several files have that path.
    """
    if not (parts := _CHANGE.fullmatch(name.strip())):
        return None
    corpora, limits = driver.graph.config["corpora"], visible_filters(driver.config)
    commit = place_named(homes, corpora, limits, parts[1])
    known = json.loads(commit.row["metadata"] or "{}")
    if not isinstance(full := known.get("commit"), str) or not full.startswith(parts[1]):
        return None
    repo = commit.row["repo"]
    file = place_named(homes, corpora, limits, "/".join(filter(None, (repo, parts[2])))).row
    if file["repo"] != repo or file["path"] is None:
        raise UnknownName(f"{label_text(parts[2])!r} is no file of the commit's repository")
    title = f"{full[:10]}:{file['path']}"
    how = ("--format=", "--unified=3", full, "--", f":(literal){file['path']}")
    for folder, _ in trees_of(homes, repo):
        with suppress(GitError, OSError):  # such as a folder that is not ours to enter
            diff = git_output(folder, "show", *how, silence=SECONDS)
            if not diff:
                raise UnknownName(f"{title}: the commit did not change this file")
            text = diff.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            return FileChange(commit.corpus, commit.row, title, redacted(clean_text(text)))
    raise UnknownName(f"{title}: no working tree at hand has this commit; fetch {parts[1]!r} alone")


def trees_of(homes: Mapping[str, Home], repo: str) -> Iterator[tuple[Path, str]]:
    """The working trees of a repository that were read, and the commit of each at that time."""
    for store, _ in by_store(homes):
        for source in sources(store).iter_rows(named=True):
            if source["folder"] and names_repo(source["source"], repo):
                yield Path(source["folder"]), source["revision"] or "HEAD"
