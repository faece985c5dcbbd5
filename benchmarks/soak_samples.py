"""What `benchmarks.soak` measures every few seconds, its picture, and what grew without bound."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import psycopg
from psycopg import sql

MIB = 2**20
BOUNDED = {
    "server_mib": 60.0,
    "watch_mib": 60.0,
    "postgres_mib": 60.0,
    "server_files": 20.0,
    "watch_files": 20.0,
    "connections": 10.0,
    "collection_mib": 20.0,
    "database_mib": 60.0,
    "dead_rows": 5_000.0,
}
"""Columns that must not grow, and the growth within a run that is none: caches fill."""
PROCESS = {"server_mib": "server", "server_files": "server"}
PROCESS |= {"watch_mib": "watch", "watch_files": "watch", "postgres_mib": "postgres"}
"""Of a column, the column with the process that it is of: a restart is no growth."""
SHARE = 0.2
"""Of its median a column may grow within a run, too."""
YOUNG_S = 60.0
"""The first seconds of a process's life don't count, and a third of the run."""

_TABLES = """
    SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0), coalesce(sum(n_dead_tup), 0),
        coalesce(sum(n_live_tup), 0)
    FROM pg_class c LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
    WHERE c.relnamespace = to_regnamespace(%s) AND c.relkind = 'r'
"""
_SERVER = """
    SELECT pg_database_size(current_database()), (SELECT sum(size) FROM pg_ls_waldir()),
        (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'
         AND pid <> pg_backend_pid()),
        (SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock')
"""


def of_process(name: str, pid: int | None) -> dict[str, Any]:
    """Memory and open files of a process."""
    if pid is None:
        return {}
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        memory = process.memory_info().rss / MIB
        return {name: pid, f"{name}_mib": memory, f"{name}_files": process.num_fds()}
    return {}


def of_postgres(process: psutil.Process | None) -> dict[str, Any]:
    """Memory of the server and its children, without what they share: it is of a fixed size."""
    if process is None:
        return {}
    total, count = 0, 0
    with contextlib.suppress(psutil.Error):
        for one in (process, *process.children()):
            with contextlib.suppress(psutil.Error):
                total, count = total + one.memory_full_info().uss, count + 1
        return {"postgres": process.pid, "postgres_mib": total / MIB, "backends": count}
    return {}


def of_database(dsn: str, schema: str) -> dict[str, Any]:
    """Connections, sizes and dead rows; nothing while the server is away."""
    with (
        contextlib.suppress(psycopg.Error),
        psycopg.connect(dsn, connect_timeout=3, autocommit=True) as conn,
    ):
        conn.execute("SET statement_timeout = '5s'")
        conn.execute("SET lock_timeout = '2s'")
        server = conn.execute(_SERVER).fetchone()
        tables = conn.execute(_TABLES, (sql.Identifier(schema).as_string(conn),)).fetchone()
        if server and tables:
            return {
                "database_mib": int(server[0]) / MIB,
                "log_mib": int(server[1] or 0) / MIB,
                "connections": int(server[2]),
                "waiting_for_locks": int(server[3]),
                "collection_mib": int(tables[0]) / MIB,
                "dead_rows": int(tables[1]),
                "live_rows": int(tables[2]),
            }
    return {}


def growth(samples: Sequence[dict[str, Any]], column: str) -> tuple[float, float, float] | None:
    """What a column grew by in a run: by a line through it, its standard error, and its median.

    Of a process, each life has a level of its own, and this is the growth in the longest one. None:
    there is too little to say.
    """
    last = samples[-1]["second"] if samples else 0.0
    lives: dict[Any, list[tuple[float, float]]] = {}
    born: dict[Any, float] = {}
    for one in samples:
        if one.get(column) is None:
            continue
        life = one.get(PROCESS[column]) if column in PROCESS else None
        age = one["second"] - born.setdefault(life, one["second"])
        if one["second"] >= last / 3 and (column not in PROCESS or age >= YOUNG_S):
            lives.setdefault(life, []).append((one["second"], float(one[column])))
    long = [np.array(points) for points in lives.values() if len(points) >= 5]
    if not long:
        return None
    x = np.concatenate([points[:, 0] - points[:, 0].mean() for points in long])
    y = np.concatenate([points[:, 1] - points[:, 1].mean() for points in long])
    slope = float(x @ y / (x @ x))
    free = max(len(x) - len(long) - 1, 1)
    error = float(np.sqrt(((y - slope * x) ** 2).sum() / free / (x @ x)))
    median = float(np.median(np.concatenate([points[:, 1] for points in long])))
    span = max(float(np.ptp(points[:, 0])) for points in long)
    return slope * span, error * span, median


def unbounded(samples: Sequence[dict[str, Any]], column: str) -> bool:
    """Whether a column grew by more than it may, beyond three standard errors."""
    result = growth(samples, column)
    if result is None:
        return False
    grew, error, median = result
    return grew > max(BOUNDED[column], SHARE * median) and grew > 3 * error


def write_csv(samples: Sequence[dict[str, Any]], file: Path) -> None:
    """All samples, a line each."""
    columns = list(dict.fromkeys(name for one in samples for name in one))
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, columns)
        writer.writeheader()
        writer.writerows(samples)


def draw(
    samples: Sequence[dict[str, Any]], events: Sequence[tuple[float, float, str]], folder: Path
) -> None:
    """Write the picture ``soak.svg`` and ``soak.png``: all columns over time, events as lines."""
    import altair as alt
    import vl_convert

    panels = [
        ("memory, MiB", ["server_mib", "watch_mib", "postgres_mib"]),
        ("open files, connections", ["server_files", "watch_files", "connections"]),
        ("disk, MiB", ["collection_mib", "database_mib"]),
        ("rows", ["dead_rows", "live_rows"]),
        ("answers, ms", ["p50_ms", "p95_ms"]),
        ("answers and errors a second", ["answers", "errors"]),
    ]
    marks = [{"minute": at / 60, "event": what} for at, _, what in events]
    happened = (
        alt.Chart(alt.InlineData(values=marks))
        .mark_rule(strokeDash=[2, 3], opacity=0.6)
        .encode(x="minute:Q", color="event:N")
    )
    charts = []
    for title, columns in panels:
        values = [
            {"minute": one["second"] / 60, "value": one[name], "what": name}
            for one in samples
            for name in columns
            if one.get(name) is not None
        ]
        lines = (
            alt.Chart(alt.InlineData(values=values))
            .mark_line(clip=True)
            .encode(
                x=alt.X("minute:Q", title="minutes"),
                y=alt.Y("value:Q", title=title),
                color=alt.Color("what:N", title=None),
            )
        )
        layers = (happened, lines) if marks else (lines,)
        layered = alt.layer(*layers).resolve_scale(color="independent")
        charts.append(layered.properties(width=900, height=140))
    spec = alt.vconcat(*charts).to_dict()
    (folder / "soak.svg").write_text(vl_convert.vegalite_to_svg(spec))
    (folder / "soak.png").write_bytes(vl_convert.vegalite_to_png(spec, scale=1))
