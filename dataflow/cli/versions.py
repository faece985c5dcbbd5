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
    """List the versions of a topic in their order, with dates, and what each changed.

    Against the version before: how many passages are the same, revised, gone (only in the old one)
    or new. Versions go by their number where there is one, not by date. Below the table stands
    where a version has another path or title than the one before, and where a section of a file
    begins or ends: what it was split from, which section has its text now, which version lacks it.
    A topic that is wrong is put right by `versions join` and `versions split`.

    Example: crosscorpus versions list docs/3.5/install.md -C manuals
    """
    from dataflow.cli.console.terminal import open_to_read, print_result
    from dataflow.cli.console.version_tables import show_topics, show_versions
    from operators.postgres.inspect.version_history import list_versions
    from operators.postgres.inspect.version_topics import topics

    with open_to_read(collection) as store:
        table = topics(store, corpus) if path is None else list_versions(store, path, corpus)
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

    A revised paragraph is shown once, what went in [-brackets-] and what came in {+braces+}.

    Example: crosscorpus versions diff docs/install.md --from 3.4 --to 3.5 -C manuals
    """
    from dataflow.cli.console.terminal import open_to_read, print_result
    from dataflow.cli.console.version_tables import diff_as_json, show_diff
    from operators.postgres.inspect.version_history import diff_versions

    with open_to_read(collection) as store:
        diff = diff_versions(store, topic, older, newer, corpus)
    print_result(as_json, diff_as_json(diff), show_diff, diff)


@versions_app.command("join")
def versions_join(
    one: Annotated[
        str,
        typer.Argument(help="Path, title, identifier or topic of a document of the first topic."),
    ],
    other: Annotated[str, typer.Argument(help="The same of the second topic.")],
    corpus: _Corpus = None,
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """Join two topics: a page that was renamed and rewritten between two versions.

    This is kept when the documents are read again, and `verify` lists it. `versions split` takes it
    back.

    Example: crosscorpus versions join docs/setup.md docs/install.md -C manuals
    """
    from dataflow.cli.console.terminal import print_result
    from dataflow.cli.console.version_tables import show_members
    from dataflow.ingestion.version_corrections import join_topics
    from operators.postgres.store import open_store

    with open_store(collection=collection) as store:
        members = join_topics(store, one, other, corpus)
    print_result(as_json, members.to_dicts(), show_members, members)


@versions_app.command("split")
def versions_split(
    topic: Annotated[
        str, typer.Argument(help="Path (or its end), title or identifier of any version.")
    ],
    at: Annotated[str, typer.Argument(help="The version with which the second topic begins.")],
    corpus: _Corpus = None,
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """Split a topic: another page of the same name, from a version on.

    This is kept when the documents are read again, and `verify` lists it. `versions join` takes it
    back.

    Example: crosscorpus versions split docs/install.md 4.0 -C manuals
    """
    from dataflow.cli.console.terminal import print_result
    from dataflow.cli.console.version_tables import show_members
    from dataflow.ingestion.version_corrections import split_topic
    from operators.postgres.store import open_store

    with open_store(collection=collection) as store:
        members = split_topic(store, topic, at, corpus)
    print_result(as_json, members.to_dicts(), show_members, members)
