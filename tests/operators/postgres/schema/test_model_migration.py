from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from operators.errors import CrosscorpusError
from operators.postgres.schema.model_migration import (
    ModelMigrationIncomplete,
    abandon_model_migration,
    begin_model_migration,
    cut_over,
    pending_model_migration,
)
from operators.postgres.store import Store, collection_info
from operators.postgres.write.chunk_vectors import fill, unfilled


def begin(store: Store, filling: Any) -> None:
    filling.write(store, [{"chunk_id": n, "document_id": f"d{n}"} for n in range(3)])
    begin_model_migration(store, "next", "next-space", 4)


def test_vectors_of_the_new_model_take_the_place_of_the_old_at_once(
    store: Store, filling: Any
) -> None:
    begin(store, filling)
    missing = unfilled(store, 10)
    assert fill(store, "next-space", missing, np.ones((missing.height, 4), np.float32)) == 3
    cut_over(store)
    store.forget_info()
    info = collection_info(store)
    assert (info.model, info.space, info.dimensions) == ("next", "next-space", 4)
    assert pending_model_migration(store) is None


def test_nothing_changes_while_a_chunk_lacks_its_vector(store: Store, filling: Any) -> None:
    begin(store, filling)
    with pytest.raises(ModelMigrationIncomplete):
        cut_over(store)
    store.forget_info()
    assert collection_info(store).model == "test"


def test_vectors_of_another_model_are_refused(store: Store, filling: Any) -> None:
    begin(store, filling)
    with pytest.raises(CrosscorpusError):
        fill(store, "other-space", unfilled(store, 10), np.ones((3, 4), np.float32))


def test_an_abandoned_migration_leaves_nothing(store: Store, filling: Any) -> None:
    begin(store, filling)
    assert abandon_model_migration(store)
    assert pending_model_migration(store) is None
    assert not abandon_model_migration(store)
