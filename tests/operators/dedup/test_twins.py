from __future__ import annotations

import json
from collections.abc import Callable
from time import process_time

import polars as pl
import pytest

from operators.dedup import across
from operators.dedup.twins import twin_representatives

Make = Callable[..., pl.DataFrame]

CLOSE = """
    {a}def {name}(self, timeout: float = 2.5) -> None:
        {a}with self._lock:
            for connection in list(self._connections):
                {w}connection.{name}(timeout)
            self._connections.clear()
"""
SYNC = CLOSE.format(a="", w="", name="close")
ASYNC = CLOSE.format(a="async ", w="await ", name="aclose")


def hits(make: Make, *rows: dict[str, object]) -> pl.DataFrame:
    """Passages, best first, each with what it defines: ``defines``, names with commas between."""
    plain = {"path": "a.py", "defines": "Pool.close", "text": SYNC}
    made = []
    for rank, row in enumerate({**plain, **one} for one in rows):
        names = str(row.pop("defines"))
        metadata = json.dumps({"commit": "1f", "defines": names.split(",")} if names else {})
        made.append({"chunk_id": rank, "rank": rank, "metadata": metadata, **row})
    return make(*made)


def joined(make: Make, *rows: dict[str, object], threshold: float = 0.9) -> list[int]:
    return twin_representatives(hits(make, *rows), threshold).tolist()


@pytest.mark.parametrize(
    ("sync", "other"),
    [
        (
            {"path": "pool/_sync/pool.py", "defines": "Pool.close"},
            {"path": "pool/_async/pool.py", "defines": "AsyncPool.aclose"},
        ),
        ({"path": "p/pool.py"}, {"path": "p/aio/pool.py", "defines": "Pool.aclose"}),
        ({"defines": "Pool.close"}, {"defines": "AsyncPool.aclose"}),
        ({"defines": "Pool.close"}, {"defines": "Pool.aclose"}),
        ({"defines": "Redis.close"}, {"defines": "RedisAsync.aclose"}),
    ],
    ids=[
        "two folders",
        "a folder aio",
        "two classes of a file",
        "two methods of a class",
        "a class ...isAsync",
    ],
)
def test_a_function_and_its_async_form_are_twins(
    sync: dict[str, object], other: dict[str, object], make_hits: Make
) -> None:
    other = {"text": ASYNC, **other}
    assert joined(make_hits, sync, other) == [0, 0]
    assert joined(make_hits, other, sync) == [0, 0]


CSHARP = """
    /// <summary>Reads one row as {0}.</summary>
    public static {1} ReadRow{2}<T>(this IDbConnection connection, string sql{3}) =>
        {4}ReadRowImpl{2}<T>(connection, sql, typeof(T), Row.First, command: null, buffered: true);
"""


def test_in_other_languages_the_async_method_is_the_twin_of_the_other(make_hits: Make) -> None:
    rows = [
        {"text": CSHARP.format("T", "T", "", "", ""), "defines": "Sql.ReadRow"},
        {"text": CSHARP.format("T", "Task<T>", "Async", "", ""), "defines": "Sql.ReadRowAsync"},
    ]
    rows = [{**row, "path": "Sql.cs"} for row in rows]
    assert joined(make_hits, *rows) == [0, 0]


@pytest.mark.parametrize("paths", [("Sql.cs", "Sql.cs"), ("Sql.cs", "Sql.Async.cs")])
def test_overloads_are_no_twins(paths: tuple[str, str], make_hits: Make) -> None:
    more = ", object parameters"
    sync, other = [
        {
            "path": path,
            "text": CSHARP.format("T", "Task<T>", "Async", parameters, ""),
            "defines": "Sql.ReadRowAsync",
        }
        for path, parameters in zip(paths, ("", more), strict=True)
    ]
    assert joined(make_hits, sync, other, threshold=0.5) == [0, 1]
    awaiting = {**other, "text": CSHARP.format("T", "async Task<T>", "Async", more, "await ")}
    assert joined(make_hits, sync, awaiting, threshold=0.5) == [0, 1]


@pytest.mark.parametrize("part", ["close < ", "close ( ", "close < > ", "close(a) "])
def test_a_long_passage_costs_time_in_proportion(part: str, make_hits: Make) -> None:
    body = part * (100_000 // len(part))
    rows = [{"text": SYNC + body}, {"path": "aio/pool.py", "text": ASYNC + body}]
    began = process_time()
    assert joined(make_hits, *rows) == [0, 0]
    assert process_time() - began < 1.5


@pytest.mark.parametrize(
    "change",
    [
        {"text": ASYNC.replace("aclose", "drain"), "defines": "AsyncPool.drain"},
        {"text": ASYNC.replace("2.5", "7.5")},
        {"text": ASYNC.replace("list(self._connections)", "self._idle(self.size, self.age, 0)")},
        {"text": SYNC, "defines": "Pool.close"},
        {"repo": "another"},
        {"query_id": 1, "rank": 0},
        {"defines": "AsyncPool.aclose,AsyncPool.open"},
    ],
    ids=[
        "another function",
        "another number",
        "another body",
        "nothing async",
        "another repository",
        "another question",
        "one definition more",
    ],
)
def test_what_differs_by_more_than_its_form_is_no_twin(
    change: dict[str, object], make_hits: Make
) -> None:
    sync = {"path": "sync/pool.py"}
    other = {"path": "other/pool.py", "text": ASYNC, "defines": "AsyncPool.aclose"}
    assert joined(make_hits, sync, other) == [0, 0]
    assert joined(make_hits, sync, {**other, **change}) == [0, 1]


@pytest.mark.parametrize(
    ("name", "other"), [("is_step", "is_async_step"), ("IsStep", "IsAsyncStep")]
)
def test_a_question_for_async_code_is_no_twin_of_another_question(
    name: str, other: str, make_hits: Make
) -> None:
    text = "def {0}(call):\n    return any(probe(call) for probe in probes('{0}', 3))\n"
    rows = [{"text": text.format(n), "defines": f"Steps.{n}"} for n in (name, other)]
    assert joined(make_hits, *rows, threshold=0.5) == [0, 1]


def test_a_test_is_no_twin_of_the_code_that_it_tests(make_hits: Make) -> None:
    test = ASYNC.replace("def aclose", "def test_close")
    rows = [{"path": "pool.py"}, {"path": "test_pool.py", "text": test, "defines": "test_close"}]
    assert joined(make_hits, *rows, threshold=0.5) == [0, 1]


def test_a_twin_becomes_an_alternate_of_the_better_one_unless_twins_count_apart(
    make_hits: Make,
) -> None:
    rows = hits(make_hits, {}, {"path": "aio/pool.py", "text": ASYNC})
    other = {"path": "c.py", "text": "x = 1", "defines": "x", "rank": 2, "chunk_id": 2}
    rows = pl.concat([rows, hits(make_hits, other)])
    kept = across.guarded(rows)
    assert kept.select("chunk_id", "rank").rows() == [(0, 0), (2, 1)]
    assert [one["chunk_id"] for one in kept["alternate_sources"][0]] == [1]
    assert across.guarded(rows, twins=False)["chunk_id"].to_list() == [0, 1, 2]
