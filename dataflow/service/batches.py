"""Many questions in one request, answered as a stream: lines of JSON, or Arrow."""

from collections.abc import AsyncIterator, Sequence
from functools import partial
from io import BytesIO
from typing import Annotated, Any, Literal

import polars as pl
import pyarrow as pa
from fastapi import FastAPI, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import Field, create_model

from dataflow.service.arguments import FILTER_TYPES, Arguments, as_sent, read_given
from dataflow.service.protection.limits import answered, while_there
from dataflow.service.tools import Query, Use, caller_service, put_on_record
from operators.errors import CrosscorpusError
from operators.postgres.errors import DatabaseError
from operators.question.ask import in_utc, read_versions
from operators.ranking.one_a_file import named_beside

AT_ONCE = 32
TYPES = {"ndjson": "application/x-ndjson", "arrow": "application/vnd.apache.arrow.stream"}
HIT: dict[str, Any] = dict.fromkeys(("id", "title", "url", "score", "text"), pl.String)
HIT |= {"score": pl.Float64, "also": pl.List(pl.String)}
ROW: dict[str, Any] = {"query_id": pl.UInt32, "results": pl.List(pl.Struct(HIT))}
ROW |= {"notes": pl.List(pl.String), "error": pl.String}


class Batch(Arguments):
    """Queries, and options for all of them."""

    queries: Annotated[list[Query], Field(min_length=1, max_length=1_000)]
    top_k: Annotated[int, Field(ge=1, le=200)] = 10
    format: Literal["ndjson", "arrow"] = "ndjson"


_TYPES: dict[str, Any] = {name: (of, None) for name, of in FILTER_TYPES.items()}
FILTERED = create_model("Batch", __base__=Batch, **_TYPES)
"""The same, with the filters of a question and its trigger, for all queries."""


def serve_batches(
    app: FastAPI, use: Use, problems: dict[int | str, dict[str, Any]], seconds: float
) -> None:
    """Add ``/api/batch``: a row a query, in their order; ``seconds`` is the timeout of each."""

    async def batch(given: Any, request: Request) -> Response:
        """The results of many queries, in their order; one that failed has its error."""
        sent = {name: getattr(given, name) for name in given.model_fields_set}
        frames = answers(use, *read_given(FILTERED, sent), seconds)
        # the first before the stream, so that an invalid request gets an error response
        first = await while_there(request, anext(frames))
        if first is None:
            return Response()

        async def results() -> AsyncIterator[pl.DataFrame]:
            yield first
            async for frame in frames:
                yield frame

        lines = (frame.write_ndjson() async for frame in results())
        parts = as_arrow(results()) if given.format == "arrow" else lines
        return StreamingResponse(parts, media_type=TYPES[given.format])

    batch.__annotations__["given"] = as_sent(FILTERED)
    app.post("/api/batch", response_class=StreamingResponse, responses=problems)(batch)


async def answers(
    use: Use, asked: Batch, said: Sequence[str], seconds: float
) -> AsyncIterator[pl.DataFrame]:
    """Columns query_id (from 0), results, notes, and error: null if the query has an answer.

    ``AT_ONCE`` queries run together. If they take longer than ``seconds``, each runs alone. Each
    has the notes ``said`` on how the options were read.

    Raises:
        CrosscorpusError: the request is invalid, which is detected before the first answer.
        DatabaseError: the database is unreachable.
    """
    texts = asked.queries
    left = [(at, texts[at : at + AT_ONCE]) for at in reversed(range(0, len(texts), AT_ONCE))]
    while left:
        start, some = left.pop()
        try:
            frame = await answered(partial(answers_together, use, asked, some, said), seconds)
        except CrosscorpusError as error:
            if isinstance(error, DatabaseError) or not (start or isinstance(error, TimeoutError)):
                raise
            if len(some) > 1:
                left += [(start + at, [some[at]]) for at in reversed(range(len(some)))]
                continue
            frame = pl.DataFrame([(0, [], [], str(error))], ROW, orient="row")
        yield frame.with_columns(pl.col("query_id") + start)


def answers_together(
    use: Use, asked: Batch, texts: Sequence[str], said: Sequence[str] = ()
) -> pl.DataFrame:
    """A row a text: its hits from one run of the graph for all; each has the notes ``said``."""
    with caller_service(use) as service, service.metrics.question("batch", len(texts)):
        shared = {name: getattr(asked, name, None) for name in FILTER_TYPES}
        options = service.driver.question_inputs("", must_exist=True, **shared)
        said = [*said, *options.pop("read_as", ())]
        # Polars has no error of ours for a moment outside the years
        for name in ("as_of", "since", "until"):
            if moment := options.get(name):
                options[name] = in_utc(moment, name)
        if version := options.pop("versions", None):  # may be a policy, as of a single question
            options["version_policy"], options["versions"] = read_versions(version)
        queries = pl.DataFrame({"query_id": range(len(texts)), "text": texts}).with_columns(
            pl.lit(value).alias(name) for name, value in options.items() if name != "query"
        )
        inputs = {"top_k": asked.top_k, "read_as": said}
        out = service.driver.execute(
            ["results", "notes", "provenance"], inputs, {"queries": queries}
        )
        service.metrics.run(out["provenance"], service.driver.stages)
        put_on_record("batch", out["results"].height)
        page = service.page or "file:"
    hit = pl.format("{}:{}", "corpus", "chunk_id").alias("id")
    address = pl.coalesce("source_url", pl.format(f"{page}/{{}}", hit)).alias("url")
    shown = pl.struct(hit, pl.col("source_label").alias("title"), address, "score", "text", "also")
    beside = out["results"].select("document_id", "more_of_file").iter_rows()
    also = pl.Series("also", [named_beside(*one) for one in beside], pl.List(pl.String))
    hits = (
        out["results"]
        .with_columns(also)
        .group_by("query_id", maintain_order=True)
        .agg(results=shown)
    )
    notes = out["notes"].group_by("query_id", maintain_order=True).agg(notes="note")
    return (
        pl.DataFrame({"query_id": range(len(texts))}, {"query_id": pl.UInt32})
        .join(hits, "query_id", "left")
        .join(notes, "query_id", "left")
        .sort("query_id")
        .with_columns(pl.col("results", "notes").fill_null([]), error=pl.lit(None, pl.String))
    )


async def as_arrow(frames: AsyncIterator[pl.DataFrame]) -> AsyncIterator[bytes]:
    """``frames`` as one stream of Arrow's IPC format."""
    sink, writer = BytesIO(), None
    async for frame in frames:
        table = frame.to_arrow()
        writer = writer or pa.ipc.new_stream(sink, table.schema)
        writer.write_table(table)
        yield sink.getvalue()
        sink.seek(0)
        sink.truncate()
    if writer:
        writer.close()
        yield sink.getvalue()
