"""Commands that read what lies on this machine into a collection."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dataflow.cli.options import PARTLY, IngestOptions, Relocated, filled, takes_options
from dataflow.execution.light_hamilton import import_hamilton
from operators.errors import CrosscorpusError

if TYPE_CHECKING:
    from dataflow.ingestion.run import IngestReport
    from operators.sources.protocol import Source

ingest_app = typer.Typer(no_args_is_help=True, help="Read sources into a collection.")

_Also = Annotated[
    list[str] | None,
    typer.Option(
        metavar=".ENDING[=KIND]",
        help="Also read files with this ending, such as .log=text; repeatable; kept"
        " for later runs, '' drops those.",
    ),
]

_Map = Annotated[
    str, typer.Option("--map", callback=filled, help="A map of ours, or a file: docs/records.md.")
]
_Project = Annotated[
    str, typer.Option("--repo", help="Repository or project of documents whose map names none.")
]
_BaseUrl = Annotated[str, typer.Option(help="Address of the service, for links.")]
_PruneExports = Annotated[
    bool,
    typer.Option(
        "--prune",
        help="The files are complete: delete documents that earlier files had and these lack.",
    ),
]

# A path has one slash of the two left.
_ADDRESS = re.compile(
    r"([a-z+]{3,}:/|[\w.-]+@[\w.-]+:).*?(?P<name>[^/:]+?)(\.git)?/?", re.IGNORECASE
)


@ingest_app.command("documents")
@takes_options
def ingest_documents(
    file: Annotated[Path, typer.Argument(help="JSON, one document a line; may be gzipped.")],
    prune: Annotated[
        bool,
        typer.Option("--prune", help="Delete documents that an earlier file had and this lacks."),
    ] = False,
    *,
    options: IngestOptions,
) -> None:
    """Read documents in the generic form.

    A line has doc_id, corpus and text; optionally title, path, url, created_at, repo, version,
    language, state and metadata.

    Example: crosscorpus ingest documents export.jsonl.gz -C team
    """
    from operators.sources.jsonl import documents_source

    ingest_source(documents_source(file), options, prune=prune)


@ingest_app.command("git")
@takes_options
def ingest_git(
    path: Annotated[Path, typer.Argument(help="A git working tree.")] = Path(),
    repo: Annotated[
        str | None,
        typer.Option(callback=filled, help="Repository name; else owner/name of `origin`."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            help="A pattern of gitignore, such as vendor/ or '*.min.js', to leave out; repeatable."
        ),
    ] = None,
    diffs: Annotated[
        bool | None, typer.Option(help="Also search what each commit changed; kept for later runs.")
    ] = None,
    also: _Also = None,
    relocated: Relocated = False,
    *,
    options: IngestOptions,
) -> None:
    """Read a working tree: files into `code`, commits into `history`, Markdown into `docs`.

    Example: crosscorpus ingest git ~/src/app --repo org/app --exclude vendor --exclude '*.snap'
    """
    from operators.sources.git.git_source import git_source
    from operators.sources.protocol import printable

    address = _ADDRESS.fullmatch(str(path))
    if address and not path.exists():  # the message does not repeat it: it may hold a password
        raise CrosscorpusError(
            "that is the address of a repository: `git clone` it, then give the clone's path, such "
            f"as ./{printable(address['name'])}"
        )

    source = git_source(path, repo, exclude=exclude or (), diffs=diffs, also=also)
    ingest_source(source, options, relocated=relocated)


@ingest_app.command("folder")
@takes_options
def ingest_folder(
    path: Annotated[
        Path, typer.Argument(help="PDF, Word, notebooks, Markdown, AsciiDoc, rst, HTML, text.")
    ],
    corpus: Annotated[str, typer.Option(callback=filled, help="Where they belong.")] = "docs",
    repo: Annotated[
        str | None, typer.Option(callback=filled, help="Repository name; else the folder's.")
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="The folder's web address, for links; kept for later runs, '' drops it."),
    ] = None,
    also: _Also = None,
    relocated: Relocated = False,
    *,
    options: IngestOptions,
) -> None:
    """Read a folder of documents into `docs`.

    Example: crosscorpus ingest folder ~/handbook --base-url https://docs.example.org
    """
    from operators.sources.folder import folder_source

    source = folder_source(path, corpus, repo, base_url=base_url, also=also)
    ingest_source(source, options, relocated=relocated)


@ingest_app.command("wiki")
@takes_options
def ingest_wiki(
    path: Annotated[
        Path, typer.Argument(help="A folder or clone of Markdown or MediaWiki pages, or a dump.")
    ],
    repo: Annotated[
        str | None,
        typer.Option(callback=filled, help="Repository name; else the wiki's own."),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            help="What a page's name is appended to, for links; kept for later runs, '' drops it."
        ),
    ] = None,
    relocated: Relocated = False,
    *,
    options: IngestOptions,
) -> None:
    """Read a wiki into `wiki`: pages of a folder, of a git clone, or of a MediaWiki XML dump.

    Example: crosscorpus ingest wiki ~/src/app.wiki
    """
    from operators.sources.wiki.wiki_source import wiki_source

    source = wiki_source(path, repo, base_url=base_url)
    ingest_source(source, options, relocated=relocated)


@ingest_app.command("records")
@takes_options
def ingest_records(
    path: Annotated[
        Path,
        typer.Argument(help="JSON, CSV, mail, HTML, or a folder or ZIP; - reads JSON or mbox."),
    ],
    map_: _Map,
    repo: _Project = "",
    base_url: _BaseUrl = "",
    prune: _PruneExports = False,
    *,
    options: IngestOptions,
) -> None:
    """Read what a service gave by a map: Jira, GitLab, Slack, Confluence, mail (`map list`).

    Example: a command's output is read from standard input.

    ```
    glab api --paginate projects/org%2Fapp/issues | crosscorpus ingest records - --map gitlab
    ```
    """
    from dataflow.configuration.loader import shipped_maps
    from operators.sources.records.record_map import read_map
    from operators.sources.records.record_source import records_source, standard_input

    read = read_map(map_, shipped_maps())
    with standard_input(path) as file:
        source = records_source(file, read, repo=repo, base_url=base_url, whole=prune)
        ingest_source(source, options, prune=prune)


@ingest_app.command("from")
@takes_options
def ingest_from(
    reader: Annotated[str, typer.Argument(help="The class of the reader: python:MODULE:CLASS.")],
    arguments: Annotated[
        list[str] | None, typer.Argument(help="Argument of the reader: VALUE or KEY=VALUE.")
    ] = None,
    map_: Annotated[
        str | None, typer.Option("--map", help="Makes documents of its records: `map list`.")
    ] = None,
    reader_arguments: Annotated[
        Path | None,
        typer.Option(
            "--options", help="YAML: init and load arguments; ${NAME} of the environment."
        ),
    ] = None,
    repo: _Project = "",
    base_url: _BaseUrl = "",
    prune: _PruneExports = False,
    *,
    options: IngestOptions,
) -> None:
    """Read with a reader of your own (docs/extend.md), of LlamaIndex or of dlt (docs/records.md).

    Example: crosscorpus ingest from python:tickets:Tickets export.csv project=ops -C team
    """
    from dataflow.configuration.loader import shipped_maps
    from operators.sources.reader import named_reader, reader_options
    from operators.sources.records.record_map import read_map
    from operators.sources.records.record_source import fields_given

    if map_ is None and (repo or base_url or prune):
        raise CrosscorpusError("--repo, --base-url and --prune are for records: name their --map")
    read = None if map_ is None else read_map(map_, shipped_maps())
    given = None if read is None else fields_given(read, repo, base_url, prune)
    more = {} if reader_arguments is None else reader_options(reader_arguments)
    source = named_reader(reader, arguments or [], read, more, given)
    ingest_source(source, options, hidden=arguments or (), prune=prune or None)


@takes_options
def watch(
    path: Annotated[Path, typer.Argument(help="A git working tree, or a folder.")] = Path(),
    repo: Annotated[
        str | None,
        typer.Option(callback=filled, help="Repository name; else as `ingest` calls it."),
    ] = None,
    *,
    options: IngestOptions,
) -> None:
    """Keep a working tree or a folder of documents up to date: read again whatever changes.

    A saved file is found by words within two seconds; its vectors follow. Ends with Ctrl-C.
    Where a link, or another user's folder, takes the place of PATH, nothing is read until the
    folder is back.

    Example: crosscorpus watch ~/src/app -C team
    """
    from operators.sources.folder import folder_source
    from operators.sources.git.git_source import git_source

    if (path / ".git").exists():  # git says what the tree has: what a branch lacks is no accident
        options = replace(options, allow_mass_delete=True)
        watch_source(path, lambda: git_source(path, repo), options)
    else:
        watch_source(path, lambda: folder_source(path, "docs", repo), options)


def watch_source(path: Path, source: Callable[[], Source], options: IngestOptions) -> None:
    """Ingest ``source`` after every change below ``path``; print a line for each."""
    import_hamilton()
    from dataflow import load_config
    from dataflow.cli.console.terminal import show_change
    from dataflow.ingestion.watch import watch
    from operators.embedding.registry import load_embedder
    from operators.postgres.store import open_store

    embedder = load_embedder(options.model or load_config(options.config).embedding)
    arguments = {k: v for k, v in options.run_options.items() if k not in ("wait", "in_turn")}
    with open_store(collection=options.collection, create=True) as store:
        stop = threading.Event()
        watch(store, embedder, path, source, on_change=show_change, stop=stop, **arguments)


def ingest_source(
    source: Source, options: IngestOptions, *, hidden: Sequence[str] = (), **how: Any
) -> None:
    """Ingest ``source`` as `dataflow.ingestion.sources` does; print the report.

    Args:
        hidden: arguments whose values may be passwords, so that the record of runs has ``…``.

    Raises:
        typer.Exit: 3, where a document failed.
    """
    import_hamilton()
    from dataflow.cli.console import terminal
    from dataflow.ingestion.sources import ingest_into
    from operators.sources.secrets import redacted

    arguments = [
        _without_value(one) if one in hidden else redacted(one)
        for one in sys.argv[1:]
        if one not in ("--allow-mass-delete", "--relocated")
    ]
    source = replace(source, command=[os.getcwd(), *arguments])
    with terminal.event_display(options.as_json, terminal.draw_ingestion) as on_event:
        report = ingest_into(
            options.collection,
            source,
            config=options.config,
            model=options.model,
            on_event=on_event,
            **options.run_options,
            **how,
        )
    print_report(report, options)


def _without_value(argument: str) -> str:
    name, equals, _ = argument.partition("=")
    return f"{name}=…" if equals else "…"


def print_report(report: IngestReport, options: IngestOptions) -> None:
    """Print what a run did; end with 3 where a document failed."""
    from dataflow.cli.console import terminal
    from dataflow.cli.doctor import advice_on_unsearched

    data = terminal.report_as_json(report)
    terminal.print_result(options.as_json, data, terminal.show_report, report, options.collection)
    for corpus in report.unsearched:
        message = f"corpus {corpus}: {advice_on_unsearched(corpus)}"
        typer.secho(message, fg="yellow", err=True)
    if not report.ok:
        raise typer.Exit(PARTLY)
