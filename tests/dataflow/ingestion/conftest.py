from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, zip_longest
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from operators.postgres.store import Store

# A GitHub to serve, items in the shapes of its API, and PDFs are made there.
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2] / "operators" / "sources"))
import github_server
from word_embedder import WordEmbedder

ROOT = Path(__file__).parents[3]
DYING = Path(__file__).parent / "dying.py"
TABLES = ("documents", "chunks", "postings", "terms", "corpora", "repos", "embedding_cache")


@pytest.fixture(scope="module")
def dying() -> Iterator[Callable[..., dict[str, Any]]]:
    """Run something in a process of its own up to a point; tells whether it was killed there."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(DYING)]
    server = subprocess.Popen(
        command, cwd=ROOT, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdin is not None
    assert server.stdout is not None
    requests, answers = server.stdin, server.stdout

    def ask(**order: Any) -> dict[str, Any]:
        requests.write(json.dumps(order) + "\n")
        requests.flush()
        told: dict[str, Any] = json.loads(answers.readline())
        return told

    yield ask
    requests.close()
    server.wait(30)


@pytest.fixture
def copies(server_dsn: str) -> Iterator[Callable[[str | None], str]]:
    """Databases: an empty one, or the copy of another; each is dropped when the next is made."""
    made: list[str] = []

    def drop(name: str) -> None:
        with psycopg.connect(server_dsn, autocommit=True) as conn:
            statement = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
            conn.execute(statement.format(sql.Identifier(name)))

    def make(template: str | None, name: str = "kill_copy") -> str:
        drop(name)
        with psycopg.connect(server_dsn, autocommit=True) as conn:
            conn.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(
                    sql.Identifier(name), sql.Identifier(template or "template0")
                )
            )
        made.append(name)
        return make_conninfo(server_dsn, dbname=name)

    yield make
    for name in dict.fromkeys(made):
        drop(name)


@pytest.fixture
def deaths(
    copies: Callable[..., str], dying: Callable[..., dict[str, Any]]
) -> Callable[..., Iterator[tuple[int, str]]]:
    """Each point and a copy of ``kill_base`` that a run died in there; the next dies meanwhile."""
    databases = cycle(("kill_copy", "kill_other"))

    def killed(order: dict[str, Any], point: int) -> str:
        dsn = copies("kill_base", next(databases))
        assert dying(dsn=dsn, point=point, **order) == {"killed": True, "met": None}, point
        return dsn

    def walk(order: dict[str, Any], points: Sequence[int]) -> Iterator[tuple[int, str]]:
        with ThreadPoolExecutor(1) as thread:
            coming = thread.submit(killed, order, points[0])
            for point, following in zip_longest(points, points[1:]):
                dsn = coming.result()
                if following is not None:
                    coming = thread.submit(killed, order, following)
                yield point, dsn

    return walk


@pytest.fixture
def embedder() -> Any:
    """A quick embedder that remembers what it was asked."""
    return WordEmbedder()


@pytest.fixture(scope="session")
def new_embedder() -> Any:
    """The class of :func:`embedder`."""
    return WordEmbedder


@pytest.fixture
def write_lines(tmp_path: Path) -> Callable[..., Path]:
    """Write documents, raw lines among them, as a JSONL file."""

    def write(*lines: dict[str, Any] | str, name: str = "documents.jsonl") -> Path:
        file = tmp_path / name
        raw = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        file.write_text("".join(f"{line}\n" for line in raw))
        return file

    return write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of three pages."""
    root = tmp_path / "handbook"
    root.mkdir()
    for name in ("one", "two", "three"):
        (root / f"{name}.md").write_text(f"# {name}\n\ntext of {name}\n")
    return root


@pytest.fixture
def contents() -> Callable[[Store], dict[str, Any]]:
    """All that a collection holds, clocks apart, and the indexes it has."""

    def read(store: Store) -> dict[str, Any]:
        held: dict[str, Any] = {}
        with store.transaction() as conn:
            for table in TABLES:
                columns = [
                    row[0]
                    for row in conn.execute(
                        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass"
                        " AND attnum > 0 AND NOT attisdropped"
                        " AND attname <> 'indexed_at'"
                        " ORDER BY attname",
                        (table,),
                    )
                ]
                query = sql.SQL("SELECT {} FROM {}").format(
                    sql.SQL(", ").join(
                        sql.SQL("{}::text").format(sql.Identifier(c)) for c in columns
                    ),
                    sql.Identifier(table),
                )
                held[table] = sorted(conn.execute(query).fetchall(), key=repr)
            rows = conn.execute(
                "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema()"
            )
            # a second index on the same columns has a number, whatever became of the first
            held["indexes"] = sorted(re.sub(r"(?<=_idx)\d+$", "", row[0]) for row in rows)
        return held

    return read


@pytest.fixture
def row_versions() -> Callable[[Store], dict[str, Any]]:
    """Where every row is and which transaction wrote it: any write shows."""

    def read(store: Store) -> dict[str, Any]:
        with store.transaction() as conn:
            return {
                table: sorted(
                    conn.execute(
                        sql.SQL("SELECT tableoid::text, ctid::text, xmin::text FROM {}").format(
                            sql.Identifier(table)
                        )
                    ).fetchall()
                )
                for table in TABLES
            }

    return read


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A GitHub on this machine."""
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with github_server.serving(github_server.GitHub()) as state:
        monkeypatch.setenv("GITHUB_API_URL", state.url)
        yield state
