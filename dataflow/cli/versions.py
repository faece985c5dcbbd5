"""Commands for documents that have versions: list them, and diff two of them."""

from typing import Annotated

import typer

from dataflow.cli.options import AsJson, Collection

versions_app = typer.Typer(
    no_args_is_help=True, help="The versions of documents, and their differences."
)

_Corpus = Annotated[str | None, typer.Option("--corpus", help="Only topics of this corpus.")]


@versions_app.command("list")
def versions_list(
    path: Annotated[
        str | None,
        typer.Argument(
            help="Path as typed or its end, title or identifier of any version, or a part of the "
            "topic's name; nothing: list the topics."
        ),
    ] = None,
    corpus: _Corpus = None,
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """List the versions of a topic in their order, with dates; `versions diff` shows the changes.

    Versions go by their number where there is one, not by date.

    Example: crosscorpus versions list docs/3.5/install.md -C manuals
    """
    from dataflow.cli.console.terminal import open_to_read, print_result
    from dataflow.cli.console.version_tables import show_topics, show_versions
    from operators.postgres.inspect.version_topics import lineage_named, topics

    with open_to_read(collection) as store:
        table = topics(store, corpus) if path is None else lineage_named(store, path, corpus)
    show = show_topics if path is None else show_versions
    print_result(as_json, table.to_dicts(), show, table)


@versions_app.command("diff")
def versions_diff(
    topic: Annotated[
        str, typer.Argument(help="Path (or its end), title or identifier of any version.")
    ],
    older: Annotated[
        str | None, typer.Option("--from", help="Older version; else the one before --to.")
    ] = None,
    newer: Annotated[
        str | None, typer.Option("--to", help="Newer version; else the newest.")
    ] = None,
    corpus: _Corpus = None,
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """Show what changed in a topic between two versions: added, removed and revised paragraphs.

    A revised paragraph is shown as it was (-) and as it is now (+).

    Example: crosscorpus versions diff docs/install.md --from 3.4 --to 3.5 -C manuals
    """
    from dataflow.cli.console.terminal import open_to_read, print_result
    from dataflow.cli.console.version_tables import diff_as_json, show_diff
    from operators.postgres.inspect.version_history import diff_versions

    with open_to_read(collection) as store:
        diff = diff_versions(store, topic, older, newer, corpus)
    print_result(as_json, diff_as_json(diff), show_diff, diff)
