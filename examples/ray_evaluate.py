"""Every combination of settings, evaluated on a Ray cluster, against the configuration as it is.

    python examples/ray_evaluate.py -C team --queries q.jsonl --qrels q.tsv --out tried \\
        --set vector_weight=0.3,0.5,0.7 --set top_k=5,10

The cluster is the one that `RAY_ADDRESS` names, or this machine. `crosscorpus evaluate --on ray`
does the same with configurations that have names.
"""

from pathlib import Path
from typing import Annotated

import typer

from dataflow import load_config
from dataflow.configuration.overrides import with_settings
from dataflow.evaluation.evaluation_files import write_evaluation
from dataflow.evaluation.graph import evaluate
from operators.evaluation.grid import grid, read_settings
from operators.postgres.store import open_store


def main(
    queries: Annotated[Path, typer.Option()],
    qrels: Annotated[Path, typer.Option()],
    out: Annotated[Path, typer.Option("--out", "-o")],
    settings: Annotated[list[str], typer.Option("--set")],
    config: Annotated[str, typer.Option("--config", "-c")] = "default",
    collection: Annotated[str, typer.Option("--collection", "-C")] = "default",
) -> None:
    """Compare all combinations of ``settings`` with ``config``, and write all files to ``out``."""
    base = load_config(config)
    points = grid(read_settings(settings))
    configs = {"unchanged": base} | {
        "_".join(f"{name}-{value}" for name, value in point.items()): with_settings(base, point)
        for point in points
    }
    with open_store(collection=collection) as store:
        found = evaluate(store, configs, queries, qrels, on="ray")
    write_evaluation(found, out)


if __name__ == "__main__":
    typer.run(main)
