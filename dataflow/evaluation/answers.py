"""The ranked documents of a configuration for judged queries, in batches, for bounded memory.

The head of a run is exactly the configuration's ranking. If the head has too few documents of a
corpus, the same configuration searches again with a greater depth, and new documents follow the
head. Measures at depth see them; measures of the first ranks see what a user would see.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from dataflow.configuration.config_model import Config
from dataflow.driver.retrieval_driver import RetrievalDriver
from operators.embedding.protocol import Embedder
from operators.embedding.query_vectors import with_vectors
from operators.errors import check_known
from operators.evaluation.ranked_documents import (
    DOCUMENTS,
    Unit,
    continued,
    judged_names,
    ranked_documents,
    shallow,
    unit_chunks,
)
from operators.evaluation.trec import numbered
from operators.question.ask import query_texts

BATCH_SIZE = 64
DEEPER = 4
"""A search returns so many times the wanted documents: a document has several chunks."""


@dataclass(frozen=True)
class Holdings:
    """The numbers of documents and chunks in the collection, by corpus."""

    documents: Mapping[str, int]
    chunks: Mapping[str, int]


@dataclass(frozen=True)
class RunOptions:
    """How judged queries are run.

    Attributes:
        holdings: of the collection.
        qrels: columns ``QRELS``; they decide which documents, and which passages, have a name.
        depth: documents for each query and corpus, at least, if a search can reach so many; 0:
            only the configuration's ranking.
        unit: what has a rank in a run.
        batch_size: queries per batch.
        inputs: run-time inputs of the graph, such as ``reranker`` or ``now``.
    """

    holdings: Holdings
    qrels: pl.DataFrame
    depth: int
    unit: Unit
    batch_size: int
    inputs: Mapping[str, Any]


def for_evaluation(config: Config) -> Config:
    """``config`` for measurement: a failed search is an error, however busy the machine.

    With ``fail_open``, as for a user, a failed search would look like a bad ranking.
    """
    corpora = {name: {"deadline_s": None} for name in config.corpora}
    return config.with_changes({"on_corpus_error": "raise", "deadline_s": None, "corpora": corpora})


def questions(queries: pl.DataFrame) -> pl.DataFrame:
    """Judged queries (``JUDGED_QUERIES``) as input of the graph: every corpus is searched."""
    everywhere = pl.lit(None, pl.List(pl.String))
    return queries.select(
        "texts", "trigger", "repos", "as_of", query_id="number", corpora=everywhere
    )


def embed_judged_queries(queries: pl.DataFrame, embedder: Embedder) -> pl.DataFrame:
    """``QUERY_EMBEDDINGS``: the vector of every text of ``queries`` (``JUDGED_QUERIES``)."""
    return with_vectors(query_texts(questions(queries)), embedder)


def check_corpora(queries: pl.DataFrame, configs: Mapping[str, Config]) -> None:
    """Raise :class:`UnknownName` if a query judges a corpus that no configuration has."""
    known = {corpus for config in configs.values() for corpus in config.corpora}
    for corpus in queries["corpora"].explode().drop_nulls().unique(maintain_order=True):
        check_known("judged corpus", corpus, known)


def run_queries(
    driver: RetrievalDriver,
    name: str,
    queries: pl.DataFrame,
    query_embeddings: pl.DataFrame,
    how: RunOptions,
    on_batch: Callable[[int], object] | None = None,
) -> pl.DataFrame:
    """The run (``RUN``) of the judged queries over every corpus, whichever they judge.

    Args:
        driver: built of :func:`for_evaluation`'s configuration.
        name: the configuration's name in the run.
        queries: columns ``JUDGED_QUERIES``.
        query_embeddings: columns ``QUERY_EMBEDDINGS`` of all queries.
        on_batch: is called with the number of finished queries.
    """
    judged = by_number(how.qrels, queries)
    documents = partial(_documents, driver, judged=judged, unit=how.unit)
    counts = how.holdings.chunks if how.unit == "passage" else how.holdings.documents
    sizes = {c: n for c, n in counts.items() if c in driver.config.corpora}
    settings = driver.execute(["corpus_settings"])["corpus_settings"]
    parts = [pl.DataFrame(schema=DOCUMENTS)]
    for batch in questions(queries).iter_slices(how.batch_size):
        known = overrides_of(driver, batch, query_embeddings)
        head, seen = documents(known, how.inputs)
        for search_depth in _greater_depths(settings, how.holdings, how.depth):
            short = shallow(head, batch, sizes, how.depth)
            if short.is_empty():
                break
            known = overrides_of(driver, short, query_embeddings)
            depth = pl.lit(search_depth, pl.Int64)
            known["corpus_settings"] = settings.with_columns(search_depth=depth)
            if "rerank_depth" in driver.graph.nodes:
                known["rerank_depth"] = 0  # the head is reranked already
            tail, more = documents(known, how.inputs)
            tail = tail.join(seen, on=["query_id", "doc_id"], how="anti")
            if tail.is_empty():
                break
            head, seen = continued(head, tail), pl.concat([seen, more]).unique()
        parts.append(head)
        if on_batch:
            on_batch(batch.height)
    return as_run(pl.concat(parts), queries, name)


def as_run(documents: pl.DataFrame, queries: pl.DataFrame, name: str) -> pl.DataFrame:
    """Documents (``DOCUMENTS``) as columns ``RUN``, in the order of the queries."""
    named = documents.sort("query_id", "rank").join(
        queries.select("number", name="query_id"),
        left_on="query_id",
        right_on="number",
        maintain_order="left",
    )
    return numbered(named.select("doc_id", "corpus", query_id="name"), name)


def _greater_depths(settings: pl.DataFrame, holdings: Holdings, depth: int) -> Iterator[int]:
    """Search depths, each greater than the last, up to every chunk of a corpus (``CORPORA``)."""
    if not depth:
        return
    usual = max(settings["search_depth"])
    most = max((holdings.chunks.get(name, 0) for name in settings["corpus"]), default=0)
    search_depth = DEEPER * max(usual, depth)
    while search_depth < most:
        yield search_depth
        search_depth *= DEEPER
    if usual < most:
        yield most


def _documents(
    driver: RetrievalDriver,
    overrides: Mapping[str, Any],
    inputs: Mapping[str, Any],
    judged: pl.DataFrame,
    unit: Unit,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The documents, and (query_id, doc_id) of these and of all their near-duplicates.

    For a passage the second has its own name too, also if it has a judged one.
    """
    out = driver.execute(outputs(driver), inputs=inputs, overrides=overrides)
    documents = seen = documents_of(out, judged, unit)
    if unit == "passage":
        seen = pl.concat([seen, documents_of(out, judged.clear(), unit)]).unique()
    return documents, seen.select("query_id", "doc_id")


def outputs(driver: RetrievalDriver) -> list[str]:
    """The nodes that :func:`documents_of` reads: the whole ranked list, and all chunks."""
    return [driver.whole_list, "chunks"]


def by_number(qrels: pl.DataFrame, queries: pl.DataFrame) -> pl.DataFrame:
    """The judged ids of each query's ``number``: query_id and doc_id."""
    return qrels.join(queries, on="query_id").select("doc_id", query_id="number")


def documents_of(
    out: Mapping[str, Any], judged: pl.DataFrame, unit: Unit = "document"
) -> pl.DataFrame:
    """The documents of a run of the graph, as columns ``DOCUMENTS``.

    ``out``: the values of :func:`outputs`; ``judged``: of ``by_number``.
    """
    whole, read = out.values()
    columns = "chunk_id", "document_id", "corpus", "repo", "path", "start_line", "end_line"
    chunks = read.select(columns)
    return ranked_documents(
        whole,
        unit_chunks(chunks, unit),
        names=None if unit == "file" else judged_names(judged, chunks),
        every_chunk=unit == "passage",
    )


def overrides_of(
    driver: RetrievalDriver, asked: pl.DataFrame, query_embeddings: pl.DataFrame
) -> dict[str, Any]:
    """Values for the graph's first nodes, to run the batch ``asked``."""
    if "query_embeddings" not in driver.graph.nodes:
        return {"queries": asked}
    vectors = query_embeddings.join(asked, on="query_id", how="semi", maintain_order="left")
    return {"queries": asked, "query_embeddings": vectors}
