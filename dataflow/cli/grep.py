"""The command `grep`: every place of an exact text."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dataflow.cli.options import AsJson, Collection, Config
from dataflow.execution.light_hamilton import import_hamilton


def grep(
    text: Annotated[str, typer.Argument(help="One line of text; case counts.")],
    regex: Annotated[
        bool, typer.Option("--regex", "-e", help="It is a regular expression of Postgres.")
    ] = False,
    repo: Annotated[list[str] | None, typer.Option(help="Only these repositories.")] = None,
    path: Annotated[str | None, typer.Option(help="Only paths with this prefix.")] = None,
    corpus: Annotated[list[str] | None, typer.Option(help="Only these corpora.")] = None,
    config: Config = "default",
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """List every place of an exact text in what was read, by file, and their number.

    Code, documents, commits, reviews: what the searches would see, and nothing else mixed in.

    Example: crosscorpus grep '"oidc.expiry"'
    """
    import_hamilton()
    from dataflow import build_driver
    from dataflow.cli.console.terminal import OUT, print_json
    from dataflow.service.every_place import every_place
    from operators.explain.named_documents import file_of

    options: dict[str, Any] = {"repos": repo or None, "path": path, "corpora": corpus or None}
    with build_driver(config, collection) as driver:
        told = every_place(driver, text, regex=regex, **options)
    lines = told.lines.to_dicts()
    if as_json:
        print_json({"total": told.said, "lines": lines})
        return
    last = None
    for one in lines:
        file = f"{one['corpus']}: {file_of(one)}"
        if file != last:
            OUT.out(file, style="bold")
        last = file
        OUT.out(f"  {one['line'] or ''}: {one['text'].strip()}", highlight=False)
    OUT.out(told.said)
