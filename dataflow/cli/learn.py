"""The command that fits the fusion's weights to judged queries."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from dataflow.cli.options import (
    PARTLY,
    AsJson,
    Collection,
    Qrels,
    takes_options,
    written,
)
from dataflow.execution.light_hamilton import import_hamilton


@dataclass(frozen=True)
class LearnOptions:
    """The options of `learn`."""

    queries: Annotated[
        Path,
        typer.Option(
            "--queries",
            help="JSON, one query per line: query_id, text, and more if known; queries of one "
            "`group` stay together.",
        ),
    ]
    qrels: Qrels
    out: Annotated[Path, written("--out", "-o", help="Experiment file to write.")]
    config: Annotated[
        str,
        typer.Option("--config", "-c", help="Where the fit begins: a shipped name or a YAML file."),
    ] = "default"
    collection: Collection = "default"
    as_json: AsJson = False


@takes_options
def learn(options: LearnOptions) -> None:
    """Fit weights to half of the judged queries, and measure them on the other half.

    Each weight in turn moves up or down while that gains more than chance. The searches run once;
    each step takes some seconds per hundred queries. Writes an experiment file for `--config` and
    `evaluate`. If it does worse on the other half, the command says so and its exit code is 3.

    Example: crosscorpus learn -C team --queries q.jsonl --qrels q.tsv --out team.yaml
    """
    import_hamilton()
    from dataflow import load_config
    from dataflow.cli.console.evaluation_tables import batch_progress, fit_as_json, show_evaluation
    from dataflow.cli.console.terminal import open_to_read, print_json
    from dataflow.configuration.loader import seen_from
    from dataflow.evaluation.learning import experiment_text
    from dataflow.evaluation.learning import learn as run
    from operators.evaluation.judgements import read_qrels, read_queries

    out = options.out
    base, extends = load_config(options.config), seen_from(options.config, out)
    queries, judged = read_queries(options.queries), read_qrels(options.qrels)
    bars = batch_progress(["training", "base", "learned"], queries.height // 2)
    with open_to_read(options.collection) as store, bars as on_batch:
        fit = run(store, base, queries, judged, extends=extends, on_batch=on_batch)
    text = experiment_text(fit, collection=options.collection)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
    if options.as_json:
        print_json(fit_as_json(fit))
    else:
        typer.echo(text)
        show_evaluation(fit.evaluation, [out])
    if fit.loss:
        message = f"do not use {out}: on the unseen half {fit.loss}"
        typer.secho(message, fg="red", err=True)
        raise typer.Exit(PARTLY)
