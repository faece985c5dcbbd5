"""What `crosscorpus lineage` and `crosscorpus changes` print."""

from __future__ import annotations

from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from operators.postgres.inspect.version_history import COUNTED, VersionDiff
from operators.versions.version_diff import Run, shortened, word_diff

_OUT = Console(soft_wrap=True, highlight=False)
_STYLES = {"=": "", "-": "red strike", "+": "green"}
_MARKS = {"=": ("", ""), "-": ("[-", "-]"), "+": ("{+", "+}")}


def show_topics(topics: pl.DataFrame) -> None:
    """One line a topic."""
    if topics.is_empty():
        _OUT.print("no document has a second version here")
        return
    table = Table("topic", "corpus", "versions", "from", "to", box=None, pad_edge=False)
    for row in topics.iter_rows(named=True):
        cells = (row["lineage_id"], row["corpus"], str(row["versions"]))
        table.add_row(
            *(Text(_plain(c)) for c in (*cells, row["oldest"] or "", row["newest"] or ""))
        )
    _OUT.print(table)


def show_lineage(versions: pl.DataFrame) -> None:
    """One line a version, oldest first."""
    _OUT.print(Text(_plain(f"{versions['lineage_id'][0]}  [{versions['corpus'][0]}]"), "bold"))
    table = Table("version", "date", "passages", *COUNTED, "path", box=None, pad_edge=False)
    for row in versions.iter_rows(named=True):
        date = row["released_at"]
        told = f"{date:%Y-%m-%d} ({row['date_source']})" if date else "unknown"
        version = row["version"] or "none"
        counts = ("" if row[kind] is None else str(row[kind]) for kind in COUNTED)
        where = row["path"] or row["title"] or row["document_id"]
        cells = (f"{version} newest" if row["newest"] else version, told, str(row["passages"]))
        style = "bold" if row["newest"] else ""
        table.add_row(*(Text(_plain(c), style) for c in (*cells, *counts, where)))
    _OUT.print(table)


def show_changes(compared: VersionDiff) -> None:
    """Every changed paragraph under its heading."""
    one, two = compared.before, compared.after
    title = f"{compared.topic}: {one['version'] or 'none'} -> {two['version'] or 'none'}"
    _OUT.print(Text(_plain(title), "bold"))
    heading: str | None = None
    for change in compared.changes:
        if change.heading != heading and change.heading:
            _OUT.print(Text(f"\n{_plain(change.heading)}", "bold cyan"))
        heading = change.heading
        _OUT.print(Text(f"\n{change.kind}", "dim"))
        if change.old is not None and change.new is not None:
            runs = shortened(word_diff(change.old, change.new))
        else:
            runs = (
                [Run("-", change.old)] if change.old is not None else [Run("+", change.new or "")]
            )
        _OUT.print(Text.assemble(*(_marked(run) for run in runs)))
    counts = {kind: sum(c.kind == kind for c in compared.changes) for kind in _KINDS}
    told = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    _OUT.print(f"\n{told}" if compared.changes else "nothing changed")


def changes_as_json(compared: VersionDiff) -> dict[str, Any]:
    """The same as plain data; ``words`` has the runs of a revised paragraph, whole."""
    wanted = ("document_id", "path", "title", "version", "released_at")
    return {
        "topic": compared.topic,
        "from": {name: compared.before[name] for name in wanted},
        "to": {name: compared.after[name] for name in wanted},
        "changes": [
            {
                **change._asdict(),
                "words": [list(run) for run in word_diff(change.old, change.new)]
                if change.old is not None and change.new is not None
                else None,
            }
            for change in compared.changes
        ],
    }


_KINDS = ("added", "removed", "revised")


def _marked(run: Run) -> tuple[str, str]:
    before, after = _MARKS[run.sign]
    return f"{before}{_plain(run.text)}{after}", _STYLES[run.sign]


def _plain(text: str) -> str:
    """Without what could steer a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)
