"""Commands that try configurations on judged queries."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

_Collection = Annotated[
    str, typer.Option("--collection", "-C", help="Data set to use; several live side by side.")
]
_AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
_Queries = Annotated[
    Path, typer.Option("--queries", help="JSON, one a line: query_id, text, and more if known.")
]
_Qrels = Annotated[Path, typer.Option("--qrels", help="TREC: `query_id 0 doc_id grade` a line.")]
_Blind = Annotated[
    bool, typer.Option("--blind", help="Search every corpus, whatever `judged_corpora` says.")
]


class Alternates(StrEnum):
    """What becomes of a copy that dedup dropped."""

    expand = "expand"
    drop = "drop"


def register(app: typer.Typer) -> None:
    """Add this module's commands to `crosscorpus`."""
    app.command()(evaluate)


def evaluate(
    configs: Annotated[
        list[str],
        typer.Argument(
            metavar="CONFIG...",
            help="Shipped names or YAML files; all are compared with the first.",
        ),
    ],
    queries: _Queries,
    qrels: _Qrels,
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory for runs and report.")],
    depth: Annotated[
        int, typer.Option(min=0, help="Documents a corpus in a run, at least; 0: as a user gets.")
    ] = 100,
    alternates: Annotated[
        Alternates,
        typer.Option(help="A copy that dedup dropped follows its survivor, or is left out."),
    ] = Alternates.expand,
    blind: _Blind = False,
    collection: _Collection = "default",
    as_json: _AsJson = False,
) -> None:
    """Ask judged queries of configurations, and tell what differs and whether it is luck.

    A line of the queries has query_id, text and, where known, kind, trigger, as_of and
    judged_corpora. Writes runs/NAME.trec, per_query.csv, tables.md, evaluation.json and
    report.html. Example: crosscorpus evaluate default rrf -C team --queries q.jsonl --qrels q.tsv
    --out tried
    """
    from dataflow import terminal_evaluate as show
    from dataflow.evaluation.graph import evaluate as run
    from dataflow.evaluation.written import named_configs, write_evaluation
    from dataflow.terminal import print_json
    from operators.evaluation.judgements import read_queries
    from operators.evaluation.tables import as_json as plain
    from operators.home import data_home
    from operators.postgres.store import open_store

    settings = named_configs(configs)
    total = read_queries(queries).height
    with (
        open_store(collection=collection) as store,
        show.progress(list(settings), total) as on_batch,
    ):
        found = run(
            store,
            settings,
            queries,
            qrels,
            depth=depth,
            alternates="drop" if alternates is Alternates.drop else "expand",
            blind=blind,
            vectors_directory=data_home() / "query_vectors",
            on_batch=on_batch,
        )
    files = write_evaluation(found, settings, out)
    if as_json:
        print_json(plain(found))
    else:
        show.show_evaluation(found, files)
