"""From ranked chunks to ranked documents: each judged document counts once, at its best chunk.

A judged id names a document (``README.md``), that of one repository (``acme/api:README.md``), or
lines of either (``README.md:10-42``). The unit of a ranking is what has a rank in it: a document;
a file, which may be several documents; or a passage, which is a chunk.
"""

from collections.abc import Mapping
from typing import Literal

import polars as pl

from operators.versions.normalized_names import ABOUT_FILES

Unit = Literal["document", "file", "passage"]

DOCUMENTS = pl.Schema(
    {"query_id": pl.UInt32(), "doc_id": pl.String(), "corpus": pl.String(), "rank": pl.UInt32()}
)
IN_JUDGED_CORPUS = pl.col("corpora").is_null() | pl.col("corpora").list.contains(pl.col("corpus"))
"""Whether a row's corpus is one of its query's ``corpora``; null: all."""
PASSAGE = r"(?s)^(.+):(\d+)-(\d+)$"


def judged_names(qrels: pl.DataFrame, chunks: pl.DataFrame) -> pl.DataFrame:
    """The judged ids that name a chunk: query_id, chunk_id and doc_id, unordered.

    ``chunks`` has chunk_id, document_id, repo, start_line and end_line.
    """
    judged = qrels.select("query_id", "doc_id").unique()
    part = pl.col("doc_id").str.extract
    lines = judged.with_columns(
        name=part(PASSAGE, 1),
        first=part(PASSAGE, 2).cast(pl.UInt32, strict=False),
        last=part(PASSAGE, 3).cast(pl.UInt32, strict=False),
    ).drop_nulls()
    ids = pl.concat([judged.with_columns(name="doc_id"), lines], how="diagonal")
    qualified = chunks.with_columns(name=pl.concat_str("repo", pl.lit(":"), "document_id"))
    called = pl.concat([chunks.with_columns(name="document_id"), qualified])
    inside = (pl.col("start_line") <= pl.col("last")) & (pl.col("end_line") >= pl.col("first"))
    named = ids.join(called, on="name").filter(pl.col("first").is_null() | inside)
    return named.select("query_id", "chunk_id", "doc_id").unique()


def unit_chunks(chunks: pl.DataFrame, unit: Unit) -> pl.DataFrame:
    """``chunks`` with the name of their unit as document_id.

    A file is ``acme/api:src/cache.py``, a passage ``src/cache.py:10-42#CHUNK_ID``. ``chunks`` has
    chunk_id, document_id, corpus, repo, path, start_line and end_line.
    """
    if unit == "file":
        return chunks.with_columns(document_id=_file_name())
    if unit == "passage":
        lines = pl.format(":{}-{}", "start_line", "end_line").fill_null("")
        return chunks.with_columns(
            document_id=pl.format("{}{}#{}", "document_id", lines, "chunk_id")
        )
    return chunks


def unit_homes(placed: pl.DataFrame, unit: Unit) -> pl.DataFrame:
    """doc_id, as :func:`unit_qrels` names it, and corpus of the judged documents.

    ``placed`` has doc_id, as judged, corpus, repo, document_id and path.
    """
    name = _file_name() if unit == "file" else pl.col("doc_id")
    return placed.select(name.alias("doc_id"), "corpus").unique().sort("doc_id", "corpus")


def unit_qrels(
    qrels: pl.DataFrame, placed: pl.DataFrame, queries: pl.DataFrame, unit: Unit
) -> pl.DataFrame:
    """The judgements (``QRELS``) of the units; a file has its highest grade.

    An id that several repositories have means the files of those that its query
    (``JUDGED_QUERIES``) searches. A judgement that names no document of ``placed``, as of
    :func:`unit_homes`, is unchanged.
    """
    if unit != "file":
        return qrels
    scoped = qrels.join(queries.select("query_id", "repos"), on="query_id", maintain_order="left")
    files = placed.select("doc_id", "repo", file=_file_name()).unique()
    in_scope = pl.col("repos").is_null() | pl.col("repos").list.contains(pl.col("repo"))
    named = scoped.join(files, on="doc_id").filter(in_scope)
    every = qrels.join(named, on=["query_id", "doc_id"], how="left", maintain_order="left_right")
    by_file = every.with_columns(doc_id=pl.coalesce("file", "doc_id"))
    grades = by_file.group_by("query_id", "doc_id", maintain_order=True)
    return grades.agg(pl.col("grade").max())


def _file_name() -> pl.Expr:
    """The file of a document; one without a file, or about one as a review is, has its own name."""
    is_file = pl.col("path").is_not_null() & ~pl.col("corpus").is_in(ABOUT_FILES)
    name = pl.when(is_file).then("path").otherwise("document_id")
    repo = pl.when(pl.col("repo") != "").then(pl.format("{}:", "repo")).otherwise(pl.lit(""))
    return repo + name


def ranked_documents(
    ranked: pl.DataFrame,
    chunks: pl.DataFrame,
    *,
    names: pl.DataFrame | None = None,
    every_chunk: bool = False,
) -> pl.DataFrame:
    """Chunks in ranking order as documents, each at the rank of its best chunk.

    Args:
        ranked: query_id, chunk_id, rank, and ``alternate_sources`` if dedup ran: near-duplicates
            that it dropped, which follow their representative in this order.
        chunks: chunk_id, document_id and corpus of every chunk in a list.
        names: of :func:`judged_names`. A chunk has all its judged names, one after the other; one
            without any has its document's id.
        every_chunk: a chunk whose judged names are above has its document's id and a rank too.

    Returns:
        Columns ``DOCUMENTS``, by query and rank; ranks are 0-based.
    """
    listed = ranked.select("query_id", "rank", "chunk_id", position=pl.lit(0, pl.UInt32))
    if "alternate_sources" in ranked.columns:
        dropped = (
            ranked.select("query_id", "rank", "alternate_sources")
            .explode("alternate_sources", empty_as_null=False, keep_nulls=False)
            .select(
                "query_id",
                "rank",
                chunk_id=pl.col("alternate_sources").struct.field("chunk_id"),
                position=pl.int_range(1, pl.len() + 1, dtype=pl.UInt32).over("query_id", "rank"),
            )
        )
        listed = pl.concat([listed, dropped.select(listed.columns)])
    rows = listed.join(chunks.select("chunk_id", "document_id", "corpus").unique(), on="chunk_id")
    if names is not None:
        rows = rows.join(names, on=["query_id", "chunk_id"], how="left")
        if every_chunk:
            rows = _named_once(rows)
        rows = rows.with_columns(document_id=pl.coalesce("doc_id", "document_id")).drop("doc_id")
    rows = rows.sort("query_id", "rank", "position", "chunk_id", "corpus", "document_id")
    once = rows.unique(["query_id", "document_id"], keep="first", maintain_order=True)
    return _ranked(once).rename({"document_id": "doc_id"}).select(list(DOCUMENTS))


def _named_once(rows: pl.DataFrame) -> pl.DataFrame:
    """``rows`` with each judged name at its first chunk only; a row without a name has a null."""
    ordered = rows.sort("query_id", "rank", "position", "chunk_id", "doc_id")
    first = pl.struct("query_id", "doc_id").is_first_distinct()
    once = ordered.with_columns(doc_id=pl.when(first).then("doc_id"))
    named = pl.col("doc_id").is_not_null().any().over("query_id", "chunk_id")
    return once.filter(pl.col("doc_id").is_not_null() | ~named)


def _ranked(ordered: pl.DataFrame) -> pl.DataFrame:
    return ordered.with_columns(rank=pl.int_range(pl.len(), dtype=pl.UInt32).over("query_id"))


def in_judged_corpora(run: pl.DataFrame, queries: pl.DataFrame) -> pl.DataFrame:
    """The documents of ``run`` (``RUN``) in the corpora that their query judges, in its order."""
    judged = queries.select("query_id", "corpora")
    joined = run.join(judged, on="query_id", how="left", maintain_order="left")
    return joined.filter(IN_JUDGED_CORPUS).drop("corpora")


def continued(head: pl.DataFrame, tail: pl.DataFrame) -> pl.DataFrame:
    """``head``, then the documents that only ``tail`` has; both have columns ``DOCUMENTS``."""
    more = tail.join(head, on=["query_id", "doc_id"], how="anti")
    both = pl.concat([head.with_columns(part=0), more.with_columns(part=1)])
    return _ranked(both.sort("query_id", "part", "rank")).select(list(DOCUMENTS))


def shallow(
    documents: pl.DataFrame, asked: pl.DataFrame, sizes: Mapping[str, int], depth: int
) -> pl.DataFrame:
    """The queries that have fewer than ``depth`` ``DOCUMENTS`` of a corpus that has more.

    Rows of ``asked`` (query_id, ``corpora``, any other columns) in its order, ``corpora``
    restricted to those that lack documents. ``sizes``: the number of documents of each corpus.
    """
    wanted = pl.DataFrame(
        {"corpus": sorted(sizes), "wanted": [min(depth, sizes[name]) for name in sorted(sizes)]},
        schema={"corpus": pl.String, "wanted": pl.UInt32},
    )
    pairs = asked.select("query_id", "corpora").join(wanted, how="cross").filter(IN_JUDGED_CORPUS)
    counts = documents.group_by("query_id", "corpus").agg(count=pl.len())
    short = (
        pairs.join(counts, on=["query_id", "corpus"], how="left")
        .filter(pl.col("count").fill_null(0) < pl.col("wanted"))
        .group_by("query_id")
        .agg(corpora=pl.col("corpus").sort())
    )
    return (
        asked.drop("corpora")
        .join(short, on="query_id", maintain_order="left")
        .select(asked.columns)
    )
