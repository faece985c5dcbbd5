import polars as pl

from operators.evaluation.evaluation_frames import JUDGED_QUERIES
from operators.evaluation.ranked_documents import (
    DOCUMENTS,
    judged_names,
    ranked_documents,
    shallow,
    unit_chunks,
    unit_qrels,
)
from operators.frames import SOURCE, check

CHUNKS = pl.DataFrame(
    {
        "chunk_id": [1, 2, 3, 4, 5],
        "document_id": ["a", "a", "b", "c", "d"],
        "corpus": ["code", "code", "code", "wiki", "wiki"],
    }
)


def ranked(*rows):
    """Rows of query, chunk and the chunks that it stands for, in ranking order."""
    named = [
        {
            "query_id": query,
            "chunk_id": chunk,
            "alternate_sources": [{"chunk_id": copy} for copy in copies],
        }
        for query, chunk, copies in rows
    ]
    schema = {"query_id": pl.UInt32, "chunk_id": pl.Int64, "alternate_sources": pl.List(SOURCE)}
    return pl.DataFrame(named, schema=schema).with_columns(
        rank=pl.int_range(pl.len(), dtype=pl.UInt32).over("query_id")
    )


def listed(documents):
    check(documents, DOCUMENTS, "documents")
    places = documents.select(at=pl.int_range(pl.len()).over("query_id"))["at"]
    assert documents["rank"].to_list() == places.to_list()
    return [
        (query, part["doc_id"].to_list())
        for (query,), part in documents.group_by("query_id", maintain_order=True)
    ]


def test_a_document_counts_once_at_its_best_chunk():
    hits = ranked((0, 2, []), (0, 3, []), (0, 1, []), (1, 4, []), (1, 1, []))
    assert listed(ranked_documents(hits, CHUNKS)) == [(0, ["a", "b"]), (1, ["c", "a"])]


def test_queries_that_lack_documents_are_asked_for_the_corpora_that_they_lack():
    documents = ranked_documents(ranked((0, 3, []), (0, 1, []), (0, 4, []), (1, 4, [])), CHUNKS)
    asked = pl.DataFrame(
        {
            "query_id": [0, 1, 2],
            "texts": [["x"], ["y"], ["z"]],
            "corpora": [None, ["wiki"], ["code", "absent"]],
        },
        schema_overrides={"query_id": pl.UInt32},
    )
    short = shallow(documents, asked, {"code": 2, "wiki": 9}, 2)
    assert short.rows() == [(0, ["x"], ["wiki"]), (1, ["y"], ["wiki"]), (2, ["z"], ["code"])]
    assert shallow(documents, asked, {"code": 1, "wiki": 1}, 9)["query_id"].to_list() == [2]
    assert shallow(documents, asked, {}, 9).is_empty()


def test_a_judged_id_may_name_a_repository_and_lines():
    chunks = pl.DataFrame(
        [
            (1, "README.md", "api", 1, 9),
            (2, "README.md", "api", 10, 30),
            (3, "README.md", "web", 10, 30),
            (4, "log:3-4", "", None, None),
        ],
        schema=["chunk_id", "document_id", "repo", "start_line", "end_line"],
        orient="row",
    ).cast({"start_line": pl.UInt32, "end_line": pl.UInt32})
    judged = ["README.md", "web:README.md", "README.md:9-9", "api:README.md:30-99", "log:3-4", "x"]
    qrels = pl.DataFrame({"query_id": [0] * 6, "doc_id": judged}).cast({"query_id": pl.UInt32})
    found = judged_names(qrels, chunks).group_by("chunk_id").agg(pl.col("doc_id").sort())
    assert dict(found.iter_rows()) == {
        1: ["README.md", "README.md:9-9"],
        2: ["README.md", "api:README.md:30-99"],
        3: ["README.md", "web:README.md"],
        4: ["log:3-4"],
    }
    huge = qrels.with_columns(doc_id=pl.lit("README.md:1-99999999999999999999"))
    assert judged_names(huge, chunks).is_empty()


OF_FILES = pl.DataFrame(
    [
        (1, "api.md#get", "docs", "api", "api.md", 1, 9),
        (2, "api.md#put", "docs", "api", "api.md", 10, 30),
        (3, "api.md", "docs", "web", "api.md", 1, 9),
        (4, "pull/1#r1", "review", "api", "api.md", None, None),
        (5, "Locks", "wiki", "", None, None, None),
    ],
    schema=["chunk_id", "document_id", "corpus", "repo", "path", "start_line", "end_line"],
    orient="row",
).cast({"start_line": pl.UInt32, "end_line": pl.UInt32})


def test_an_id_that_several_repositories_have_is_a_file_of_those_that_are_asked():
    files = pl.DataFrame({"doc_id": ["a.py"] * 2, "repo": ["old", "new"], "path": ["a.py"] * 2})
    placed = files.with_columns(corpus=pl.lit("code"), document_id="doc_id")
    rows = [{"query_id": "one", "repos": ["old"]}, {"query_id": "all"}]
    queries = pl.DataFrame([*rows, {"query_id": "gone", "repos": ["x"]}], schema=JUDGED_QUERIES)
    qrels = queries.select("query_id", doc_id=pl.lit("a.py"), grade=pl.lit(1, pl.Int64))
    found = unit_qrels(qrels, placed, queries, "file").sort("query_id", "doc_id")
    assert found.select("query_id", "doc_id").rows() == [
        ("all", "new:a.py"),
        ("all", "old:a.py"),
        ("gone", "a.py"),
        ("one", "old:a.py"),
    ]


def test_every_passage_has_a_place_and_a_judgement_counts_at_the_first():
    judged = pl.DataFrame({"query_id": [0, 0], "doc_id": ["api.md#get:5-7", "web:api.md"]}).cast(
        {"query_id": pl.UInt32}
    )
    same = OF_FILES[0].with_columns(chunk_id=pl.lit(6, pl.Int64))
    chunks = pl.concat([OF_FILES, same])
    hits = ranked((0, 2, []), (0, 6, []), (0, 1, []), (0, 5, []), (0, 3, []))
    found = ranked_documents(
        hits,
        unit_chunks(chunks, "passage"),
        names=judged_names(judged, chunks),
        every_chunk=True,
    )
    assert listed(found) == [
        (0, ["api.md#put:10-30#2", "api.md#get:5-7", "api.md#get:1-9#1", "Locks#5", "web:api.md"])
    ]
