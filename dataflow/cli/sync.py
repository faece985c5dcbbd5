"""Commands for reviews, issues and findings: exported files, and GitHub live."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dataflow.cli.ingest import ingest
from dataflow.cli.options import AsJson, Collection, Config, MassDelete, Model

if TYPE_CHECKING:
    from operators.sources.github.github_mirror import Fetched

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
    allow_mass_delete: MassDelete = False,
    model: Model = None,
    config: Config = "default",
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """Read GitHub's review comments and reviews into `review`, a document a thread.

    Example: gh api --paginate repos/org/app/pulls/comments > comments.json; crosscorpus ingest
    reviews comments.json --repo org/app
    """
    from dataflow.ingestion import ingest as run
    from operators.sources.github.review_threads import reviews_source

    source = reviews_source(files, repo, whole=prune)
    ingest(
        partial(run, source=source, prune=prune, allow_mass_delete=allow_mass_delete),
        model,
        config,
        collection,
        as_json,
    )


def ingest_issues(
    files: _Files,
    repo: _Repo = None,
    prune: _Prune = False,
    allow_mass_delete: MassDelete = False,
    model: Model = None,
    config: Config = "default",
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """Read GitHub's issues and their comments into `issue`; pull requests are left out.

    Example: gh api --paginate "repos/org/app/issues?state=all" > issues.json; gh api --paginate
    repos/org/app/issues/comments > comments.json; crosscorpus ingest issues issues.json
    comments.json
    """
    from dataflow.ingestion import ingest as run
    from operators.sources.github.github_issues import issues_source

    source = issues_source(files, repo, whole=prune)
    ingest(
        partial(run, source=source, prune=prune, allow_mass_delete=allow_mass_delete),
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
    allow_mass_delete: MassDelete = False,
    model: Model = None,
    config: Config = "default",
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """Read learned findings into `memory`.

    A line has repo, file_path and finding; optionally severity, category, outcome, line and id.

    Example: crosscorpus ingest memory findings.jsonl
    """
    from dataflow.ingestion import ingest as run
    from operators.sources.findings import memory_source

    source = memory_source(file, repo)
    ingest(
        partial(run, source=source, prune=prune, allow_mass_delete=allow_mass_delete),
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
    allow_mass_delete: MassDelete = False,
    model: Model = None,
    config: Config = "default",
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """Fetch review threads, reviews and issues, and keep them up to date: run it again.

    The token comes from GITHUB_TOKEN or GH_TOKEN; without one public repositories can be read, at
    60 requests an hour.

    Example: crosscorpus sync github org/app
    """
    from dataflow.ingestion.sources import sync_github as run
    from operators.sources.github.github_api import open_github
    from operators.sources.github.github_mirror import find_repository

    tell = _teller(as_json)

    def on_wait(seconds: float, reason: str) -> None:
        tell({"stage": "wait", "seconds": round(seconds), "reason": reason})

    def on_fetched(event: Fetched) -> None:
        tell({"stage": "fetch", **asdict(event)})

    with open_github(api_url, on_wait=on_wait) as api:
        fetching = partial(
            run,
            repository=find_repository(api, repository),
            api=api,
            repo=repo,
            full=full,
            reviews=reviews,
            on_fetched=on_fetched,
            allow_mass_delete=allow_mass_delete,
        )
        ingest(fetching, model, config, collection, as_json)


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
