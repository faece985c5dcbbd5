"""Clones of the repositories that a peer's benchmark is about, and its trees, ingested."""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.judged import data_folder
from dataflow.ingestion.loop import ingest
from operators.embedding.protocol import Embedder
from operators.foundation.data_dir import data_home
from operators.postgres.store import Store
from operators.sources.git.git_source import git_source
from operators.sources.git.repository import Repository
from operators.sources.git.snapshots import lay_out


def add_clones(parser: argparse.ArgumentParser, default: Path | None = None) -> None:
    """The option that says where the clones are."""
    parser.add_argument(
        "--clones",
        type=Path,
        metavar="DIR",
        default=default,
        help="folder of clones with their history, bare or not: OWNER+NAME, OWNER/NAME or NAME",
    )


def add_options(parser: argparse.ArgumentParser, collection: str) -> None:
    """The options that every benchmark on clones and a collection has."""
    add_clones(parser, data_folder() / "clones")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these repositories alone")
    parser.add_argument("--config", nargs="+", default=["default"])
    parser.add_argument("--collection", default=collection)


def clone(folder: Path, url: str) -> Path | None:
    """The clone of ``url`` in ``folder``: what git is given as its directory."""
    owner, name = _parts(url)
    for place in (f"{owner}+{name}", f"{owner}/{name}", f"{owner}__{name}", name):
        for one in (folder / place, folder / f"{place}.git", folder / place / "repo"):
            if (one / "objects").is_dir() or (one / ".git").exists():
                return one
    return None


def to_fetch(folder: Path, url: str, revisions: Iterable[str]) -> str | None:
    """The command that brings what is missing; None: the clone is there with ``revisions``."""
    cloned = clone(folder, url)
    if cloned is None:
        return f"git clone --mirror {url} {folder / '+'.join(_parts(url))}"
    for revision in revisions:
        command = ["git", "-C", str(cloned), "cat-file", "-e", f"{revision}^{{commit}}"]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return f"git -C {cloned} fetch origin {revision}"
    return None


def read_tree(
    store: Store,
    embedder: Embedder,
    cloned: Path,
    revision: str,
    name: str,
    keep: Callable[[str], bool],
    corpora: Sequence[str] = ("code",),
) -> None:
    """Read the files of ``revision`` that ``keep`` takes into the ``corpora`` of ``name``."""
    tree = data_home() / "benchmarks" / store.collection / name.replace("/", "+") / revision
    if not tree.exists():
        lay_out(Repository(cloned, revision, name, None, ()), revision, tree, keep)
    ingest(store, embedder, git_source(tree, name), corpora=list(corpora))


def shallow(cloned: Path, revision: str, name: str, most: int) -> Path:
    """A clone whose last commit is ``revision``, its history ``most`` commits deep."""
    folder = data_home() / "benchmarks" / f"last-{most}" / name.replace("/", "+")
    source = (cloned.resolve().as_uri(), revision)
    subprocess.run(["git", "init", "-q", folder], check=True)
    for arguments in (["fetch", "-q", "--depth", str(most), *source], ["checkout", "-q", revision]):
        subprocess.run(["git", "-C", folder, *arguments], check=True)
    return folder


def _parts(url: str) -> tuple[str, str]:
    owner, name = urlsplit(url).path.strip("/").removesuffix(".git").split("/")[-2:]
    return owner, name
