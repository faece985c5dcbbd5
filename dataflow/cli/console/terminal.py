"""What the command prints: for a person on a terminal, as JSON for a program."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from functools import partial
from textwrap import indent
from time import monotonic
from typing import TYPE_CHECKING, Any, TextIO

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dataflow.cli.console.word_wrap import wrap_words
from operators.context.citations import MOST_ALTERNATES
from operators.context.prompt import SYSTEM_PROMPT
from operators.context.snippets import brief_snippet, snippet
from operators.errors import counted
from operators.explain.dispositions import DISPOSITION_MEANINGS
from operators.foundation.escape import UNSEEN_IN_A_LINE
from operators.ranking.evidence_level import level_of_one
from operators.ranking.one_a_file import named_beside
from operators.ranking.weak_evidence import is_weak
from operators.sources.protocol import printable

if TYPE_CHECKING:  # a command that runs no graph need not load Hamilton, which takes a second
    from dataflow.ingestion.run import IngestReport
    from dataflow.ingestion.run import Progress as Event
    from dataflow.ingestion.vectors import Embedded
    from operators.postgres.store import Store
    from operators.sources.github.github_mirror import Fetched
    from operators.sources.protocol import ReadIssue

# A terminal gets lines that are broken between words; a pipe or a file gets whole lines.
OUT = Console(soft_wrap=not sys.stdout.isatty(), highlight=False)
ERR = Console(stderr=True, soft_wrap=not sys.stderr.isatty(), highlight=False)
_LINE_SECONDS = 10.0
_WIDEST = 10_000  # columns of a table in a pipe or a file
_CITATIONS = 8  # links that are shown
_ISSUES_SHOWN, _SLOWEST = 10, 6
_ENDINGS = 12  # that are counted one by one
_NAMED = 3  # files that were left out for one reason


@contextmanager
def open_to_read(collection: str) -> Iterator[Store]:
    """The open collection on the server of questions; standard error tells if that is late."""
    from operators.postgres.connection import resolve_dsn
    from operators.postgres.replication import lateness
    from operators.postgres.store import open_store

    with open_store(resolve_dsn(reading=True), collection) as store:
        if lag := lateness(store):
            ERR.print(Text(f"note: {lag}", style="yellow"))
        yield store


def print_json(value: Any, out: TextIO | None = None) -> None:
    """Print ``value`` as one JSON document, times as ISO 8601."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=_json_value)
    (out or sys.stdout).write(text + "\n")


def print_result(as_json: bool, data: Any, show: Callable[..., None], *shown: Any) -> None:
    """Print ``data`` as JSON where that is asked for, else ``show`` what is ``shown``."""
    if as_json:
        print_json(data)
    else:
        show(*shown)


def print_first(lines: Sequence[str | Text], most: int, indent: str = "") -> None:
    """Print the first ``most`` of ``lines``, and how many more there are."""
    for line in lines[:most]:
        OUT.print(Text.assemble(indent, line))
    if len(lines) > most:
        OUT.print(f"{indent}... and {len(lines) - most} more (--json lists all)")


def print_table(table: Table, out: Console = OUT) -> None:
    """Print ``table`` with every number whole.

    On a terminal the texts are folded, and not its numbers, which are to the right; elsewhere no
    line is: the table is as wide as its cells.
    """
    options = out.options.update(width=_WIDEST)
    if not out.is_terminal:
        table.width = out.measure(table, options=options).maximum
    for column in table.columns:
        if column.justify == "right":
            cells = [out.measure(cell, options=options) for cell in (column.header, *column.cells)]
            column.min_width = max(cell.minimum for cell in cells)
            column.no_wrap = column.min_width == max(cell.maximum for cell in cells)
        else:
            column.overflow = "fold"
    out.print(table, crop=False)


def _json_value(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def answer_as_json(
    answer: Mapping[str, Any], *, with_context: bool = False, with_timings: bool = False
) -> dict[str, Any]:
    """The outputs of one question as plain data, metadata decoded."""
    results = from_one(answer["results"]).to_dicts()
    for result in results:
        result["metadata"] = json.loads(result["metadata"] or "{}")
    shown = {
        "results": results,
        "evidence": level_of_one(answer["evidence_level"]),
        "notes": answer["notes"]["note"].to_list(),
        "provenance": answer["provenance"],
    }
    if not with_timings:
        shown["provenance"] = {n: v for n, v in answer["provenance"].items() if n != "timings"}
    if with_context:
        shown["context"] = answer["context_window"]["text"].to_list()
        shown["system_prompt"] = SYSTEM_PROMPT
        shown["citations"] = answer["citations"]["citation"].to_list()
    if "dispositions" in answer:
        shown["dispositions"] = from_one(answer["dispositions"]).to_dicts()
    return shown


def from_one(frame: pl.DataFrame) -> pl.DataFrame:
    """``frame`` with ranks that count from 1, as a person does; in a graph they count from 0."""
    return frame.with_columns(pl.col("^(.*_)?rank$") + 1)


def other_places(result: Mapping[str, Any]) -> list[str]:
    """Labels of the near-duplicates of ``result``: each once, and the number of those left out."""
    labels = dict.fromkeys(other["source_label"] for other in result["alternate_sources"] or ())
    others = [label for label in labels if label != result["source_label"]]
    more = len(others) - MOST_ALTERNATES
    return [*others[:MOST_ALTERNATES], *([f"{more} more places"] if more > 0 else [])]


def context_alone(answer: Mapping[str, Any]) -> str:
    """The context for a model, with its notes."""
    return "".join(answer["context_window"]["text"]) + "\n"


def show_answer(
    answer: Mapping[str, Any],
    asked: str,
    *,
    seconds: float,
    brief: bool = False,
    with_timings: bool = False,
    served: str = "",
    out: Console = OUT,
) -> None:
    """Print ranked results with labels, links and the lines that answer what was ``asked``.

    A note that the evidence is weak comes first, the others after the citations, then whether the
    evidence is strong or partial, and the time. ``brief``: without links and copies.
    """
    results, notes = answer["results"], answer["notes"]["note"].to_list()
    weak = [note for note in notes if is_weak([note])]
    for note in weak:
        out.print(Text(note, style="bold yellow"))
    for rank, result in enumerate(results.iter_rows(named=True), start=1):
        out.print(
            Text.assemble(
                (f"{rank:2d}  ", "bold cyan"),
                (result["source_label"], "bold"),
                (f"  {result['score']:.4f}", "dim"),
            )
        )
        if result["source_url"] and not brief:
            out.print(Text(f"    {result['source_url']}", style="blue"), soft_wrap=True)
        for other in () if brief else other_places(result):
            out.print(Text(f"    also in {other}", style="dim"))
        if more := result.get("more_of_file"):
            beside = named_beside(result["document_id"], more)
            said = ", ".join(f"{name} ({one['score']:.2f})" for name, one in beside.items())
            out.print(Text(f"    also {said}", style="dim"))
        label = result["source_label"] if brief else None
        excerpt = indent(_snippet(result["text"], asked, label), "    ")
        if not out.soft_wrap:
            excerpt = wrap_words(excerpt, out.width)
        out.print(Text(excerpt), soft_wrap=True)
    if results.is_empty():
        why = "; ".join(answer["unmet_filters"]["note"])
        out.print(Text(f"No match: {why}." if why else _no_match(answer["provenance"]["searched"])))
    links = [*map(Text, () if brief else answer["citations"]["citation"])]
    if len(links) > _CITATIONS:
        more = f"... and {len(links) - _CITATIONS} more (--json lists all)"
        links[_CITATIONS:] = [Text(more, style="dim")]
    _section(out, "citations of the context", links, soft_wrap=True)
    _section(out, "notes", [Text(note, style="yellow") for note in notes if note not in weak])
    if "dispositions" in answer:
        fits = answer["explain_targets"]["query_id", "chunk_id", "passages", "documents"]
        named = answer["dispositions"].join(fits, ["query_id", "chunk_id"], maintain_order="left")
        columns = named["source_label", "disposition", "reason", "passages", "documents"]
        fates = [
            Text.assemble(
                (label, "bold"),
                f"  {DISPOSITION_MEANINGS[disposition]}: {reason}",
                f" (that name fits {passages} passages of {counted(documents, 'document')})"
                if passages > 1
                else "",
            )
            for label, disposition, reason, passages, documents in columns.iter_rows()
        ]
        _section(out, "asked about", fates)
    timings = f"{served}; {_where_time_went(answer['provenance'])}" if with_timings else ""
    if not weak and (level := level_of_one(answer["evidence_level"])):
        out.print(Text(f"{level} evidence", style="dim"))
    out.print(Text(f"{seconds:.2f} s{timings}", style="dim"))


def _section(
    out: Console, title: str, lines: Iterable[Text], soft_wrap: bool | None = None
) -> None:
    """Print a rule and the lines under it; nothing if there is none. ``soft_wrap``: whole lines."""
    for number, line in enumerate(lines):
        if number == 0:
            out.rule(title)
        out.print(line, soft_wrap=soft_wrap)


def _no_match(searched: Mapping[str, Mapping[str, str]]) -> str:
    """What is true of an empty answer: it names only the corpora that a search has read."""
    read = {name: channels for name, channels in searched.items() if "chunks" not in channels}
    named = [name for name, channels in read.items() if {"ok", "empty"} & {*channels.values()}]
    line = "No match: no corpus was searched."
    if named:
        seen = f"nothing that this question may see in {', '.join(named)}"
        line = f"No match: {seen} matches it."
    statuses = {status for channels in searched.values() for status in channels.values()}
    return line if statuses <= {"ok", "empty"} else f"{line} The notes say what was left out."


def _snippet(text: str, query: str, label: str | None) -> str:
    """The snippet of a passage; a brief one under ``label``."""
    shown = snippet(text, query) if label is None else brief_snippet(text, query, label)
    lines = shown.text.split("\n")
    return "\n".join(UNSEEN_IN_A_LINE.sub(" ", line) for line in lines)


def _where_time_went(provenance: Mapping[str, Any]) -> str:
    timings: Mapping[str, float] = provenance["timings"]
    slowest = sorted(timings.items(), key=lambda item: (-item[1], item[0]))[:_SLOWEST]
    return "  ".join(f"{name} {milliseconds:.1f} ms" for name, milliseconds in slowest)


@contextmanager
def event_display(
    as_json: bool, draw: Callable[[Callable[..., None], Any], None]
) -> Iterator[Callable[[Any], None]]:
    """Show events on standard error: as JSON lines or in a live line.

    Without a terminal, a line every ten seconds.

    Args:
        as_json: print each event, which is a dataclass, as a line of JSON.
        draw: shows an event in the live line; it takes the line's ``update`` and the event.
    """
    if as_json:
        yield lambda event: _print_event(asdict(event))
        return
    if not ERR.is_terminal:
        yield partial(draw, line_now_and_then())
        return
    from rich import progress  # a question shows none

    text, bar = progress.TextColumn, progress.BarColumn()
    columns = (text("{task.description}"), bar, text("{task.fields[details]}"))
    with progress.Progress(progress.SpinnerColumn(), *columns, console=ERR, transient=True) as bars:
        task = bars.add_task("begin", total=1.0, details="")

        def update(*, details: str, eta_s: float | None = None, **done: Any) -> None:
            bars.update(task, details=details + _time_left(eta_s), **done)

        yield partial(draw, update)


def _time_left(eta_s: float | None) -> str:
    """How long it still takes, in the largest units that say something.

    >>> [_time_left(seconds) for seconds in (None, 41.2, 250, 7_500)]
    ['', ', about 41 s left', ', about 4 min left', ', about 2 h 5 min left']
    """
    if eta_s is None:
        return ""
    hours, minutes = divmod(round(eta_s / 60), 60)
    if eta_s < 100:
        return f", about {eta_s:.0f} s left"
    return f", about {f'{hours} h ' if hours else ''}{minutes} min left"


def line_now_and_then() -> Callable[..., None]:
    """What shows progress without a terminal: a line on standard error, if the last one is old."""
    due = monotonic() + _LINE_SECONDS

    def update(
        *,
        description: str,
        completed: float,
        details: str,
        total: float = 1.0,
        eta_s: float | None = None,
    ) -> None:
        nonlocal due
        if monotonic() >= due:
            share = completed / (total or 1)
            line = f"{description} {share:.0%}: {details}{_time_left(eta_s)}"
            print(line, file=sys.stderr, flush=True)
            due = monotonic() + _LINE_SECONDS

    return update


def draw_ingestion(update: Callable[..., None], event: Event) -> None:
    """Show how far an ingestion is, for `event_display`."""
    if event.stage.startswith("wait"):  # said at once, also without a terminal
        ERR.print(event.stage, markup=False)
    if event.stage == "words" and event.fault:  # before the vectors, which may take long
        more = f" (and {event.failed - 1:,} more)" if event.failed > 1 else ""
        ERR.print(f"failed: {event.fault}{more}", markup=False)
    if event.stage == "words" and event.documents and ERR.is_terminal:
        ERR.print(f"searchable by words after {event.seconds:.0f} s")
    unchanged = f"{event.unchanged} unchanged, " if event.unchanged else ""
    details = (
        f"{event.read} documents read, {unchanged}{event.embedded} chunks embedded, "
        f"{event.documents} documents stored"
    )
    far = {"completed": event.fraction, "eta_s": event.eta_s}
    update(description=event.stage, details=details, **far)


def fetch_progress(as_json: bool) -> tuple[Callable[[Fetched], None], Callable[[float, str], None]]:
    """Show how far fetching is: return the callbacks ``on_fetched`` and ``on_wait``.

    They print JSON lines, or overwrite one line of a terminal; without one they tell waits alone.
    """

    def on_fetched(event: Fetched) -> None:
        if as_json:
            _print_event({"stage": "fetch", **asdict(event)})
        elif ERR.is_terminal:
            until = f", up to {event.until:%Y-%m-%d}" if event.until else ""
            _overwrite(f"{event.listing}: {event.items}{until} ({event.requests} requests)")

    def on_wait(seconds: float, reason: str) -> None:
        if as_json:
            _print_event({"stage": "wait", "seconds": round(seconds), "reason": reason})
        else:
            _overwrite(f"{reason}: waiting {seconds:.0f} s\n")

    return on_fetched, on_wait


def _print_event(event: Mapping[str, Any]) -> None:
    print(json.dumps(event, default=str), file=sys.stderr, flush=True)


def _overwrite(line: str) -> None:
    clear = "\r\033[K" if ERR.is_terminal else ""
    print(f"{clear}{line}", end="", file=sys.stderr, flush=True)


def report_as_json(report: IngestReport) -> dict[str, Any]:
    """``report`` as plain data, its read issues as readable lines."""
    return {
        **asdict(report),
        **{name: [*map(str, getattr(report, name))] for name in ("failed", "skipped", "notes")},
        "left_out_by_ending": _endings(report.skipped),
        "ok": report.ok,
    }


def show_report(report: IngestReport, collection: str) -> None:
    """Print what a run did in one line, then what failed and what was left out."""
    OUT.print(
        f"[bold]{report.documents_new}[/] new, [bold]{report.documents_changed}[/] changed, "
        f"[bold]{report.documents_unchanged}[/] unchanged, "
        f"[bold]{report.documents_deleted}[/] deleted documents; "
        f"[bold]{counted(report.chunks, 'chunk')}[/] in {report.seconds:.1f} s "
        f"(searchable by words after {report.words_seconds:.1f} s, "
        f"{report.embedded} embedded in {report.embedding_seconds:.1f} s)"
    )
    if report.unembedded:
        chunks = counted(report.unembedded, "chunk has", "chunks have")
        OUT.print(
            f"[yellow]{chunks} no vector yet[/]: "
            f"`crosscorpus embed -C {collection}` or the next run makes what is missing"
        )
    if report.known_failures:
        OUT.print(
            f"[yellow]{report.known_failures} of the unchanged[/] could not be read before and were"
            f" not tried again; `crosscorpus status -C {collection}` says which and why"
        )
    if report.hidden:
        documents = counted(report.hidden, "document here is", "documents here are")
        OUT.print(
            f"[yellow]{documents} for you alone[/]: nothing says who may see "
            f"them; `crosscorpus rights set FILE -C {collection}` does"
        )
    if report.replaced:
        OUT.print(f"[yellow]{report.replaced} characters[/] that cannot be stored became U+FFFD")
    for title, style, issues in (
        ("failed", "red", report.failed),
        ("left out", "yellow", report.skipped),
        ("to note", "yellow", report.notes),
    ):
        if issues:
            OUT.print(f"[{style}]{len(issues)} {title}[/]")
        if endings := _by_ending(issues):
            OUT.print(Text(f"  {endings}"))
        others = [issue for issue in issues if issue.ending is None]
        print_first(_by_reason(others), _ISSUES_SHOWN, "  ")


def show_change(change: IngestReport | Embedded | Exception) -> None:
    """Print in a line what a watcher read, embedded or failed at, with the time."""
    from dataflow.ingestion.run import IngestReport

    style = ""
    if isinstance(change, Exception):
        line, style = str(change), "red"
    elif isinstance(change, IngestReport):
        counts = {"new": change.documents_new, "changed": change.documents_changed}
        counts |= {"deleted": change.documents_deleted, "failed": len(change.failed)}
        changes = ", ".join(f"{number} {what}" for what, number in counts.items() if number)
        line = f"{changes or 'nothing new'}: searchable after {change.words_seconds:.1f} s"
        line += f"; {counted(change.chunks, 'chunk')} written" if change.chunks else ""
        line += f"; chunks of the collection that wait for a vector: {change.unembedded:,}"
    else:
        line = f"{counted(change.chunks, 'vector')}, {change.embedded:,} made now"
        line += f"; {len(change.failed)} texts could not be embedded" if change.failed else ""
    OUT.print(Text(f"{datetime.now():%H:%M:%S} {line}", style=style))


def _by_ending(issues: Sequence[ReadIssue]) -> str:
    """How many files are left out for their ending, most first; empty where there is none."""
    counts = _endings(issues)
    parts = [f"{count} {printable(name)}" for name, count in [*counts.items()][:_ENDINGS]]
    if rest := sum([*counts.values()][_ENDINGS:]):
        parts.append(f"{rest} more")
    if not parts:
        return ""
    return f"unknown endings: {', '.join(parts)}; --also .ENDING reads one as text"


def _endings(issues: Sequence[ReadIssue]) -> dict[str, int]:
    """How many files are left out for each ending, most first."""
    counts = Counter(issue.ending for issue in issues if issue.ending)
    return dict(sorted(counts.items(), key=lambda of: (-of[1], of[0])))


def _by_reason(issues: Sequence[ReadIssue]) -> list[str]:
    """A line for each reason, with the first places that have it and how many more do."""
    alike: dict[str, list[ReadIssue]] = {}
    for issue in issues:
        alike.setdefault(issue.reason, []).append(issue)
    lines = []
    for same in alike.values():
        named = same[: _NAMED if same[0].state == "left_out" else 1]
        others = [f"{printable(issue.where)}, " for issue in named[:-1]]
        more = len(same) - len(named)
        lines.append(f"{''.join(others)}{named[-1]}{f' (and {more} more)' if more else ''}")
    return lines
