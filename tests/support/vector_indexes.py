"""Vector indexes of corpora that are too small to have one."""

from __future__ import annotations

import pytest

from operators.postgres.schema import indexes
from operators.postgres.store import Store


def build_vector_indexes(store: Store, *, above: int = 0) -> None:
    """As ``make_searchable``, with a vector index for each corpus of more than ``above`` chunks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexes, "EXACT_SCAN_MAX_ROWS", above)
        indexes.make_searchable(store)
