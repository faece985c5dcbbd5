from __future__ import annotations

import pytest

from operators.postgres.errors import DatabaseError
from operators.postgres.server_cursor import ROWS_AT_ONCE, over_rows
from operators.postgres.store import Store

NUMBERS = "SELECT n FROM generate_series(1, %s) AS n ORDER BY n"


def test_every_row_comes_once_and_in_order_beyond_one_piece(store: Store) -> None:
    count = 2 * ROWS_AT_ONCE + 1
    found = over_rows(store, NUMBERS, (count,), lambda rows: [row[0] for row in rows])
    assert found == list(range(1, count + 1))


def test_who_stops_early_leaves_the_connection_usable(store: Store) -> None:
    assert over_rows(store, NUMBERS, (10 * ROWS_AT_ONCE,), lambda rows: next(rows)[0]) == 1
    assert over_rows(store, NUMBERS, (3,), lambda rows: len(list(rows))) == 3


def test_a_mistake_of_the_statement_is_one_line(store: Store) -> None:
    with pytest.raises(DatabaseError) as error:
        over_rows(store, "SELECT 1 / n FROM generate_series(0, 0) AS n", (), list)
    assert "\n" not in str(error.value)
