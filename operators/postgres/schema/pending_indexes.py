"""The corpora that a load left unfinished: it may die between its last write and its end."""

from operators.postgres.schema.indexes import EXACT_SCAN_MAX_ROWS, terms_index, vector_index
from operators.postgres.store import Store
from operators.ranking import bm25


def pending_corpora(store: Store, *, exact_scan_max_rows: int = EXACT_SCAN_MAX_ROWS) -> list[str]:
    """The corpora that still need `build_indexes`.

    They lack an index, or their weights were made with another average length.
    """
    rows = store.rows(
        "SELECT corpus, chunks, total_length, average_length FROM corpora ORDER BY corpus"
    )
    named = store.rows("SELECT indexname FROM pg_indexes WHERE schemaname = current_schema()")
    indexes = {str(row[0]) for row in named}
    found = []
    for corpus, chunks, length, average in rows:
        needed = {terms_index(corpus)}
        if chunks > exact_scan_max_rows:
            needed.add(vector_index(corpus))
        if not needed <= indexes or average != bm25.snapped_average(int(length), int(chunks)):
            found.append(str(corpus))
    return found
