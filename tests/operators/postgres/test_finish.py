import pytest

from operators.postgres.connection import DatabaseError
from operators.postgres.finish import build_vector_index
from operators.postgres.partitions import ensure_partitions
from operators.postgres.store import Store


def test_an_index_that_the_server_refuses_is_an_error_of_one_line(store: Store) -> None:
    ensure_partitions(store, ["code"])
    with pytest.raises(DatabaseError, match="no_such_column") as refused:
        build_vector_index(store, "code", "an_index", "no_such_column", rows=1)
    assert "\n" not in str(refused.value)
