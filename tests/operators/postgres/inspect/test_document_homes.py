import polars as pl

from operators.postgres.inspect.document_homes import (
    count_documents,
    document_homes,
    document_titles,
)


def test_documents_are_counted_by_corpus_and_found_by_their_ids(store, filling):
    rows = [
        {"chunk_id": 1, "document_id": "a", "corpus": "code", "repo": "x"},
        {"chunk_id": 2, "document_id": "a", "corpus": "code", "repo": "y"},
        {"chunk_id": 3, "document_id": "b page", "corpus": "code"},
        {"chunk_id": 4, "document_id": "a", "corpus": "wiki"},
    ]
    filling.write(store, rows)
    assert count_documents(store) == {"code": 2, "wiki": 1}
    homes = document_homes(store, pl.Series(["b page", "a", "a", "gone"]))
    assert homes.rows() == [("a", "code"), ("a", "wiki"), ("b page", "code")]
    assert document_homes(store, pl.Series([], dtype=pl.String)).is_empty()
    named = document_homes(store, pl.Series(["y:a", "z:a", "b page:3-9", "x:a:1-2"]))
    assert named.rows() == [("b page:3-9", "code"), ("x:a:1-2", "code"), ("y:a", "code")]


def test_a_title_is_known_where_it_says_more_than_the_id(store, filling):
    titles = {"4f1c": "Close it", "a.md": "a.md", "b": None}
    rows = [{"chunk_id": n, "document_id": d, "title": titles[d]} for n, d in enumerate(titles)]
    filling.write(store, rows)
    assert document_titles(store, pl.Series([*titles, "gone", None])) == {"4f1c": "Close it"}
