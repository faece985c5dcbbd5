"""The command that fits the fusion's weights to judged queries."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from dataflow.cli.options import PARTLY, AllCorpora, AsJson, Collection, Qrels


def learn(
    queries: Annotated[
        Path,
        typer.Option(
            "--queries",
            help="JSON, one a line: query_id, text, and more if known; queries of one `group` stay "
            "together.",
        ),
    ],
    qrels: Qrels,
    out: Annotated[Path, typer.Option("--out", "-o", help="Experiment file to write.")],
    method: Annotated[
        Literal["convex", "rrf"],
        typer.Option(help="Fusion of scores (convex combination) or of ranks."),
    ] = "convex",
    training_queries: Annotated[
        int | None, typer.Option(min=4, help="Learn from so many at most; else from half.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the split into halves.")] = 0,
    all_corpora: AllCorpora = False,
    config: Annotated[
        str,
        typer.Option("--config", "-c", help="Where the fit begins: a shipped name or a YAML file."),
    ] = "default",
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """Fit weights to half of the judged queries, and measure them on the other half.

    Writes an experiment file for `--config` and `evaluate`. If it does worse on the other half,
    the command says so and its exit code is 3.

    Example: crosscorpus learn -C team --queries q.jsonl --qrels q.tsv --out team.yaml
    """
    from dataflow import load_config
    from dataflow.cli.console.evaluation_tables import batch_progress, show_evaluation
    from dataflow.cli.console.terminal import open_to_read, print_json
    from dataflow.configuration.loader import seen_from
    from dataflow.evaluation.learning import experiment_text
    from dataflow.evaluation.learning import learn as run
    from operators.evaluation.judgements import read_qrels, read_queries
    from operators.evaluation.tables import as_json as evaluation_as_json
    from operators.foundation.data_dir import data_home

    settings, extends = load_config(config), seen_from(config, out)
    with (
        open_to_read(collection) as store,
        batch_progress(["training", "base", "learned"], 0) as on_batch,
    ):
        fit = run(
            store,
            settings,
            read_queries(queries),
            read_qrels(qrels),
            extends=extends,
            method=method,
            training_queries=training_queries,
            seed=seed,
            all_corpora=all_corpora,
            vectors_directory=data_home() / "query_vectors",
            on_batch=on_batch,
        )
    text = experiment_text(fit, collection=collection, method=method, seed=seed)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
    loss = fit.loss
    if as_json:
        gains = fit.learned.gains.items()
        tried = [{"strength": at, "gain": gain, "error": error} for at, (gain, error) in gains]
        print_json(
            {
                "experiment": fit.experiment,
                "training_queries": fit.training,
                "strength": fit.learned.strength,
                "cross_validation": tried,
                "test": evaluation_as_json(fit.evaluation),
                "loss": loss,
            }
        )
    else:
        typer.echo(text)
        show_evaluation(fit.evaluation, [out])
    if loss:
        message = f"do not use {out}: on the unseen half {loss}"
        typer.secho(message, fg="red", err=True)
        raise typer.Exit(PARTLY)
