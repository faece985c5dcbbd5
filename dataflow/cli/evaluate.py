"""Commands that try configurations on judged queries."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from dataflow.cli.options import (
    AsJson,
    Collection,
    Measures,
    Qrels,
    Queries,
    takes_options,
    written,
)
from dataflow.execution.light_hamilton import import_hamilton


@dataclass(frozen=True)
class EvaluateOptions:
    """The options of `evaluate`."""

    configs: Annotated[
        list[str],
        typer.Argument(
            metavar="CONFIG...",
            help="Shipped names or YAML files; all are compared with the first.",
        ),
    ]
    queries: Queries
    qrels: Qrels
    out: Annotated[Path, written("--out", "-o", help="Directory for runs and tables.")]
    depth: Annotated[
        int,
        typer.Option(
            min=0, help="Documents per corpus in a run, at least; 0: as many as a user gets."
        ),
    ] = 100
    measures: Measures = None
    unit: Annotated[
        Literal["document", "file", "passage"],
        typer.Option(
            help="What takes a place in a run: a document; a file, all documents of a repository "
            "and path at the best; a passage, every chunk."
        ),
    ] = "document"
    on: Annotated[
        str | None,
        typer.Option(
            metavar="ray",
            help="Ask on many machines: `ray://HOST:PORT`, or `ray` for what RAY_ADDRESS names, "
            "else this machine's cores. Each has crosscorpus with the extra `ray` and the model, "
            "and reaches CROSSCORPUS_DSN.",
        ),
    ] = None
    collection: Collection = "default"
    as_json: AsJson = False


@takes_options
def evaluate(options: EvaluateOptions) -> None:
    """Measure configurations on judged queries, and compare them with significance tests.

    A line of the queries has query_id, text and, where known, kind, trigger (else none), as_of and
    judged_corpora. The measures are nDCG@10, R@50, RR@10 and AP unless `--measure` names others.
    Writes runs/NAME.trec, per_query.csv and evaluation.json.

    Example: crosscorpus evaluate default rrf -C team --queries q.jsonl --qrels q.tsv --out tried
    """
    import_hamilton()
    from dataflow.cli.console.evaluation_tables import batch_progress, show_evaluation
    from dataflow.cli.console.terminal import open_to_read, print_result
    from dataflow.evaluation.evaluation_files import named_configs, write_evaluation
    from dataflow.evaluation.graph import evaluate as run
    from operators.evaluation.judgements import read_queries
    from operators.evaluation.measures import check_measures
    from operators.evaluation.tables import as_json as evaluation_as_json

    configs, queries = named_configs(options.configs), read_queries(options.queries)
    chosen = "depth", "unit", "on"
    arguments = {name: getattr(options, name) for name in chosen}
    if options.measures:
        check_measures(options.measures)
        arguments["measure_names"] = tuple(options.measures)
    counts = list(configs), queries.height
    with open_to_read(options.collection) as store, batch_progress(*counts) as on_batch:
        result = run(store, configs, queries, options.qrels, on_batch=on_batch, **arguments)
    files = write_evaluation(result, options.out)
    print_result(options.as_json, evaluation_as_json(result), show_evaluation, result, files)


@dataclass(frozen=True)
class SweepOptions:
    """The options of `sweep`."""

    queries: Queries
    qrels: Qrels
    out: Annotated[Path, written("--out", "-o", help="Directory for the table.")]
    settings: Annotated[
        list[str],
        typer.Option(
            "--set",
            help="`NAME=V1,V2,...`: a parameter, a stage (its variants), a rule of the order "
            "(its weights), or one of a corpus (`code.vector_weight`, `code.weights.question`). "
            "May be given again: every combination is tried.",
        ),
    ]
    config: Annotated[
        str,
        typer.Option(
            "--config",
            "-c",
            help="The configuration that the settings change, and are compared with.",
        ),
    ] = "default"
    measures: Measures = None
    collection: Collection = "default"
    as_json: AsJson = False


@takes_options
def sweep(options: SweepOptions) -> None:
    """Measure every combination of settings on judged queries.

    Searches run again only where a setting changes how they search. The measures are nDCG@10 and
    R@50 unless `--measure` names others. Writes sweep.csv.

    Example: crosscorpus sweep -C team --queries q.jsonl --qrels q.tsv --set top_k=5,10 --out swept
    """
    import_hamilton()
    from dataflow import load_config
    from dataflow.cli.console.evaluation_tables import batch_progress, show_sweep
    from dataflow.cli.console.terminal import open_to_read, print_result
    from dataflow.evaluation.evaluation_files import write_sweep
    from dataflow.evaluation.sweep import MEASURES
    from dataflow.evaluation.sweep import sweep as run
    from operators.evaluation.grid import read_settings
    from operators.evaluation.judgements import read_qrels, read_queries

    settings, base = read_settings(options.settings), load_config(options.config)
    queries, judged = read_queries(options.queries), read_qrels(options.qrels)
    bars = batch_progress(["sweep"], queries.height)
    with open_to_read(options.collection) as store, bars as on_batch:
        result = run(
            store,
            base,
            settings,
            queries,
            judged,
            measures=tuple(options.measures or MEASURES),
            on_batch=partial(on_batch, "sweep"),
        )
    files = [write_sweep(result, options.out)]
    data = {"unchanged": result.unchanged, "points": result.table.to_dicts()}
    print_result(options.as_json, data, show_sweep, result, files)
