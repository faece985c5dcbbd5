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

TAG_SECONDS = 2.0
"""The same for the tags that have a commit: of a million commits git looks at each."""

_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_VERSION = re.compile(r"^v?\d|\d\.\d", re.IGNORECASE)
"""A tag of a release; others mark a backup, a state of a deployment, a moment."""
_CANDIDATE = re.compile(r"\d[-._]?(?:rc|alpha|beta|pre|dev|a|b)[-._]?\d*$", re.IGNORECASE)
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
    corpora, visible = driver.graph.config["corpora"], visible_filters(driver.config)
    commit = place_named(homes, corpora, visible, parts[1])
    known = json.loads(commit.row["metadata"] or "{}")
    full = known.get("commit")
    if not isinstance(full, str) or not _HASH.fullmatch(full) or not full.startswith(parts[1]):
        return None
    repo = commit.row["repo"]
    place = place_named(homes, corpora, visible, "/".join(filter(None, (repo, parts[2]))))
    file, collection = place.row, commit.store.collection
    is_other = place.store.collection != collection or file["repo"] != repo
    # a review of a file has its path too, also of a file that was left out as a secret
    if is_other or file["path"] is None or file["path"] != file["document_id"]:
        raise UnknownName(f"{label_text(parts[2])!r} is no file of the commit's repository")
    title = f"{full[:10]}:{file['path']}"
    how = ("--format=", full, "--", f":(literal){file['path']}")
    for folder, _ in trees_of(homes, repo):
        with suppress(GitError, OSError):  # such as a folder that is not ours to enter
            diff, whole = (
                clean_text(git_output(folder, "show", f"--unified={lines}", *how, silence=SECONDS))
                for lines in (3, 1_000_000)
            )
            if not diff:
                why = "the commit did not change this file; of a merge only conflicts count"
                raise UnknownName(f"{title}: {why}")
            return FileChange(commit.corpus, commit.row, title, redacted_diff(diff, whole))
    raise UnknownName(f"{title}: no working tree at hand has this commit; fetch {parts[1]!r} alone")


def first_release(homes: Mapping[str, Home], row: Mapping[str, Any]) -> str | None:
    """The oldest release that has the commit of a passage of history, by the tags of versions.

    A candidate only if no other has it. ``none yet`` where the repository has such tags and none of
    them has it. None: the passage is of no commit, or no working tree at hand has such tags.
    """
    full = json.loads(row["metadata"] or "{}").get("commit") if row["path"] is None else None
    if not isinstance(full, str) or not _HASH.fullmatch(full):
        return None
    how = ("for-each-ref", "--sort=creatordate", "--format=%(refname:strip=2)", "refs/tags")

    def versions(folder: Path, *of: str) -> list[str]:
        tags = git_output(folder, *how, *of, silence=TAG_SECONDS).split()
        return [tag for tag in tags if _VERSION.search(tag)]

    for folder, _ in trees_of(homes, row["repo"]):
        with suppress(GitError, OSError):
            having = versions(folder, f"--contains={full}")
            if not having and not versions(folder):
                return None
            final = [tag for tag in having if not _CANDIDATE.search(tag)]
            return label_text([*final, *having, "none yet"][0])
    return None


def redacted_diff(diff: str, whole: str) -> str:
    """``diff`` without secrets: those of the file before and after, as ``whole`` has all its lines.

    Three lines around a change may be the end of a key, and the mark of a line breaks its code.
    """
    marks = 1 if (hunk := re.search("^(@@+)", whole, re.MULTILINE)) is None else len(hunk[1]) - 1
    instead = dict[str, str]()
    for other in "+-":
        side = [line[marks:] for line in whole.split("\n") if other not in line[:marks]]
        clean = redacted("\n".join(side)).split("\n")
        instead |= {old: new for old, new in zip(side, clean, strict=True) if old != new}
    lines = []
    for line in diff.split("\n"):
        numbers, at, section = line.rpartition("@@ ")
        if line.startswith("@@") and any(old.startswith(section) for old in instead):
            lines.append(numbers + at)  # git shows a line above the hunk there
        else:
            lines.append(line[:marks] + instead.get(line[marks:], line[marks:]))
    return redacted("\n".join(lines))


def trees_of(homes: Mapping[str, Home], repo: str) -> Iterator[tuple[Path, str]]:
    """The working trees of a repository that were read, and the commit of each at that time."""
    for store, _ in by_store(homes):
        for source in sources(store).iter_rows(named=True):
            if source["folder"] and names_repo(source["source"], repo):
                yield Path(source["folder"]), source["revision"] or "HEAD"
