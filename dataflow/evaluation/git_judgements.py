"""A benchmark from a repository's history, in the file formats of ``evaluate``."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from operators.errors import CrosscorpusError
from operators.sources.git.fixed_issues import FixedIssue, FixedIssues, fixed_issues
from operators.sources.git.repository import Repository, open_repository
from operators.sources.git.snapshots import lay_out
from operators.sources.git.tracked_files import tracked_names
from operators.sources.github.issue_texts import issue_texts

MOST_FILES = 5
_GONE = "change files that are gone now"
_BEYOND = "are beyond the snapshots"


@dataclass(frozen=True)
class GitBenchmark:
    """The output of :func:`judge_git`.

    Attributes:
        queries, qrels: the files.
        questions: the number of queries.
        commits: the number of commits that were read.
        skipped: why commits that close an issue gave no query, with their numbers.
        trees: what to ingest: the name of each repository, and its folder.
    """

    queries: Path
    qrels: Path
    questions: int
    commits: int
    skipped: dict[str, int]
    trees: dict[str, Path]


def judge_git(
    path: Path,
    out: Path,
    *,
    issues: Sequence[Path] = (),
    repo: str | None = None,
    most_files: int = MOST_FILES,
    snapshots: int = 0,
) -> GitBenchmark:
    """Write ``queries.jsonl`` and ``qrels.tsv``: issues that a commit closed, and its files.

    Args:
        path: the top folder of a working tree with its history.
        out: the folder to write to; created if missing.
        issues: exports of issues, whose texts are the queries; none: the commits' messages are.
        repo: the name that the repository is ingested under; else ``owner/name`` of ``origin``.
        most_files: see :func:`operators.sources.git.fixed_issues.fixed_issues`.
        snapshots: write at most so many trees, each as before a fix, for the newest fixes, to
            ``out/trees``, and run each query on its own tree; 0: run all on the current tree.

    Raises:
        GitError: ``path`` is no working tree, or a shallow clone.
        CrosscorpusError: no commit gives a query, or a file can't be read or written.
    """
    repository = open_repository(path, repo)
    texts = issue_texts(issues) if issues else None
    result = fixed_issues(repository, most_files=most_files, issues=texts)
    trees: dict[str, Path] = {}
    try:
        out.mkdir(parents=True, exist_ok=True)
        if snapshots:
            fixes = _newest(result, snapshots)
            for one in fixes:
                name = _snapshot(repository, one)
                if name not in trees:
                    trees[name] = out / "trees" / one.parent[:12]
                    if not trees[name].exists():
                        lay_out(repository, one.parent, trees[name])
        else:
            fixes = _still_there(repository, result)
            trees[repository.name] = path
        names = {one.number: _snapshot(repository, one) for one in fixes} if snapshots else {}
        rows = [(one, names.get(one.number, repository.name)) for one in fixes]
        kind = "issue" if issues else "commit"
        lines = [json.dumps(_query(one, name, kind), ensure_ascii=False) for one, name in rows]
        judged = [f"{one.number}\t0\t{name}:{file}\t1" for one, name in rows for file in one.files]
        queries, qrels = out / "queries.jsonl", out / "qrels.tsv"
        for file, texts_of in ((queries, lines), (qrels, judged)):
            file.write_text("".join(f"{line}\n" for line in texts_of), encoding="utf-8")
    except OSError as error:
        raise CrosscorpusError(
            f"can't write to {error.filename or out}: {error.strerror}"
        ) from None
    skipped = {why: count for why, count in result.skipped.most_common() if count}
    return GitBenchmark(queries, qrels, len(fixes), result.commits, skipped, trees)


def _snapshot(repository: Repository, one: FixedIssue) -> str:
    return f"{repository.name}@{one.parent[:12]}"


def _newest(result: FixedIssues, snapshots: int) -> list[FixedIssue]:
    """The queries of the first ``snapshots`` trees."""
    parents = list(dict.fromkeys(one.parent for one in result.found))[:snapshots]
    fixes = [one for one in result.found if one.parent in parents]
    result.skipped[_BEYOND] += len(result.found) - len(fixes)
    return fixes


def _still_there(repository: Repository, result: FixedIssues) -> list[FixedIssue]:
    """The queries whose files the tree still has."""
    there = tracked_names(repository.root) or frozenset()
    fixes = [one for one in result.found if there.issuperset(one.files)]
    result.skipped[_GONE] += len(result.found) - len(fixes)
    if not fixes:
        raise CrosscorpusError(
            f"no question is left: the files of {len(result.found)} fixes are gone; --snapshots 10 "
            "asks the trees before the fixes"
        )
    return fixes


def _query(one: FixedIssue, repo: str, kind: str) -> dict[str, Any]:
    return {
        "query_id": str(one.number),
        "text": one.text,
        "kind": kind,
        "judged_corpora": list(one.corpora),
        "repos": [repo],
        "commit": one.commit,
        "parent": one.parent,
    }
