"""Commands that list and carry collections, and that take out what must not stay."""

import signal
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dataflow.cli.options import AsJson, Collection, filled
from operators.errors import CrosscorpusError, check_known, counted

collections_app = typer.Typer(
    no_args_is_help=True,
    help="The collections of the server: list them, drop them, carry them to another server.",
)

_SHOWN = 20
"""Documents that a dry run lists."""

_Name = Annotated[str, typer.Argument(help="The collection.")]
_Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@collections_app.command("list")
def collections_list(as_json: AsJson = False) -> None:
    """List the collections of the server."""
    from dataflow.cli.console.terminal import print_result
    from operators.postgres.store import collections

    names = collections()
    none = "no collection yet: `crosscorpus ingest git .` makes one"
    print_result(as_json, names, typer.echo, "\n".join(names) or none)


_Shards = Annotated[
    int | None,
    typer.Option(
        min=1, help="Spread the chunks over the nodes of a Citus cluster, in so many parts."
    ),
]


@collections_app.command("create")
def collections_create(name: _Name, shards: _Shards = None) -> None:
    """Make an empty collection; `ingest` makes one too, but never in shards.

    Example: crosscorpus collections create company --shards 16
    """
    from operators.postgres.store import open_store

    open_store(collection=name, create=True, shards=shards).close()
    typer.echo(f"the collection '{name}' exists")


@collections_app.command("drop")
def collections_drop(name: _Name, yes: _Yes = False) -> None:
    """Delete a collection with all that it holds, for good.

    Example: crosscorpus collections drop demo
    """
    from operators.postgres.connection import resolve_dsn
    from operators.postgres.store import collections, drop_collection

    dsn = resolve_dsn()
    check_known("collection", name, collections(dsn))
    if not yes:
        _confirm(f"delete the collection {name!r} for good?")
    drop_collection(dsn, name)
    typer.echo(f"{name} is dropped")


_File = Annotated[Path, typer.Argument(metavar="FILE", help="The file of a backup.")]


@collections_app.command("rename")
def collections_rename(
    name: _Name, new: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.")]
) -> None:
    """Give a collection another name: one that was made beside it takes its place.

    Example: crosscorpus collections rename team2 team
    """
    from operators.postgres.store import rename_collection

    rename_collection(None, name, new)
    typer.echo(f"{name} is {new} now")


@collections_app.command("export")
def collections_export(name: _Name, file: _File) -> None:
    """Write a collection into a new file: one state of it, also while an ingestion runs.

    Example: crosscorpus collections export team team.dump
    """
    from operators.postgres.backup import dump_collection
    from operators.postgres.connection import resolve_dsn
    from operators.postgres.store import collections

    dsn = resolve_dsn()
    check_known("collection", name, collections(dsn))
    dump_collection(dsn, name, file, _print_progress)
    typer.echo(f"{name} is exported to {file}")


@collections_app.command("import")
def collections_import(file: _File) -> None:
    """Make the collection of a file again, whole or not at all.

    Its next ingestion reads only what changed. The server runs what the file says: import only
    files that you trust.

    Example: crosscorpus collections import team.dump
    """
    from operators.postgres.backup import restore_collection
    from operators.postgres.connection import resolve_dsn
    from operators.postgres.store import collections

    dsn = resolve_dsn()
    before = collections(dsn)
    restore_collection(dsn, file, _print_progress)
    made = (name for name in collections(dsn) if name not in before)
    typer.echo(f"{file} is imported as {', '.join(made)}")


def _print_progress(table: str) -> None:
    typer.secho(f"  {table}", dim=True, err=True)


def drop(
    corpus: Annotated[
        str | None, typer.Option(callback=filled, help="All documents of this corpus.")
    ] = None,
    repo: Annotated[
        str | None, typer.Option(callback=filled, help="All documents of this repository.")
    ] = None,
    document: Annotated[
        str | None, typer.Option(callback=filled, help="The document of this id or path.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be deleted, and delete nothing.")
    ] = False,
    yes: _Yes = False,
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """Delete documents: from the tables and caches.

    The server's files and log keep the bytes until it overwrites them: rotate a secret. Several
    options narrow each other. The next ingestion of their source brings them back, unless
    `.crosscorpusignore` or `--exclude` leaves them out.

    Example: crosscorpus drop --repo org/app --document config/prod.env -C team
    """
    from dataflow.cli.console.terminal import print_first, print_json
    from dataflow.ingestion.removal import drop_documents
    from operators.postgres.store import open_store
    from operators.sources.protocol import printable

    with open_store(collection=collection) as store:
        run = partial(drop_documents, store, corpus=corpus, repo=repo, document=document)
        chosen = run(dry_run=True)
        documents, chunks = chosen.height, int(chosen["chunks"].sum())
        counts = f"{counted(documents, 'document')}, {counted(chunks, 'chunk')}"
        if not (yes or dry_run):
            _confirm(f"delete {counts} for good?")
        if not dry_run:
            run()
    if as_json:
        print_json({"documents": chosen.to_dicts(), "dropped": not dry_run})
        return
    typer.echo(f"{'would drop' if dry_run else 'dropped'} {counts}")
    if dry_run:
        rows = chosen["corpus", "repo", "path", "document_id"].iter_rows()
        lines = [printable(f"{corpus} {repo} {path or name}") for corpus, repo, path, name in rows]
        print_first(lines, _SHOWN, "  ")


def _confirm(question: str) -> None:
    if not sys.stdin.isatty():
        raise CrosscorpusError(f"{question} Nobody can be asked here: say --yes")
    if hasattr(signal, "siginterrupt"):  # Polars restarts reads: Ctrl-C would not end the question
        signal.siginterrupt(signal.SIGINT, True)
    typer.confirm(question, abort=True)


def print_notes(sentences: Iterable[str]) -> None:
    """Print each of ``sentences`` as a note on standard error."""
    from dataflow.cli.console.word_wrap import for_stream

    for sentence in sentences:
        typer.secho(for_stream(f"note: {sentence}", sys.stderr), fg="yellow", err=True)
