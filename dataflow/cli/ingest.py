"""Commands that read what lies on this machine into a collection."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dataflow.cli.options import (
    PARTLY,
    AsJson,
    Collection,
    Config,
    MassDelete,
    Model,
    Relocated,
    StopAfter,
)
from operators.errors import CrosscorpusError

if TYPE_CHECKING:
    from dataflow.ingestion.report import IngestReport
    from operators.sources.protocol import Source

# A path has one slash of the two left.
_ADDRESS = re.compile(
    r"([a-z+]{3,}:/|[\w.-]+@[\w.-]+:).*?(?P<name>[^/:]+?)(\.git)?/?", re.IGNORECASE
)


def register(app: typer.Typer) -> typer.Typer:
    """Add `crosscorpus ingest` and these commands to it; return it for others to add theirs."""
    group = typer.Typer(no_args_is_help=True, help="Read sources into a collection.")
    group.command("documents")(ingest_documents)
    group.command("git")(ingest_git)
    group.command("folder")(ingest_folder)
    group.command("wiki")(ingest_wiki)
    app.add_typer(group, name="ingest")
    return group


def ingest(
    run: Callable[..., IngestReport],
    model: str | None,
    config: str,
    collection: str,
    as_json: bool,
    *,
    tried: Source | None = None,
) -> None:
    """Open what ``run`` takes (store, embedder, on_event), run it, and show its report.

    This makes the collection: whatever can be found wrong with the input is found before. Of a
    source that may turn out to be empty, ``tried``, the scan is begun for that. What failed is exit
    code 3; a run that was told to stop has done what it was told.
    """
    from dataflow import load_config
    from dataflow.cli import console
    from dataflow.cli.doctor import unsearched
    from dataflow.configuration.hamilton_config import corpora_with
    from operators.embedding.registry import load_embedder
    from operators.postgres.schema.plain_text import index_plain_text
    from operators.postgres.store import collection_info, collections, open_store

    if tried is not None and collection not in collections():
        next(tried.scan(), None)
    settings = load_config(config)
    embedder = load_embedder(model or settings.embedding)
    with (
        open_store(collection=collection, create=True) as store,
        console.progress(as_json) as on_event,
    ):
        report = run(store, embedder, on_event=on_event)
        index_plain_text(store, corpora_with(settings, "text_search", "plain"))
        store.forget_info()
        unknown = sorted(set(collection_info(store).corpora) - set(settings.corpora))
    if as_json:
        console.print_json(console.report_as_json(report))
    else:
        console.show_report(report)
    for corpus in unknown:
        typer.secho(f"corpus {corpus}: {unsearched(corpus)}", fg="yellow", err=True)
    if not report.ok:
        raise typer.Exit(PARTLY)


def ingest_documents(
    file: Annotated[Path, typer.Argument(help="JSON, one document a line; may be gzipped.")],
    prune: Annotated[
        bool,
        typer.Option("--prune", help="Delete documents that an earlier file had and this lacks."),
    ] = False,
    allow_mass_delete: MassDelete = False,
    stop_after: StopAfter = None,
    model: Model = None,
    config: Config = "default",
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """Read documents in the generic form.

    A line has doc_id, corpus and text; optionally title, path, url, created_at, repo, version,
    language, state and metadata.

    Example: crosscorpus ingest documents export.jsonl.gz -C team
    """
    from dataflow.ingestion import ingest as run
    from operators.sources.jsonl import documents_source

    source = documents_source(file)
    ingest(
        partial(
            run,
            source=source,
            prune=prune,
            allow_mass_delete=allow_mass_delete,
            stop_after_s=stop_after,
        ),
        model,
        config,
        collection,
        as_json,
    )


def ingest_git(
    path: Annotated[Path, typer.Argument(help="A git working tree.")] = Path(),
    repo: Annotated[
        str | None, typer.Option(help="Name it is filed under; else owner/name of `origin`.")
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            help="A folder, or a pattern such as '*.min.js', to leave out; may be given repeatedly."
        ),
    ] = None,
    relocated: Relocated = False,
    allow_mass_delete: MassDelete = False,
    stop_after: StopAfter = None,
    model: Model = None,
    config: Config = "default",
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """Read a working tree: files into `code`, commits into `history`, Markdown into `docs`.

    Example: crosscorpus ingest git ~/src/app --repo org/app --exclude vendor --exclude '*.snap'
    """
    from dataflow.ingestion import ingest as run
    from operators.sources.git.git_source import git_source
    from operators.sources.protocol import printable

    address = _ADDRESS.fullmatch(str(path))
    if address and not path.exists():  # not said again: it may hold a password
        raise CrosscorpusError(
            "that is the address of a repository: `git clone` it, then give the clone's path, such "
            f"as ./{printable(address['name'])}"
        )
    source = git_source(path, repo, exclude=exclude or ())
    ingest(
        partial(
            run,
            source=source,
            relocated=relocated,
            allow_mass_delete=allow_mass_delete,
            stop_after_s=stop_after,
        ),
        model,
        config,
        collection,
        as_json,
    )


def ingest_folder(
    path: Annotated[Path, typer.Argument(help="PDF, Markdown, AsciiDoc, HTML, plain text.")],
    corpus: Annotated[str, typer.Option(help="Where they belong.")] = "docs",
    repo: Annotated[
        str | None, typer.Option(help="Name it is filed under; else the folder's.")
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="The folder's web address, for links; kept for later runs, '' drops it."),
    ] = None,
    relocated: Relocated = False,
    allow_mass_delete: MassDelete = False,
    stop_after: StopAfter = None,
    model: Model = None,
    config: Config = "default",
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """Read a folder of documents into `docs`.

    Example: crosscorpus ingest folder ~/handbook --base-url https://docs.example.org
    """
    from dataflow.ingestion import ingest as run
    from operators.sources.folder import folder_source

    source = folder_source(path, corpus, repo, base_url=base_url)
    ingest(
        partial(
            run,
            source=source,
            relocated=relocated,
            allow_mass_delete=allow_mass_delete,
            stop_after_s=stop_after,
        ),
        model,
        config,
        collection,
        as_json,
        tried=source,
    )


def ingest_wiki(
    path: Annotated[
        Path, typer.Argument(help="A folder or clone of Markdown or MediaWiki pages, or a dump.")
    ],
    repo: Annotated[
        str | None, typer.Option(help="Name it is filed under; else the wiki's own.")
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            help="What a page's name is appended to, for links; kept for later runs, '' drops it."
        ),
    ] = None,
    relocated: Relocated = False,
    allow_mass_delete: MassDelete = False,
    stop_after: StopAfter = None,
    model: Model = None,
    config: Config = "default",
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """Read a wiki into `wiki`: pages of a folder, of a git clone, or of a MediaWiki XML dump.

    Example: crosscorpus ingest wiki ~/src/app.wiki
    """
    from dataflow.ingestion import ingest as run
    from operators.sources.wiki.wiki_source import wiki_source

    source = wiki_source(path, repo, base_url=base_url)
    ingest(
        partial(
            run,
            source=source,
            relocated=relocated,
            allow_mass_delete=allow_mass_delete,
            stop_after_s=stop_after,
        ),
        model,
        config,
        collection,
        as_json,
        tried=source,
    )
