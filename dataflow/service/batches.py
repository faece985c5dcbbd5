"""Many questions in one request, answered as a stream: lines of JSON, or Arrow."""

from collections.abc import Iterator
from io import BytesIO
from itertools import chain
from typing import Annotated, Any, Literal

import polars as pl
import pyarrow as pa
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from dataflow.service.tools import Corpora, Query, Repos, Trigger, Use, inputs

AT_ONCE = 32
TYPES = {"ndjson": "application/x-ndjson", "arrow": "application/vnd.apache.arrow.stream"}


class Batch(BaseModel):
    """Questions, and what counts for all of them."""

    model_config = ConfigDict(extra="forbid")

    queries: Annotated[list[Query], Field(min_length=1, max_length=1_000)]
    corpora: Corpora = None
    repos: Repos = None
    trigger: Trigger = None
    top_k: Annotated[int, Field(ge=1, le=200)] = 10
    format: Literal["ndjson", "arrow"] = "ndjson"


def serve_batches(app: FastAPI, use: Use, problems: dict[int | str, dict[str, Any]]) -> None:
    """Add ``/api/batch``: a row a question, in their order."""

    @app.post("/api/batch", response_class=StreamingResponse, responses=problems)
    def batch(asked: Batch) -> StreamingResponse:
        """The results of many questions; each is sent as soon as it is found."""
        frames = answers(use, asked)
        first = next(frames)  # so that a fault of the request is an error and no broken stream
        found = chain([first], frames)
        parts = as_arrow(found) if asked.format == "arrow" else (f.write_ndjson() for f in found)
        return StreamingResponse(parts, media_type=TYPES[asked.format])


def answers(use: Use, asked: Batch) -> Iterator[pl.DataFrame]:
    """``AT_ONCE`` questions after the other: columns query_id (from 0), results, notes."""
    for start in range(0, len(asked.queries), AT_ONCE):
        texts = asked.queries[start : start + AT_ONCE]
        with use() as service:
            inputs(service, "", corpora=asked.corpora, repos=asked.repos)  # known names alone
            trigger = asked.trigger or service.driver.config.usual_trigger
            shared = {"trigger": trigger, "corpora": asked.corpora, "repos": asked.repos}
            queries = pl.DataFrame({"query_id": range(len(texts)), "text": texts}).with_columns(
                pl.lit(value).alias(name) for name, value in shared.items() if value is not None
            )
            out = service.driver.execute(
                ["results", "notes"], {"top_k": asked.top_k}, {"queries": queries}
            )
            page = service.page or "file:"
        hit = pl.format("{}:{}", "corpus", "chunk_id").alias("id")
        address = pl.coalesce("source_url", pl.format(f"{page}/{{}}", hit)).alias("url")
        title = pl.col("source_label").alias("title")
        hits = out["results"].group_by("query_id", maintain_order=True)
        notes = out["notes"].group_by("query_id", maintain_order=True)
        yield (
            pl.DataFrame({"query_id": range(len(texts))}, {"query_id": pl.UInt32})
            .join(
                hits.agg(results=pl.struct(hit, title, address, "score", "text")),
                "query_id",
                "left",
            )
            .join(notes.agg(notes="note"), "query_id", "left")
            .sort("query_id")
            .with_columns(pl.col("query_id") + start, pl.col("results", "notes").fill_null([]))
        )


def as_arrow(frames: Iterator[pl.DataFrame]) -> Iterator[bytes]:
    """``frames`` as one stream of Arrow's IPC format."""
    sink, writer = BytesIO(), None
    for table in (frame.to_arrow() for frame in frames):
        writer = writer or pa.ipc.new_stream(sink, table.schema)
        writer.write_table(table)
        yield sink.getvalue()
        sink.seek(0)
        sink.truncate()
    if writer:
        writer.close()
        yield sink.getvalue()
