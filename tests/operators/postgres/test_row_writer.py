from __future__ import annotations

import numpy as np
from pgvector import HalfVector, SparseVector

from operators.postgres.row_writer import copy_rows
from operators.postgres.store import Store


def test_vectors_arrive_as_the_server_s_own_text_form_gives_them(store: Store) -> None:
    vectors = np.array([[1.5, -2.0, 65504.0], [0.0, 0.25, 1.0]], np.float32)
    halves = [HalfVector(vector).to_binary() for vector in vectors]
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
