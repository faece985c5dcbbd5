"""Commands that keep a collection up to date with a forge: GitHub, live."""

from functools import partial
from typing import Annotated, Any

import typer

from dataflow.cli.ingest import print_report
from dataflow.cli.options import IngestOptions, filled, takes_options

sync_app = typer.Typer(no_args_is_help=True, help="Keep a collection up to date with a forge.")


@sync_app.command("github")
@takes_options
def sync_github(
    repository: Annotated[str, typer.Argument(help="OWNER/REPO", metavar="OWNER/REPO")],
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="Fetch everything, to find what was deleted (otherwise weekly)."
        ),
    ] = False,
    rights: Annotated[
        bool | None,
        typer.Option(
            "--rights/--no-rights",
            help="A public repository is for everyone, another for github:OWNER/REPO; kept for"
            " later runs.",
        ),
    ] = None,
    repo: Annotated[
        str | None,
        typer.Option(callback=filled, help="Repository name, fixed by the first run."),
    ] = None,
    *,
    options: IngestOptions,
) -> None:
    """Fetch pull requests, their reviews and issues, and keep them up to date: run it again.

    The token comes from GITHUB_TOKEN or GH_TOKEN; without one public repositories can be read, at
    60 requests an hour. GITHUB_API_URL names a GitHub Enterprise server (https://HOST/api/v3).

    Example: crosscorpus sync github org/app
    """
    from dataflow.cli.console.terminal import draw_ingestion, event_display, fetch_progress
    from dataflow.ingestion.sources import run_into
    from dataflow.ingestion.sources import sync_github as sync
    from operators.sources.github.github_api import open_github
    from operators.sources.github.github_mirror import find_repository

    on_fetched, on_wait = fetch_progress(options.as_json)
    progress = event_display(options.as_json, draw_ingestion)
    with open_github(on_wait=on_wait) as api, progress as on_event:
        how: dict[str, Any] = {
            "repo": repo,
            "full": full,
            "rights": rights,
            "on_fetched": on_fetched,
            "on_event": on_event,
            **options.run_options,
        }
        remote = find_repository(api, repository)  # before the collection is made
        run = partial(sync, repository=remote, api=api, **how)
        report = run_into(options.collection, run, config=options.config, model=options.model)
    print_report(report, options)
