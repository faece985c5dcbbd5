"""`crosscorpus doctor`: does what a question needs work here, and how well."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from dataflow.configuration.config_model import Config, name_fault
from dataflow.driver.retrieval_driver import RetrievalDriver, build_driver
from operators.embedding.protocol import Embedder
from operators.embedding.registry import load_embedder
from operators.errors import CrosscorpusError, counted
from operators.foundation.data_dir import data_home
from operators.postgres.connection import connect, ensure_vector, nodes, resolve_dsn
from operators.postgres.errors import target
from operators.postgres.inspect.samples import has_vectors, sample_text
from operators.postgres.inspect.status import status
from operators.postgres.replication import lateness
from operators.postgres.schema.indexes import pending_corpora
from operators.postgres.schema.migrate import planned_changes
from operators.postgres.server.binaries import PACKAGE
from operators.postgres.server.embedded_server import server_for
from operators.postgres.store import ModelMismatch, Store, collection_info, open_store, schema_of

_PLANNED = (
    "the next command that opens the collection changes its tables: {} To be able to go back,"
    " `collections export` first"
)


@dataclass(frozen=True)
class Finding:
    """The result of one check: its subject, whether it works, and what was seen or must be done."""

    what: str
    ok: bool
    says: str


def advice_on_unsearched(corpus: str) -> str:
    """What to do about a corpus that the collection has and the configuration lacks."""
    if fault := name_fault(corpus):
        return f"no question can find it: {fault}; ingest its documents under another name"
    return "no question finds it until the configuration has an entry for it under `corpora`"


def examine(config: Config, collection: str) -> Iterator[Finding]:
    """Check the data directory, the model, the server and the collection.

    A directory or a server that cannot be reached ends the checks.
    """
    embedder: Embedder | None = None
    try:
        yield Finding("data", True, str(data_home()))
    except CrosscorpusError as error:
        yield Finding("data", False, str(error))
        return
    try:
        embedder = load_embedder(config.embedding)
        width = embedder.embed_queries(["does it work?"]).shape[1]
        yield Finding("model", True, f"{embedder.model}, {width} dimensions")
    except CrosscorpusError as error:
        yield Finding("model", False, str(error))
    try:
        dsn = resolve_dsn(reading=True)
        with connect(dsn, autocommit=True) as conn:
            version = conn.info.server_version
            extension, workers = ensure_vector(conn), nodes(conn)
        says = f"Postgres {version // 10000}, pgvector {extension.version}, at {target(dsn)}"
        yield Finding("server", True, says + (f", from {PACKAGE}" if server_for(dsn) else ""))
        yield from (Finding(f"node {node}", *result) for node, result in workers.items())
    except CrosscorpusError as error:
        yield Finding("server", False, str(error))
        return
    try:
        with connect(dsn, autocommit=True) as conn:
            planned = planned_changes(conn, schema_of(collection))
        if planned:
            yield Finding("upgrade", True, _PLANNED.format(" ".join(planned)))
            return
        with open_store(dsn, collection) as store:
            if store.replica:
                yield Finding("replica", not (late := lateness(store)), late or "not behind")
            yield from _collection(store, embedder, config)
    except CrosscorpusError as error:
        yield Finding("collection", False, str(error))


def _collection(store: Store, embedder: Embedder | None, config: Config) -> Iterator[Finding]:
    with ExitStack() as stack:
        driver = None
        if embedder is not None and (model := collection_info(store).model) is not None:
            asking = config.with_changes({"on_corpus_error": "raise"})
            try:
                driver = stack.enter_context(build_driver(asking, store=store, embedder=embedder))
                says = f"collection {store.collection!r} was made with {model}"
                yield Finding("vectors", True, says)
            except ModelMismatch as error:
                yield Finding("vectors", False, str(error))
        if unfinished := sorted(pending_corpora(store)):
            says = f"the last ingestion of {', '.join(unfinished)} was cut short: run it again"
            yield Finding("ingestion", False, says)
        for row in status(store).iter_rows(named=True):
            yield from _corpus(store, driver, config, row)


def _corpus(
    store: Store,
    driver: RetrievalDriver | None,
    config: Config,
    row: Mapping[str, Any],
) -> Iterator[Finding]:
    """Check the corpus that ``row`` (columns ``STATUS``) describes."""
    corpus, name, here = row["corpus"], f"corpus {row['corpus']}", f"-C {store.collection}"
    if corpus not in config.corpora:
        yield Finding(name, False, advice_on_unsearched(corpus))
    if row["failed"]:
        says = (
            f"{row['failed']} of {row['documents']} failed (`crosscorpus status {here}` names them)"
        )
        yield Finding(name, False, says)
    if not row["chunks"]:
        yield Finding(name, True, "no chunks")
        return
    embedded = has_vectors(store, corpus)
    says = counted(row["chunks"], "chunk")
    if not embedded:
        says += f", found by words; none has a vector yet: `crosscorpus embed {here}` adds them"
    yield Finding(name, True, says)
    if driver is None or corpus not in config.corpora:
        return
    # A question without any word of the corpus reads no postings.
    inputs = {"query": sample_text(store, corpus) or corpus}
    for channel in ("vector", "text") if embedded else ("text",):
        node = f"{corpus}.{channel}_search"
        try:
            found = driver.execute([node], inputs=inputs)[node]
        except CrosscorpusError as error:
            yield Finding(name, False, f"the {channel} search fails: {error}")
            continue
        if channel == "vector" and found.lists.is_empty():
            says = f"no vector search finds any chunk: run `crosscorpus verify --repair {here}`"
            yield Finding(name, False, says)
