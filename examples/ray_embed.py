"""A backlog of passages gets its vectors on many machines: an export in, an export out.

    crosscorpus collections export team DIR
    python examples/ray_embed.py DIR OUT
    crosscorpus collections import OUT --as team-embedded

Each actor loads the model once. A batch whose actor dies is made again by another one. The cluster
is the one that `RAY_ADDRESS` names, or this machine; its machines have crosscorpus, the model, DIR.
"""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import ray
import typer

from operators.embedding.passage import embedded_text
from operators.embedding.registry import load_embedder
from operators.postgres.exchange.manifest import MANIFEST, read_manifest


class Embed:
    """An actor: it holds a model."""

    def __init__(self, model: str) -> None:
        """Load ``model``, by its name."""
        self.embedder = load_embedder(model)

    def __call__(self, chunks: pa.Table) -> pa.Table:
        """``chunks`` with the vectors of this model."""
        read = zip(*(chunks[c].to_pylist() for c in ("title", "anchor", "text")), strict=True)
        vectors = self.embedder.embed_documents([embedded_text(*row) for row in read])
        flat = pa.array(vectors.astype(np.float16).ravel())
        column = pa.FixedSizeListArray.from_arrays(flat, self.embedder.dimensions)
        others = [name for name in chunks.column_names if name != "embedding"]
        return chunks.select(others).append_column("embedding", column)


def embed(
    folder: Path, out: Path, model: str | None = None, actors: int = 2, at_once: int = 256
) -> None:
    """Write the export ``folder`` into the new folder ``out``, with vectors of ``model``.

    Without ``model`` it is the export's own. A batch has ``at_once`` passages: so many are made
    again where an actor dies. The rows keep their order.
    """
    export = read_manifest(folder)
    embedder = load_embedder(model or export.model or "minilm")
    out.mkdir(parents=True)
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    chunks = ray.data.read_parquet(str((folder / "chunks.parquet").absolute()))
    # All is read before the actors begin: they may take every processor, and reading needs one.
    batches = chunks.repartition(target_num_rows_per_block=at_once).materialize()
    embedded = batches.map_batches(
        Embed,
        fn_constructor_args=[embedder.model],
        batch_size=at_once,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=actors),
    )
    fields = [f for f in pq.read_schema(folder / "chunks.parquet") if f.name != "embedding"]
    vector = pa.field("embedding", pa.list_(pa.float16(), embedder.dimensions))
    with pq.ParquetWriter(out / "chunks.parquet", pa.schema([*fields, vector])) as writer:
        for batch in embedded.iter_batches(batch_size=None, batch_format="pyarrow"):
            writer.write_table(batch.cast(writer.schema))
    for table in export.rows.keys() - {"chunks"}:
        shutil.copy(folder / f"{table}.parquet", out)
    made = {key: getattr(embedder, key) for key in ("model", "space", "dimensions")}
    (out / MANIFEST).write_text(export.model_copy(update=made).model_dump_json(indent=2) + "\n")


if __name__ == "__main__":
    typer.run(embed)
