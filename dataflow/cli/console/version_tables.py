"""What `crosscorpus versions list` and `crosscorpus versions diff` print."""

from textwrap import indent
from typing import Any

import polars as pl
from rich.table import Column, Table
from rich.text import Text

from dataflow.cli.console.terminal import OUT, print_table
from operators.postgres.inspect.version_history import VersionDiff

_KINDS = ("added", "removed", "revised")


def show_topics(topics: pl.DataFrame) -> None:
    """Print one line for each topic."""
    if topics.is_empty():
        OUT.print("no document has a second version here")
        return
    versions = Column("versions", justify="right")
    table = Table("topic", "corpus", versions, "from", "to", box=None, pad_edge=False)
    for row in topics.iter_rows(named=True):
        cells = (row["lineage_id"], row["corpus"], str(row["versions"]))
        table.add_row(
            *(Text(_plain(c)) for c in (*cells, row["oldest"] or "", row["newest"] or ""))
        )
    print_table(table)


def show_versions(versions: pl.DataFrame) -> None:
    """Print one line for each version, the oldest first."""
    OUT.print(Text(_plain(f"{versions['lineage_id'][0]}  [{versions['corpus'][0]}]"), "bold"))
    passages = Column("passages", justify="right")
    table = Table("version", "date", passages, "path", box=None, pad_edge=False)
    for row in versions.iter_rows(named=True):
        date = row["released_at"]
        when = f"{date:%Y-%m-%d} ({row['date_source']})" if date else "unknown"
        version = row["version"] or "none"
        where = row["path"] or row["title"] or row["document_id"]
        cells = (f"{version} newest" if row["newest"] else version, when, str(row["passages"]))
        style = "bold" if row["newest"] else ""
        table.add_row(*(Text(_plain(c), style) for c in (*cells, where)))
    print_table(table)


def show_diff(diff: VersionDiff) -> None:
    """Print every changed paragraph under its heading: its old text, then its new one."""
    older, newer = (side["version"] or "none" for side in (diff.before, diff.after))
    title = f"{diff.topic}: {older} -> {newer}"
    OUT.print(Text(_plain(title), "bold"))
    heading: str | None = None
    for change in diff.changes:
        if change.heading != heading and change.heading:
            OUT.print(Text(f"\n{_plain(change.heading)}", "bold cyan"))
        heading = change.heading
        OUT.print(Text(f"\n{change.kind}", "dim"))
        for mark, text, style in (("-", change.old, "red"), ("+", change.new, "green")):
            if text is not None:
                OUT.print(Text(indent(_plain(text), f"{mark} "), style))
    counts = {kind: sum(c.kind == kind for c in diff.changes) for kind in _KINDS}
    summary = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    OUT.print(f"\n{summary}" if diff.changes else "nothing changed")


def diff_as_json(diff: VersionDiff) -> dict[str, Any]:
    """``diff`` as plain data."""
    wanted = ("document_id", "path", "title", "version", "released_at")
    return {
        "topic": diff.topic,
        "from": {name: diff.before[name] for name in wanted},
        "to": {name: diff.after[name] for name in wanted},
        "changes": [change._asdict() for change in diff.changes],
    }


def _plain(text: str) -> str:
    """``text`` without the characters that could steer a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)
