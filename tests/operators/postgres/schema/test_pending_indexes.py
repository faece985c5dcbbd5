from __future__ import annotations

from typing import Any

from operators.postgres.schema.indexes import finish_load
from operators.postgres.schema.pending_indexes import unfinished_corpora
from operators.postgres.store import Store


def test_a_corpus_is_unfinished_until_its_load_is_finished(store: Store, filling: Any) -> None:
    assert unfinished_corpora(store) == []
    filling.write(store, [{"corpus": "wiki"}, {"corpus": "code"}])
    assert unfinished_corpora(store) == ["code", "wiki"]
    finish_load(store, ["code"])
    assert unfinished_corpora(store) == ["wiki"]
    finish_load(store)
    assert unfinished_corpora(store) == []


def test_weights_of_an_old_average_length_are_unfinished(store: Store, filling: Any) -> None:
    filling.write(store, [{"text": "two words"}])
    finish_load(store)
    filling.write(store, [{"text": "many more words than two " * 9} for _ in range(9)])
    assert unfinished_corpora(store) == ["code"]
    finish_load(store)
    assert unfinished_corpora(store) == []


def test_a_corpus_that_outgrew_the_exact_scan_lacks_its_vector_index(
    store: Store, filling: Any
) -> None:
    filling.write(store, [{} for _ in range(5)])
    finish_load(store)
    assert unfinished_corpora(store, exact_scan_max_rows=4) == ["code"]
    finish_load(store, exact_scan_max_rows=4)
    assert unfinished_corpora(store, exact_scan_max_rows=4) == []
