"""Any number of questions asked on a Ray cluster: lines of JSON in, Parquet out.

    python examples/ray_ask.py questions.jsonl answers -C team

A line has `id` and `text`. Each actor holds a driver with connections of its own; a batch whose
actor dies is asked again. The cluster is the one that `RAY_ADDRESS` names, or this machine; its
machines have crosscorpus, the model, and reach the database.
"""

from pathlib import Path
from typing import Annotated

import polars as pl
import pyarrow as pa
import ray
import typer

from dataflow import build_driver, load_config
from dataflow.evaluation.answers import for_evaluation
from operators.postgres.connection import resolve_dsn

FOUND = ["rank", "score", "corpus", "repo", "document_id", "source_label", "source_url"]


class Ask:
    """An actor: it holds a driver. No deadline cuts an answer, and a failing search is an error."""

    def __init__(self, dsn: str, collection: str, config: str) -> None:
        """Open the collection and load the model."""
        asking = for_evaluation(load_config(config))
        self.driver = build_driver(asking, collection, dsn=dsn)

    def __call__(self, questions: pa.Table) -> pa.Table:
        """What is found for each question: a row a result."""
        asked = pl.DataFrame(questions).with_row_index("query_id")
        queries = asked.select("query_id", "text")
        results = self.driver.execute(["results"], overrides={"queries": queries})["results"]
        named = asked.select("query_id", "id")
        found = results.join(named, on="query_id").sort("query_id", "rank").select("id", *FOUND)
        return found.to_arrow()


def main(
    questions: Path,
    out: Path,
    collection: Annotated[str, typer.Option("--collection", "-C")] = "default",
    config: Annotated[str, typer.Option("--config", "-c")] = "default",
    actors: int = 2,
    at_once: int = 64,
) -> None:
    """Ask ``questions``, ``at_once`` in a batch, and write the results into the folder ``out``."""
    lines = ray.data.read_json(str(questions.absolute()), lines=True)
    # All is read before the actors begin: they may take every processor, and reading needs one.
    batches = lines.repartition(target_num_rows_per_block=at_once).materialize()
    found = batches.map_batches(
        Ask,
        fn_constructor_args=[resolve_dsn(reading=True), collection, config],
        batch_size=at_once,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=actors),
    )
    found.write_parquet(str(out.absolute()))


if __name__ == "__main__":
    typer.run(main)
