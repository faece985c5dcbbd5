"""Options and exit codes that several commands share: one name, one wording."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

FAILED, PARTLY = 1, 3

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
Collection = Annotated[
    str, typer.Option("--collection", "-C", help="Data set to use; several live side by side.")
]
Config = Annotated[
    str, typer.Option("--config", "-c", help="A shipped name, such as `rrf`, or a YAML file.")
]

# What reads sources into a collection.
MassDelete = Annotated[
    bool,
    typer.Option("--allow-mass-delete", help="Delete even more than 30 % of what was there."),
]
Relocated = Annotated[
    bool,
    typer.Option(
        "--relocated",
        help="The source moved: what was read elsewhere under this name is its own.",
    ),
]
StopAfter = Annotated[
    float | None,
    typer.Option(
        min=1,
        metavar="SECONDS",
        help="Read no more after so long (exit code 0); the same command goes on.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(help="minilm, static, onnx:DIR or openai:MODEL@URL; else the configuration's."),
]

# What asks judged queries.
Queries = Annotated[
    Path, typer.Option("--queries", help="JSON, one a line: query_id, text, and more if known.")
]
Qrels = Annotated[Path, typer.Option("--qrels", help="TREC: `query_id 0 doc_id grade` a line.")]
AllCorpora = Annotated[
    bool,
    typer.Option("--all-corpora", help="Judge all that is found, whatever `judged_corpora` says."),
]
