"""The command that gathers the context of a change under review."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from dataflow.cli.options import Collection, Config, RankedAsJson, filled
from dataflow.execution.light_hamilton import import_hamilton
from operators.errors import CrosscorpusError

LONGEST = 64_000_000
"""Bytes of a patch that are read from a file."""


def review(
    change: Annotated[
        str,
        typer.Argument(
            metavar="BASE..HEAD|PATCH",
            help="A range of commits of the git working tree here, a file with a diff, "
            "or - for standard input.",
        ),
    ],
    title: Annotated[
        str | None,
        typer.Option(help="Description of the change; else what its commits say."),
    ] = None,
    description: Annotated[str | None, typer.Option(help="More text of the change.")] = None,
    repo: Annotated[
        str | None,
        typer.Option(
            callback=filled, help="Repository of the change; else the one that was read from here."
        ),
    ] = None,
    folder: Annotated[
        Path, typer.Option("--git", help="The git working tree of a range of commits.")
    ] = Path(),
    tokens: Annotated[int, typer.Option(min=200, help="Size of the context.")] = 2_000,
    config: Config = "default",
    collection: Collection = "default",
    as_json: RankedAsJson = False,
) -> None:
    """Print the context of a change under review: what its diff does not show.

    Definitions that its new lines use, uses and tests of what it changes, remarks of earlier
    reviews, the commits that made its lines, pages and issues. Each entry says why it is there.

    Example: crosscorpus review main..HEAD

    From a patch: git diff | crosscorpus review - --title "Retry a closed connection once"
    """
    import_hamilton()
    from dataflow import build_driver
    from dataflow.cli.console.terminal import print_result
    from dataflow.review.graph import review as run

    patch, tree = _read(change, folder)
    with build_driver(config, collection) as driver:
        result = run(
            driver,
            patch,
            title=title,
            description=description,
            repo=repo,
            folder=tree,
            context_budget=tokens,
        )
    columns = ("section", "source_label", "source_url", "corpus", "repo", "path", "text")
    data = {
        "context": result.context,
        "citations": list(result.citations),
        "notes": list(result.notes),
        "commit": result.commit,
        "changed": list(result.changed),
        "used": list(result.used),
        "entries": result.frame.select(*columns, "start_line", "end_line").to_dicts(),
    }
    print_result(as_json, data, typer.echo, result.context)


def _read(change: str, folder: Path) -> tuple[str | bytes, Path | None]:
    """The patch, or the range and its working tree."""
    if change == "-":
        return sys.stdin.buffer.read(LONGEST), None
    file = Path(change)
    if file.is_file():
        with file.open("rb") as stream:
            return stream.read(LONGEST), None
    if ".." not in change and file.suffix:
        raise CrosscorpusError(f"{change} does not exist; give a file with a diff, or BASE..HEAD")
    return change, folder
