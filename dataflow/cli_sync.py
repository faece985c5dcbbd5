"""Commands for reviews, issues and findings: exported files, and GitHub live."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from dataflow.ingestion.report import IngestReport
    from operators.sources.github_sync import Fetched

PARTLY_FAILED = 3

sync_app = typer.Typer(no_args_is_help=True, help="Keep a collection up to date with a forge.")

_Files = Annotated[
    list[Path], typer.Argument(help="JSON as the API gives it or `gh api --paginate` writes it.")
]
_Repo = Annotated[
    str | None, typer.Option(help="Name it is filed under; else what the items' addresses say.")
]
_Prune = Annotated[
    bool,
    typer.Option(
        "--prune", help="The files are whole: delete what earlier ones had and they lack."
    ),
]
_MassDelete = Annotated[
    bool, typer.Option("--allow-mass-delete", help="Even if that is more than 30 %.")
]
_Model = Annotated[
    str | None,
    typer.Option(help="minilm, static, onnx:DIR or openai:MODEL@URL; else the configuration's."),
]
_Config = Annotated[
    str, typer.Option("--config", "-c", help="`default`, or the path of a YAML file.")
]
_Collection = Annotated[
    str, typer.Option("--collection", "-C", help="Data set to use; several live side by side.")
]
_AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]


def register(app: typer.Typer, ingest_app: typer.Typer) -> None:
    """Add this module's commands to `crosscorpus` and `crosscorpus ingest`."""
    ingest_app.command("reviews")(ingest_reviews)
    ingest_app.command("issues")(ingest_issues)
    ingest_app.command("memory")(ingest_memory)
    app.add_typer(sync_app, name="sync")


def ingest_reviews(
    files: _Files,
    repo: _Repo = None,
    prune: _Prune = False,
    allow_mass_delete: _MassDelete = False,
    model: _Model = None,
    config: _Config = "default",
    collection: _Collection = "default",
    as_json: _AsJson = False,
) -> None:
    """Read GitHub's review comments and reviews into `review`, a document a thread.

    Example: gh api --paginate repos/org/app/pulls/comments > comments.json; crosscorpus ingest
    reviews comments.json --repo org/app
    """
    from dataflow.ingestion.github import ingest_reviews as run

    options: dict[str, Any] = {"repo": repo, "prune": prune}
    options["allow_mass_delete"] = allow_mass_delete
    _ingest(
        lambda store, embedder, on_event: run(store, embedder, files, on_event=on_event, **options),
        model,
        config,
        collection,
        as_json,
    )


def ingest_issues(
    files: _Files,
    repo: _Repo = None,
    prune: _Prune = False,
    allow_mass_delete: _MassDelete = False,
    model: _Model = None,
    config: _Config = "default",
    collection: _Collection = "default",
    as_json: _AsJson = False,
) -> None:
    """Read GitHub's issues and their comments into `issue`; pull requests are left out.

    Example: gh api --paginate "repos/org/app/issues?state=all" > issues.json; gh api --paginate
    repos/org/app/issues/comments > comments.json; crosscorpus ingest issues issues.json
    comments.json
    """
    from dataflow.ingestion.github import ingest_issues as run

    options: dict[str, Any] = {"repo": repo, "prune": prune}
    options["allow_mass_delete"] = allow_mass_delete
    _ingest(
        lambda store, embedder, on_event: run(store, embedder, files, on_event=on_event, **options),
        model,
        config,
        collection,
        as_json,
    )


def ingest_memory(
    file: Annotated[Path, typer.Argument(help="JSON, one finding a line; may be gzipped.")],
    repo: Annotated[
        str | None, typer.Option(help="Repository of the findings that name none.")
    ] = None,
    prune: _Prune = False,
    allow_mass_delete: _MassDelete = False,
    model: _Model = None,
    config: _Config = "default",
    collection: _Collection = "default",
    as_json: _AsJson = False,
) -> None:
    """Read learned findings into `memory`.

    A line has repo, file_path and finding; optionally severity, category, outcome, line and id.
    Example: crosscorpus ingest memory findings.jsonl
    """
    from dataflow.ingestion.github import ingest_memory as run

    options: dict[str, Any] = {"repo": repo, "prune": prune}
    options["allow_mass_delete"] = allow_mass_delete
    _ingest(
        lambda store, embedder, on_event: run(store, embedder, file, on_event=on_event, **options),
        model,
        config,
        collection,
        as_json,
    )


@sync_app.command("github")
def sync_github(
    repository: Annotated[str, typer.Argument(help="OWNER/REPO", metavar="OWNER/REPO")],
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="Ask for everything, to find what was deleted (else done weekly)."
        ),
    ] = False,
    reviews: Annotated[
        bool,
        typer.Option(
            "--reviews/--no-reviews",
            help="Also fetch the reviews' own words: a request for each changed pull request.",
        ),
    ] = True,
    repo: Annotated[
        str | None, typer.Option(help="Name it is filed under, fixed by the first run.")
    ] = None,
    api_url: Annotated[
        str | None,
        typer.Option(
            help="API of a GitHub Enterprise server, https://HOST/api/v3; else GITHUB_API_URL."
        ),
    ] = None,
    allow_mass_delete: _MassDelete = False,
    model: _Model = None,
    config: _Config = "default",
    collection: _Collection = "default",
    as_json: _AsJson = False,
) -> None:
    """Fetch review threads, reviews and issues, and keep them up to date: run it again.

    The token comes from GITHUB_TOKEN or GH_TOKEN; without one public repositories can be read, at
    60 requests an hour. Example: crosscorpus sync github org/app
    """
    from dataflow.ingestion.github import sync_github as run
    from operators.sources.github_api import open_github

    tell = _teller(as_json)

    def on_wait(seconds: float, reason: str) -> None:
        tell({"stage": "wait", "seconds": round(seconds), "reason": reason})

    def on_fetched(event: Fetched) -> None:
        tell({"stage": "fetch", **asdict(event)})

    with open_github(api_url, on_wait=on_wait) as api:
        _ingest(
            lambda store, embedder, on_event: run(
                store,
                embedder,
                repository,
                api=api,
                repo=repo,
                full=full,
                reviews=reviews,
                on_fetched=on_fetched,
                allow_mass_delete=allow_mass_delete,
                on_event=on_event,
            ),
            model,
            config,
            collection,
            as_json,
        )


def _teller(as_json: bool) -> Callable[[dict[str, Any]], None]:
    """Tells of fetching and waiting: as JSON, to a person at a terminal, or not at all."""
    if as_json:
        return lambda event: print(json.dumps(event, default=str), file=sys.stderr, flush=True)
    if not sys.stderr.isatty():
        return lambda event: None

    def tell(event: dict[str, Any]) -> None:
        if event["stage"] == "wait":
            line = f"{event['reason']}: waiting {event['seconds']} s"
        else:
            until = f", up to {event['until']:%Y-%m-%d}" if event["until"] else ""
            line = f"{event['listing']}: {event['items']}{until} ({event['requests']} requests)"
        print(f"\r\033[K{line}", end="\n" if event["stage"] == "wait" else "", file=sys.stderr)
        sys.stderr.flush()

    return tell


def _ingest(
    run: Callable[..., IngestReport], model: str | None, config: str, collection: str, as_json: bool
) -> None:
    """Open what ``run`` takes (store, embedder, on_event), and show its report."""
    from dataflow import load_config, terminal
    from operators.embedding.embedder import load_embedder
    from operators.postgres.store import open_store

    embedder = load_embedder(model or load_config(config).embedding)
    with (
        open_store(collection=collection, create=True) as store,
        terminal.progress(as_json) as on_event,
    ):
        report = run(store, embedder, on_event)
    if as_json:
        terminal.print_json(terminal.report_as_json(report))
    else:
        terminal.show_report(report)
    if not report.ok:
        raise typer.Exit(PARTLY_FAILED)
