"""What a corpus has to be searched by: vectors, and a text of its own as a question."""

from operators.postgres.store import Store

SAMPLE_CHARACTERS = 200


def has_vectors(store: Store, corpus: str) -> bool:
    """Whether a chunk of the corpus has a vector."""
    row = store.row(
        "SELECT EXISTS (SELECT 1 FROM chunks WHERE corpus = %s AND embedding IS NOT NULL)",
        (corpus,),
    )
    return row == (True,)


def sample_text(store: Store, corpus: str) -> str:
    """The beginning of one chunk's text, always the same; empty if no chunk has a word."""
    row = store.row(
        r"SELECT left(regexp_replace(text, '^\s+', ''), %s) FROM chunks"
        r" WHERE corpus = %s AND text ~ '\w' ORDER BY chunk_id LIMIT 1",
        (SAMPLE_CHARACTERS, corpus),
    )
    return str(row[0]) if row else ""
