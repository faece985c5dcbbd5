from __future__ import annotations

import numpy as np
from pgvector import SparseVector

from operators.postgres.row_writer import copy_rows, insert_rows, vector_bytes
from operators.postgres.store import Store


def test_a_row_without_a_vector_gets_none_and_the_next_vector_goes_to_the_next_row() -> None:
    one, two = vector_bytes([[1.0], [2.0]], [True, True])
    assert vector_bytes([[1.0], [2.0]], [False, True, False, True]) == [None, one, None, two]
    assert one != two


def test_vectors_arrive_as_the_server_s_own_text_form_gives_them(store: Store) -> None:
    vectors = np.array([[1.5, -2.0, 65504.0], [0.0, 0.25, 1.0]], np.float32)
    halves = vector_bytes(vectors, [True, True])
    sparse = SparseVector({0: 0.5, 6: 2.0}, 10).to_binary()

    def work(conn):
        conn.execute("CREATE TEMP TABLE made (n int, h halfvec(3), s sparsevec(10))")
        columns = {"n": "int4", "h": "bytea", "s": "bytea"}
        copy_rows(conn, "made", columns, [(1, halves[0], sparse), (2, halves[1], None)])
        return conn.execute("SELECT n, h::text, s::text FROM made ORDER BY n").fetchall()

    assert store.run(work) == [
        (1, "[1.5,-2,65504]", "{1:0.5,7:2}/10"),
        (2, "[0,0.25,1]", None),
    ]


def test_integers_and_none_are_inserted_as_they_are(store: Store) -> None:
    rows = [(1, 2**63 - 1, "a"), (-2, None, None), (None, -(2**63), '{"')]

    def work(conn):
        conn.execute("CREATE TEMP TABLE made (n int4, big int8, word text)")
        insert_rows(conn, "made", {"n": "int4", "big": "int8", "word": "text"}, rows)
        insert_rows(conn, "made", {"n": "int4", "big": "int8", "word": "text"}, [])
        return conn.execute("SELECT * FROM made ORDER BY n").fetchall()

    assert store.run(work) == sorted(rows, key=lambda row: (row[0] is None, row[0] or 0))
