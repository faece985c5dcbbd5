"""The context for a change under review, judged by what the change itself went on to touch.

    python -m benchmarks review --clones DIR [--only flask | --url URL] [--commits 30]

Of a commit, the reviewer is shown the source file with the most changed lines, at the tree before
the commit. The other files that the commit changed (tests, documentation, other sources, but no
changelog) are what he should be told of. Three systems fill the same budgets of tokens: ``review``;
the plain question (the commit's message, and the changed lines, to the same graph); and ``grep``
(each line with a changed name, and three lines around it, rarest names first).
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from benchmarks.clones import add_options, clone, to_fetch
from dataflow import build_driver, load_config
from dataflow.driver.retrieval_driver import RetrievalDriver
from dataflow.execution.hamilton_logs import quiet_hamilton
from dataflow.ingestion.loop import ingest
from dataflow.review.graph import build_review_graph
from operators.embedding.protocol import Embedder
from operators.embedding.registry import load_embedder
from operators.foundation.data_dir import data_home
from operators.postgres.store import Store, open_store
from operators.review.changes import Change, read_change
from operators.signals.secondary import is_secondary
from operators.sources.git.git_source import git_source
from operators.sources.git.repository import Repository
from operators.sources.git.snapshots import lay_out

BUDGETS = (2_000, 4_000, 12_000)
REPOSITORIES = {
    "flask": "https://github.com/pallets/flask.git",
    "click": "https://github.com/pallets/click.git",
    "httpx": "https://github.com/encode/httpx.git",
    "requests": "https://github.com/psf/requests.git",
    "axum": "https://github.com/tokio-rs/axum.git",
}
NEWEST = 1_500
"""Commits that are looked through."""

_CHANGELOG = re.compile(r"(^|/)(changes|changelog|history|news|release)[^/]*$|\.lock$", re.I)
_SOURCE = (".py", ".rs", ".go", ".js", ".ts", ".java", ".rb", ".c", ".cc", ".cpp", ".kt")

Lines = tuple[str, int, int]
"""Path, first and last line, from 1."""


class Judged(NamedTuple):
    """A commit: what is shown of it, and what it touched beside that, in the tree before it."""

    commit: str
    base: str
    message: str
    patch: bytes
    touched: list[Lines]


@dataclass
class Tally:
    """Sums over commits."""

    commits: int = 0
    files: float = 0.0
    hunks: float = 0.0
    right: int = 0
    shown: int = 0

    def add(self, touched: list[Lines], entries: Iterable[Lines]) -> None:
        """Count a context whose entries show these lines."""
        shown = list(entries)
        paths = {path for path, *_ in touched}
        hit = [any(_meet(one, entry, 0) for entry in shown) for one in touched]
        self.commits += 1
        self.files += len(paths & {path for path, *_ in shown}) / len(paths)
        self.hunks += sum(hit) / len(hit)
        self.shown += len(shown)
        self.right += sum(any(_meet(one, entry, 10) for one in touched) for entry in shown)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser, "review-judged")
    parser.add_argument("--commits", type=int, default=30, help="of each repository")
    parser.add_argument("--url", help="this repository instead")
    options = parser.parse_args()
    urls = {name: REPOSITORIES[name] for name in options.only or REPOSITORIES}
    if options.url:
        urls = {options.url.rpartition("/")[2].removesuffix(".git"): options.url}
    tokens = {"variants": {"packed": "tokens"}}
    config = load_config(options.config[0]).with_changes(tokens)
    embedder = load_embedder(config.embedding)
    print("| repository | commits | system | tokens | files | hunks | entries of use |")
    print("|---|---|---|---|---|---|---|")
    with open_store(collection=options.collection, create=True) as store:
        for name, url in urls.items():
            cloned = clone(options.clones, url)
            if cloned is None:
                print(f"to fetch: {to_fetch(options.clones, url, ())}")
                continue
            judged = judged_commits(cloned, options.commits)
            tallies = {(s, b): Tally() for s in ("review", "plain", "grep") for b in BUDGETS}
            for one in judged:
                repo = f"{name}/{one.commit[:8]}"
                tree = read(store, embedder, cloned, one.base, repo)
                with build_driver(config, store=store, embedder=embedder) as driver:
                    for budget in BUDGETS:
                        entries = reviewed(driver, one, repo, budget)
                        tallies["review", budget].add(one.touched, entries)
                        entries = asked(driver, one, repo, budget)
                        entries = [e for e in entries if not _in_patch(e, read_change(one.patch))]
                        tallies["plain", budget].add(one.touched, entries)
                        entries = grepped(driver, tree, one, budget)
                        tallies["grep", budget].add(one.touched, entries)
            for (system, budget), tally in tallies.items():
                count = max(tally.commits, 1)
                shares = (tally.files / count, tally.hunks / count)
                use = tally.right / max(tally.shown, 1)
                cells = " | ".join(f"{share:.3f}" for share in (*shares, use))
                print(f"| {name} | {tally.commits} | {system} | {budget} | {cells} |", flush=True)


def judged_commits(cloned: Path, most: int) -> list[Judged]:
    """Commits that change two to eight files, one of them a source, evenly over the history."""
    commits = []
    log = git(cloned, "log", "--no-merges", f"-{NEWEST}", "--format=%H %P").decode()
    for line in log.splitlines():
        commit, *parents = line.split()
        if len(parents) != 1:
            continue
        patch = git(cloned, "diff-tree", "-p", "-r", "-M", parents[0], commit)
        if not 2 <= patch.count(b"\ndiff --git ") + 1 <= 8 or len(patch) > 60_000:
            continue
        if one := _judged(commit, parents[0], patch):
            commits.append(one)
    step = max(len(commits) / most, 1.0)
    chosen = [commits[int(n * step)] for n in range(min(most, len(commits)))]
    text = [git(cloned, "show", "-s", "--format=%B", one.commit).decode() for one in chosen]
    return [one._replace(message=message) for one, message in zip(chosen, text, strict=True)]


def _judged(commit: str, base: str, patch: bytes) -> Judged | None:
    change = read_change(patch)
    size = {
        file.path: sum(len(hunk.removed) + len(hunk.added) for hunk in file.hunks)
        for file in change.files
        if file.kind == "modified" and file.path.endswith(_SOURCE) and not is_secondary(file.path)
    }
    if not size:
        return None
    shown = max(sorted(size), key=lambda path: size[path])
    touched = [
        (file.path, hunk.old_start, hunk.old_start + max(hunk.old_count, 1) - 1)
        for file in change.files
        if file.kind == "modified" and file.path != shown and not _CHANGELOG.search(file.path)
        for hunk in file.hunks
    ]
    own = _part(patch, shown)
    return Judged(commit, base, "", own, touched) if touched and own else None


def _part(patch: bytes, path: str) -> bytes:
    parts = re.split(rb"(?m)^(?=diff --git )", patch)
    return next((one for one in parts if f" b/{path}\n".encode() in one[:1_000]), b"")


def read(store: Store, embedder: Embedder, cloned: Path, base: str, name: str) -> Path:
    """Ingest the tree of ``base`` as the repository ``name``; its folder."""
    tree = data_home() / "benchmarks" / store.collection / name.replace("/", "+")
    if not tree.exists():
        lay_out(Repository(cloned, base, name, None, ()), base, tree, lambda _path: True)
        ingest(store, embedder, git_source(tree, name), corpora=["code", "docs"])
    return tree


def reviewed(driver: RetrievalDriver, one: Judged, repo: str, budget: int) -> list[Lines]:
    """What ``review`` shows."""
    title, _, rest = one.message.partition("\n")
    inputs: dict[str, Any] = {"patch": one.patch, "retrieval": driver, "repo": repo}
    inputs |= {"title": title, "description": rest.strip(), "context_budget": budget}
    with quiet_hamilton():
        out = build_review_graph().execute(["packed", "evidence"], inputs=inputs)
    return _lines(out["evidence"], out["packed"]["chunk_id"])


def asked(driver: RetrievalDriver, one: Judged, repo: str, budget: int) -> list[Lines]:
    """What a plain question shows: the message and the changed lines, with the same budget."""
    change = read_change(one.patch)
    hunks = (hunk for file in change.files for hunk in file.hunks)
    lines = " ".join(text for h in hunks for _, text in (*h.removed, *h.added))
    inputs: dict[str, Any] = {"query": f"{one.message}\n{lines}"[:4_000], "repos": [repo]}
    inputs |= {"context_budget": budget, "context_depth": 100}
    inputs |= {"context_floor": 0.0, "weak_context_floor": 0.0}  # it may fill its budget
    out = driver.execute(["packed", "whole_passages"], inputs)
    return _lines(out["whole_passages"], out["packed"]["chunk_id"])


def grepped(driver: RetrievalDriver, tree: Path, one: Judged, budget: int) -> list[Lines]:
    """What grep shows: the lines with a changed name, those of the rarest names first."""
    inputs = {"patch": one.patch, "retrieval": driver, "repo": tree.name.replace("+", "/")}
    with quiet_hamilton():
        names = build_review_graph().execute(["changed_names"], inputs=inputs)["changed_names"]
    change = read_change(one.patch)
    hits: list[list[Lines]] = []
    texts = {}
    for name in names:
        command = ["grep", "-rnwIF", "--exclude-dir=.git", "-e", name, "."]
        output = subprocess.run(command, cwd=tree, capture_output=True, check=False).stdout
        rows = output.decode("utf-8", "replace").split("\n")[:-1]
        places = [row.split(":", 2)[:2] for row in rows]
        hits.append([(p.removeprefix("./"), max(int(n) - 3, 1), int(n) + 3) for p, n in places])
    entries, left = [], budget
    for line in (line for some in sorted(hits, key=len) for line in some):
        if _in_patch(line, change):
            continue
        path, first, last = line
        if path not in texts:
            texts[path] = (tree / path).read_text("utf-8", "replace").split("\n")
        text = "\n".join(texts[path][first - 1 : last])
        (cost,) = driver.embedder.count_tokens([f"{path}:{first}-{last}\n{text}"])
        if cost <= left:
            left -= cost
            entries.append(line)
    return entries


def _lines(frame: pl.DataFrame, kept: pl.Series) -> list[Lines]:
    named = frame.filter(pl.col("chunk_id").is_in(kept.drop_nulls().to_list()))
    columns = ("path", "start_line", "end_line")
    return [row for row in named.select(columns).iter_rows() if None not in row]


def _in_patch(line: Lines, change: Change) -> bool:
    hunks = ((file.path, hunk) for file in change.files for hunk in file.hunks)
    return any(
        _meet(line, (path, hunk.old_start, hunk.old_start + hunk.old_count), 0)
        for path, hunk in hunks
    )


def _meet(one: Lines, two: Lines, near: int) -> bool:
    return one[0] == two[0] and one[1] - near <= two[2] and one[2] + near >= two[1]


def git(cloned: Path, *arguments: str) -> bytes:
    """What git says of a clone."""
    return subprocess.run(
        ["git", "-C", str(cloned), *arguments], capture_output=True, check=True
    ).stdout


if __name__ == "__main__":
    main()
