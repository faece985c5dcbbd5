"""The commit of a repository that a collection holds, and the commits that it has read."""

from typing import NamedTuple

from operators.postgres.inspect.status import names_repo, repos_seen, sources
from operators.postgres.store import Store


class Held(NamedTuple):
    """A repository as a collection holds it."""

    repo: str
    revision: str | None  # the commit that was read last; None: not recorded
    folder: str | None  # its working tree


def held_repositories(store: Store) -> list[Held]:
    """The visible repositories that were read from git working trees, by name."""
    names = set[str]().union(*repos_seen(store).values()) - {""}
    repositories = {}
    for row in sources(store).sort("read_at").iter_rows(named=True):
        if row["revision"] is not None:
            for repo in (name for name in names if names_repo(row["source"], name)):
                repositories[repo] = Held(repo, row["revision"], row["folder"])
    return [repositories[repo] for repo in sorted(repositories)]


def has_seen(store: Store, stored: Held, commit: str) -> bool:
    """Whether a commit is the one that was read last, or is in the history that was read."""
    if commit == stored.revision:
        return True
    return bool(
        store.rows(
            "SELECT 1 FROM documents WHERE document_id = %s AND repo = %s LIMIT 1",
            (commit, stored.repo),
        )
    )
