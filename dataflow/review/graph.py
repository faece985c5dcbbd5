"""The review graph: builds it and runs it for a patch or a range of commits."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from hamilton.driver import Driver

from dataflow.driver.visibility import visible_homes
from dataflow.execution.built_graph import build
from dataflow.execution.hamilton_logs import quiet_hamilton
from dataflow.review import nodes
from operators.errors import CrosscorpusError, UnknownName, check_known, suggest
from operators.postgres.inspect.read_commits import Held, has_seen, held_repositories
from operators.postgres.inspect.status import repos_seen
from operators.postgres.store import Store, by_store
from operators.sources.git.commit_range import change_between, has_ancestor
from operators.sources.git.range_facts import committed_at, messages
from operators.sources.git.repository import open_repository

if TYPE_CHECKING:
    from dataflow.driver.retrieval_driver import RetrievalDriver


@dataclass(frozen=True)
class Review:
    """The context for the review of a change.

    Attributes:
        context: the text for a reviewer or a model; it fits the budget.
        citations: a Markdown link for each entry.
        notes: what was left out of the patch, and what the collection lacks.
        changed, used: the names that the change changes, and those that its new lines use.
        commit: the commit at which the collection holds the code; None: not known.
        frame: the node ``evidence``, all entries with their sections.
    """

    context: str
    citations: tuple[str, ...]
    notes: tuple[str, ...]
    changed: tuple[str, ...]
    used: tuple[str, ...]
    commit: str | None
    frame: pl.DataFrame = field(repr=False, compare=False)


def build_review_graph() -> Driver:
    """The review graph alone, without a server or a model."""
    return build([nodes], {})


def review(
    retrieval: "RetrievalDriver",
    patch: str | bytes,
    *,
    title: str | None = None,
    description: str | None = None,
    repo: str | None = None,
    folder: Path | str | None = None,
    as_of: datetime | None = None,
    **options: Any,
) -> Review:
    """The context that the diff of a change does not show.

    Args:
        retrieval: the driver that searches; its configuration defines what is visible.
        patch: a unified diff; with a ``folder`` a range of commits
            ``BASE..HEAD``, as :func:`operators.sources.git.commit_range.change_between` takes it.
        title: the title of the change; None: that of its commits.
        description: likewise.
        repo: the repository of the change, as the collection names it; None: the one that was read
            from ``folder``, or the only one.
        folder: the working tree of a range of commits.
        as_of: hides newer reviews, history and pages; None: for a range, the time of its base.
        options: parameters of the graph's nodes (``context_budget``: tokens, 2,000).

    Raises:
        UnknownName: no such repository, or a parameter that no node has.
        CrosscorpusError: the patch can't be read, or the collection has not seen the base.
    """
    built = build_review_graph()
    known = {name for name, node in built.graph.nodes.items() if node.user_defined}
    for name in options:
        check_known("option", name, known)
    root = None if folder is None else open_repository(folder).root
    homes = visible_homes(retrieval.homes, retrieval.config)
    stored, store = _repository([store for store, _ in by_store(homes)], repo, root)
    inputs: dict[str, Any] = {"retrieval": retrieval, "repo": stored.repo if stored else repo}
    if root is None:
        inputs["patch"] = patch.encode() if isinstance(patch, str) else patch
    else:
        inputs |= _inputs(root, patch if isinstance(patch, str) else patch.decode(), stored, store)
    stated = {"title": title, "description": description, "as_of": as_of}
    inputs |= {name: value for name, value in stated.items() if value is not None}
    wanted = ["evidence", "review_context", "citations", "review_notes", "changed_names"]
    with quiet_hamilton():
        out = built.execute([*wanted, "used_names"], inputs={**inputs, **options})
    return Review(
        context="".join(out["review_context"]["text"]),
        citations=tuple(out["citations"]["citation"]),
        notes=tuple(out["review_notes"]["note"]),
        changed=tuple(out["changed_names"]),
        used=tuple(out["used_names"]),
        commit=stored.revision if stored else None,
        frame=out["evidence"],
    )


def _inputs(root: Path, named: str, stored: Held | None, store: Store) -> dict[str, Any]:
    """The graph inputs for a range of commits."""
    change = change_between(root, named)
    notes = [change.note] if change.note else []
    read = str(stored and stored.revision)  # a merge without a text of its own is no document
    if stored and not (
        has_ancestor(root, read, change.base) or has_seen(store, stored, change.base)
    ):
        raise CrosscorpusError(
            f"the collection has not seen the commit {change.base[:12]} of {stored.repo}, which the"
            f" change is based on: crosscorpus ingest git {root}"
        )
    if stored is not None and stored.revision != change.base:
        notes.append(
            f"code and pages are those of the commit {read[:12]}, not those of the"
            f" base {change.base[:12]}"
        )
    title, *more = "\n\n".join(messages(root, change.commits)).split("\n", 1)
    return {
        **{"patch": change.patch, "own_commits": change.commits, "told": notes},
        **{"root": root, "base": change.base},
        **{"as_of": committed_at(root, change.base) + timedelta(seconds=1)},
        **{"title": title, "description": "".join(more).strip() or None},
    }


def _repository(
    stores: Sequence[Store], repo: str | None, folder: Path | None
) -> tuple[Held | None, Store]:
    """The repository of the change, None if it was not read from git, and the store for it.

    Raises:
        UnknownName: ``repo`` is not stored, or several are and none is named.
    """
    held = [(stored, store) for store in stores for stored in held_repositories(store)]
    for one in held:
        if repo == one[0].repo or (repo is None and one[0].folder == str(folder)):
            return one
    if repo is not None:  # it may have been read from documents
        seen = {name: store for store in stores for of in repos_seen(store).values() for name in of}
        if repo not in seen:
            raise UnknownName(f"no repository {repo!r} was read{suggest(repo, seen)}")
        return None, seen[repo]
    if len(held) > 1:
        names = ", ".join(stored.repo for stored, _ in held)
        raise UnknownName(f"the collection has several repositories: say which, of {names}")
    return held[0] if held else (None, stores[0])
