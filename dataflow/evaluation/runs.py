"""The nodes from queries and judgements to the runs of every configuration."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

import polars as pl
from hamilton.function_modifiers import extract_fields, tag

from dataflow.configuration.config_model import Config
from dataflow.driver.retrieval_driver import build_driver
from dataflow.evaluation.answers import (
    BATCH_SIZE,
    Holdings,
    RunOptions,
    check_corpora,
    embed_judged_queries,
    for_evaluation,
    run_queries,
)
from operators.embedding.protocol import Embedder
from operators.errors import CrosscorpusError
from operators.evaluation.judgements import check_judged
from operators.evaluation.ranked_documents import Unit, in_judged_corpora, unit_homes, unit_qrels
from operators.postgres.inspect.document_homes import count_documents, document_homes
from operators.postgres.store import Store, collection_info, open_store

T = TypeVar("T")


@tag(stage="judgements")
@extract_fields({"judged_queries": pl.DataFrame, "document_qrels": pl.DataFrame})
def judged(given_queries: pl.DataFrame, given_qrels: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The queries that have judgements, and their judgements."""
    queries, qrels = check_judged(given_queries, given_qrels)
    return {"judged_queries": queries, "document_qrels": qrels}


def _elsewhere(
    store: Store, configs: Mapping[str, Config], read: Callable[[Store], T]
) -> Iterator[tuple[str, str, T]]:
    """Each corpus in another collection, its name there, and the result of ``read`` for it."""
    for config in configs.values():
        for collection in config.other_collections:
            with open_store(store.dsn, collection, max_size=1) as other:
                result = read(other)
            for name, options in config.corpora.items():
                if options.collection == collection:
                    yield name, options.corpus or name, result


@tag(stage="collection", io="postgres")
def holdings(store: Store, configs: dict[str, Config]) -> Holdings:
    """The numbers of documents and chunks of each corpus."""

    def read(one: Store) -> Holdings:
        return Holdings(count_documents(one), collection_info(one).corpora)

    own = read(store)
    documents, chunks = dict(own.documents), dict(own.chunks)
    for corpus, corpus_there, other in _elsewhere(store, configs, read):
        documents[corpus] = other.documents.get(corpus_there, 0)
        chunks[corpus] = other.chunks.get(corpus_there, 0)
    return Holdings(documents, chunks)


@tag(stage="collection", io="postgres")
def placed(store: Store, configs: dict[str, Config], document_qrels: pl.DataFrame) -> pl.DataFrame:
    """The judged documents in the collection; an error if it has none of them."""
    judged_ids = document_qrels["doc_id"]
    read = partial(document_homes, judged_ids=judged_ids)
    others = [
        documents.filter(corpus=corpus_there).with_columns(corpus=pl.lit(corpus))
        for corpus, corpus_there, documents in _elsewhere(store, configs, read)
    ]
    documents = pl.concat([read(store), *others])
    if documents.is_empty():
        raise CrosscorpusError(
            f"collection {store.collection!r} has none of the {judged_ids.n_unique()} judged "
            f"documents (such as {judged_ids[0]!r}): name the collection that was judged"
        )
    return documents


@tag(stage="judgements")
def qrels(
    document_qrels: pl.DataFrame,
    placed: pl.DataFrame,
    judged_queries: pl.DataFrame,
    unit: Unit = "document",
) -> pl.DataFrame:
    """The judgements of the units of a run: documents, files or passages."""
    return unit_qrels(document_qrels, placed, judged_queries, unit)


@tag(stage="collection")
def homes(placed: pl.DataFrame, unit: Unit = "document") -> pl.DataFrame:
    """The corpora of the judged documents."""
    return unit_homes(placed, unit)


@tag(stage="runs", io="embedding")
def query_embeddings(judged_queries: pl.DataFrame, embedder: Embedder) -> pl.DataFrame:
    """The vector of every query text, once for all configurations."""
    return embed_judged_queries(judged_queries, embedder)


@tag(stage="runs", io="postgres")
def answers(
    configs: dict[str, Config],
    store: Store,
    embedder: Embedder,
    judged_queries: pl.DataFrame,
    query_embeddings: pl.DataFrame,
    homes: pl.DataFrame,
    holdings: Holdings,
    qrels: pl.DataFrame,
    depth: int = 100,
    unit: Unit = "document",
    batch_size: int = BATCH_SIZE,
    retrieval_inputs: Mapping[str, Any] | None = None,
    on_batch: Callable[[str, int], None] | None = None,
    elsewhere: Callable[..., dict[str, pl.DataFrame]] | None = None,
) -> dict[str, pl.DataFrame]:
    """The runs of each configuration in all corpora, one after the other or ``elsewhere``."""
    check_corpora(judged_queries, configs)
    how = RunOptions(holdings, qrels, depth, unit, batch_size, retrieval_inputs or {})
    if elsewhere:
        return elsewhere(store, configs, judged_queries, query_embeddings, how, on_batch)
    done = {}
    for name, config in configs.items():
        report = partial(on_batch, name) if on_batch else None
        with build_driver(for_evaluation(config), store=store, embedder=embedder) as driver:
            done[name] = run_queries(driver, name, judged_queries, query_embeddings, how, report)
    return done


@tag(stage="runs")
def runs(answers: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """All runs, concatenated."""
    return pl.concat(answers.values())


@tag(stage="runs")
def judged_runs(runs: pl.DataFrame, judged_queries: pl.DataFrame) -> pl.DataFrame:
    """The judged part of the runs: the corpora that a query judges."""
    return in_judged_corpora(runs, judged_queries)
