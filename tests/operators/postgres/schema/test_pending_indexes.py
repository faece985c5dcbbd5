from __future__ import annotations

from typing import Any

from operators.postgres.schema.indexes import build_indexes
from operators.postgres.schema.pending_indexes import pending_corpora
from operators.postgres.store import Store


def test_a_corpus_is_unfinished_until_its_load_is_finished(store: Store, filling: Any) -> None:
    assert pending_corpora(store) == []
    filling.write(store, [{"corpus": "wiki"}, {"corpus": "code"}])
    assert pending_corpora(store) == ["code", "wiki"]
    build_indexes(store, ["code"])
    assert pending_corpora(store) == ["wiki"]
    build_indexes(store)
    assert pending_corpora(store) == []


def test_weights_of_an_old_average_length_are_unfinished(store: Store, filling: Any) -> None:
    filling.write(store, [{"text": "two words"}])
    build_indexes(store)
    filling.write(store, [{"text": "many more words than two " * 9} for _ in range(9)])
    assert pending_corpora(store) == ["code"]
    build_indexes(store)
    assert pending_corpora(store) == []


def test_a_corpus_that_outgrew_the_exact_scan_lacks_its_vector_index(
    store: Store, filling: Any
) -> None:
    filling.write(store, [{} for _ in range(5)])
    build_indexes(store)
    assert pending_corpora(store, exact_scan_max_rows=4) == ["code"]
    build_indexes(store, exact_scan_max_rows=4)
    assert pending_corpora(store, exact_scan_max_rows=4) == []
