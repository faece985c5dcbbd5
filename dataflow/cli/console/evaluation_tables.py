"""What the experiment commands print."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from time import monotonic
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dataflow.cli.console.terminal import OUT, event_display, print_table
from dataflow.evaluation.learning import FitResult
from dataflow.evaluation.sweep import Sweep
from operators.errors import counted
from operators.evaluation.evaluation_frames import Evaluation, measures_of
from operators.evaluation.tables import (
    SIGNIFICANT,
    as_json,
    comparison_rows,
    is_significant,
    slice_meaning,
    slice_rows,
)

_OUT = Console(highlight=False)  # wraps, as tables need


@contextmanager
def batch_progress(names: Sequence[str], total: int) -> Iterator[Callable[[str, int], None]]:
    """Show how many of ``total`` queries each of ``names`` has done, and the time left.

    One bar of all on a terminal; else a line every ten seconds. The callback adds to one of them.
    """
    began, done, every = monotonic(), dict.fromkeys(names, 0), total * len(names)

    def draw(update: Callable[..., None], name: str) -> None:
        finished = sum(done.values())
        left = (monotonic() - began) * (every - finished) / max(finished, 1)
        details = f"{done[name]} of {total} queries"
        update(description=name, completed=finished, total=every, details=details, eta_s=left)

    with event_display(False, draw) as show:

        def on_batch(name: str, more: int) -> None:
            done[name] += more
            show(name)

        yield on_batch


def show_evaluation(evaluation: Evaluation, files: Sequence[Path]) -> None:
    """Print means with intervals, differences from the first configuration, slices and files."""
    measures = measures_of(evaluation.summary)
    title = f"{counted(evaluation.queries.height, 'query', 'queries')}, mean [95 % interval]"
    rows = [
        [name, *(_short(cell).replace(" [", "\n[") for cell in cells)]
        for name, *cells in slice_rows(evaluation, "all")
    ]
    print_table(_table(title, ["", *measures], rows), _OUT)
    if evaluation.comparison.height:
        header = ["", "measure", "change", "95 %", "p", "corrected", "better/same/worse"]
        title = f"against {evaluation.configs[0]} (* corrected p < {SIGNIFICANT})"
        table = _table(title, header, [])
        pairs = zip(
            evaluation.comparison.iter_rows(named=True), comparison_rows(evaluation), strict=True
        )
        for row, cells in pairs:
            colour = ("green" if row["difference"] > 0 else "red") if is_significant(row) else "dim"
            short = (cells[0], cells[1], *map(_short, cells[2:]))
            table.add_row(*(Text(cell, style=colour) for cell in short))
        print_table(table, _OUT)
        _OUT.print()
    names = [n for n in evaluation.summary["slice"].unique(maintain_order=True) if n != "all"]
    if names:
        print_table(_slices(evaluation, names, measures[0]), _OUT)
        for meaning, of in groupby(names, slice_meaning):
            if meaning:
                line = f"{', '.join(of)}: {meaning}"
                _OUT.print(Text(line, style="dim"), soft_wrap=True)
        _OUT.print()
    for note in evaluation.notes:
        OUT.print(Text(f"note: {note}", style="yellow"))
    for path in files:
        _OUT.print(Text(str(path), style="blue"), soft_wrap=True)


def fit_as_json(fit: FitResult) -> dict[str, Any]:
    """What a fit learned and its worth on the other half, as plain data."""
    return {
        "experiment": fit.experiment,
        "training_queries": fit.training,
        "changed": dict(fit.learned.changed),
        "training_gain": fit.learned.gain,
        "training_error": fit.learned.error,
        "test": as_json(fit.evaluation),
        "loss": fit.loss,
    }


def show_sweep(sweep: Sweep, files: Sequence[Path]) -> None:
    """Print a table for each measure: every combination with mean, interval and difference."""
    for measure in measures_of(sweep.table):
        rows = []
        for row in sweep.table.filter(measure=measure).iter_rows(named=True):
            star = " *" if is_significant(row) else ""
            rows.append(
                [
                    *(str(row[name]) for name in sweep.settings),
                    _short(f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"),
                    _short(f"{row['difference']:+.3f}{star}"),
                    f"{row['p_corrected']:.4f}",
                ]
            )
        title = f"{measure}, {sweep.queries} queries; as configured {sweep.unchanged[measure]:.3f}"
        header = [*sweep.settings, "mean [95 %]", "change", "corrected p"]
        print_table(_table(title, header, rows), _OUT)
    if (sweep.table["difference"] == 0).all():
        OUT.print(Text("note: no combination changed a measure", style="yellow"))
    for path in files:
        _OUT.print(Text(str(path), style="blue"), soft_wrap=True)


def _short(cell: str) -> str:
    """``cell`` in fewer characters, so that four measures fit a terminal of 80."""
    return cell.replace("0.", ".").replace(", ", " ").replace(" / ", "/")


def _slices(evaluation: Evaluation, names: Sequence[str], measure: str) -> Table:
    rows = []
    for name in names:
        part = evaluation.summary.filter(slice=name, measure=measure)
        means = dict(part.select("config", "mean").iter_rows())
        cells = [f"{means[c]:.3f}" if c in means else "" for c in evaluation.configs]
        rows.append([name, str(part["queries"][0]), *cells])
    return _table(f"{measure} by slice", ["", "queries", *evaluation.configs], rows)


def _table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(
        title=Text(title),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for number, name in enumerate(header):
        table.add_column(Text(name), justify="left" if number == 0 else "right")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
