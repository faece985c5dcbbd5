"""Commands that look after a collection: its state, its soundness, its model."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from dataflow.cli.options import PARTLY, AsJson, Collection


def register(app: typer.Typer, models_app: typer.Typer) -> None:
    """Add this module's commands to `crosscorpus` and `crosscorpus models`."""
    app.command()(status)
    app.command()(verify)
    models_app.command("migrate")(models_migrate)


def status(collection: Collection = "default", as_json: AsJson = False) -> None:
    """Show what a collection holds, by corpus: documents, repositories, failures, runs, dates.

    Example: crosscorpus status -C team
    """
    from dataflow.cli import console_maintenance as show
    from dataflow.cli.console import print_json
    from operators.postgres.inspect.status import status as read_status
    from operators.postgres.inspect.status import unread as read_unread
    from operators.postgres.schema.model_migration import pending_model_migration
    from operators.postgres.store import collection_info, open_store

    with open_store(collection=collection) as store:
        info, coming = collection_info(store), pending_model_migration(store)
        corpora, unread = read_status(store), read_unread(store)
    if as_json:
        print_json(show.status_as_json(collection, info, corpora, unread, coming))
    else:
        show.show_status(collection, info, corpora, unread, coming)


def verify(
    repair: Annotated[
        bool, typer.Option("--repair", help="Put right what was found, then say what.")
    ] = False,
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """Compare a collection's ledger with its chunks, vectors, text index and versions.

    Exit code 3 where something was found, repaired or not. A document that lost a part is taken
    out; ingesting its source again brings it back.

    Example: crosscorpus verify --repair -C team
    """
    import polars as pl

    from dataflow.cli.console import print_json
    from dataflow.cli.console_maintenance import show_verified
    from dataflow.ingestion.version_discovery import verify_versions
    from operators.postgres.inspect.verify import verify as look
    from operators.postgres.store import open_store

    with open_store(collection=collection) as store:
        found = pl.concat([look(store, repair=repair), verify_versions(store, repair=repair)])
    if as_json:
        print_json(found.to_dicts())
    else:
        show_verified(found)
    if not found.is_empty():
        raise typer.Exit(PARTLY)


def models_migrate(
    model: Annotated[
        str | None, typer.Argument(help="minilm, static, onnx:DIR or openai:MODEL@URL.")
    ] = None,
    fill_only: Annotated[
        bool, typer.Option("--fill-only", help="Make all vectors; keep the old model in use.")
    ] = False,
    abandon: Annotated[
        bool, typer.Option("--abandon", help="Give up the migration that is under way.")
    ] = False,
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """Bring a collection to another embedding model while it stays in use.

    Vectors are made beside the old ones; when all are there, one transaction changes over. Run it
    again after an interruption: it goes on. A process that has the collection open then searches
    by words only, and says so, until it is started with the new model.

    Example: crosscorpus models migrate static -C team
    """
    from dataflow.cli import console_maintenance as show
    from dataflow.cli.console import print_json
    from dataflow.ingestion.model_migration import migrate_model
    from operators.embedding.registry import load_embedder
    from operators.postgres.schema.model_migration import abandon_model_migration
    from operators.postgres.store import open_store

    with open_store(collection=collection) as store:
        if abandon:
            given_up = abandon_model_migration(store)
            typer.echo("given up" if given_up else "no migration is under way")
            return
        if model is None:
            raise typer.BadParameter("name the new model, such as static")
        embedder = load_embedder(model)
        with show.migration_progress(as_json) as on_event:
            report = migrate_model(store, embedder, fill_only=fill_only, on_event=on_event)
    if as_json:
        print_json(asdict(report))
    else:
        show.show_migration(report, model)
