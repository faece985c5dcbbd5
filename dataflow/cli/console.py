"""What the command prints: for a person on a terminal, as JSON for a program."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from operators.context.citations import MOST_ALTERNATES
from operators.context.prompt import SYSTEM_PROMPT
from operators.explain.dispositions import DISPOSITION_MEANINGS

if TYPE_CHECKING:  # a command that runs no graph need not load Hamilton, which takes a second
    from dataflow.cli.doctor import Finding
    from dataflow.ingestion.report import IngestReport
    from dataflow.ingestion.report import Progress as Event
    from operators.embedding.minilm import ModelStatus

_OUT = Console(soft_wrap=True, highlight=False)
_ERR = Console(stderr=True, highlight=False)
_SNIPPET = 240
_FAULTS_SHOWN = 10


def print_json(value: Any) -> None:
    """Print one JSON document; times as ISO 8601."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, default=_plain) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, pl.DataFrame):
        return value.to_dicts()
    return str(value)


def answer_as_json(answer: Mapping[str, Any], absent: Sequence[str] = ()) -> dict[str, Any]:
    """The outputs of one question as plain data, metadata decoded; ``absent`` are further notes."""
    results = answer["results"].to_dicts()
    for result in results:
        result["metadata"] = json.loads(result["metadata"] or "{}")
    return {
        "results": results,
        "context": answer["context_window"]["text"].to_list(),
        "system_prompt": SYSTEM_PROMPT,
        "citations": answer["citations"]["citation"].to_list(),
        "notes": [*absent, *answer["notes"]["note"]],
        "provenance": answer["provenance"],
        **({"dispositions": answer["dispositions"].to_dicts()} if "dispositions" in answer else {}),
    }


def _elsewhere(result: Mapping[str, Any]) -> list[str]:
    """Where copies of a result were found, each place once, and no page full of them."""
    labels = dict.fromkeys(other["source_label"] for other in result["alternate_sources"] or ())
    others = [label for label in labels if label != result["source_label"]]
    more = len(others) - MOST_ALTERNATES
    return [*others[:MOST_ALTERNATES], *([f"{more} more places"] if more > 0 else [])]


def show_answer(
    answer: Mapping[str, Any], absent: Sequence[str] = (), *, with_context: bool
) -> None:
    """Ranked results with labels and links, the context if asked for, the notes, the time.

    Where there are no results, ``absent`` says which filters nothing passes.
    """
    results = answer["results"]
    for place, result in enumerate(results.iter_rows(named=True), start=1):
        _OUT.print(
            Text.assemble(
                (f"{place:2d}  ", "bold cyan"),
                (result["source_label"], "bold"),
                (f"  {result['score']:.4f}", "dim"),
            )
        )
        if result["source_url"]:
            _OUT.print(Text(f"    {result['source_url']}", style="blue"))
        for other in _elsewhere(result):
            _OUT.print(Text(f"    also in {other}", style="dim"))
        _OUT.print(Text(f"    {_snippet(result['text'])}"))
    if results.is_empty():
        why = "; ".join(absent)
        _OUT.print(
            Text(f"No match: {why}." if why else _no_match(answer["provenance"]["searched"]))
        )
    if with_context:
        _OUT.rule("system prompt")
        _OUT.print(Text(SYSTEM_PROMPT))
        _OUT.rule("context")
        for window in answer["context_window"].iter_rows(named=True):
            _OUT.print(Text(window["text"]))
    if not answer["citations"].is_empty():
        _OUT.rule("citations")
        for citation in answer["citations"]["citation"]:
            _OUT.print(Text(citation))
    if not answer["notes"].is_empty():
        _OUT.rule("notes")
        for note in answer["notes"]["note"]:
            _OUT.print(Text(note, style="yellow"))
    if "dispositions" in answer:
        missing = answer["dispositions"].filter(pl.col("result_rank").is_null())
        if missing.height:
            _OUT.rule("asked about")
        columns = missing["source_label", "disposition", "reason"]
        for label, disposition, reason in columns.iter_rows():
            _OUT.print(
                Text.assemble((label, "bold"), f"  {DISPOSITION_MEANINGS[disposition]}: {reason}")
            )
    _OUT.rule("time")
    _OUT.print(Text(_where_time_went(answer["provenance"]), style="dim"))


def _no_match(searched: Mapping[str, Mapping[str, str]]) -> str:
    """What is true of an empty answer: a search that gave nothing to read tells nothing."""
    read = {name: channels for name, channels in searched.items() if "chunks" not in channels}
    told = [name for name, channels in read.items() if {"ok", "empty"} & {*channels.values()}]
    says = "No match: no corpus was searched."
    if told:
        seen = f"nothing that this question may see in {', '.join(told)}"
        says = f"No match: {seen} has a word or a meaning of it."
    happened = {status for channels in searched.values() for status in channels.values()}
    return says if happened <= {"ok", "empty"} else f"{says} The notes say what was left out."


def _snippet(text: str) -> str:
    flat = "".join(c if c.isprintable() else " " for c in " ".join(text.split()))
    return flat if len(flat) <= _SNIPPET else flat[: _SNIPPET - 1] + "…"


def _where_time_went(provenance: Mapping[str, Any], most: int = 6) -> str:
    timings: Mapping[str, float] = provenance["timings"]
    slowest = sorted(timings.items(), key=lambda item: (-item[1], item[0]))[:most]
    return "  ".join(f"{name} {milliseconds:.1f} ms" for name, milliseconds in slowest)


@contextmanager
def telling(
    as_json: bool, draw: Callable[[Callable[..., None], Any], None], *columns: ProgressColumn
) -> Iterator[Callable[[Any], None]]:
    """Tell of events: as JSON lines, in a live line, or not at all where nobody looks.

    Args:
        as_json: events, which are dataclasses, go to standard error as they are.
        draw: shows one in the live line: it is given the line's ``update`` and the event.
        columns: of the line, between the bar and the time left.
    """
    if as_json:
        yield lambda event: print(json.dumps(asdict(event)), file=sys.stderr, flush=True)
        return
    if not _ERR.is_terminal:
        yield lambda event: None
        return
    named = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn())
    with Progress(*named, *columns, TimeRemainingColumn(), console=_ERR, transient=True) as bars:
        task = bars.add_task("begin", total=1.0, says="")
        yield lambda event: draw(partial(bars.update, task), event)


def progress(as_json: bool) -> AbstractContextManager[Callable[[Event], None]]:
    """Show how far an ingestion is: a live line, JSON events, or nothing where nobody looks."""

    def draw(update: Callable[..., None], event: Event) -> None:
        pace = f"{event.rate:.0f}" if event.rate >= 10 else f"{event.rate:.1f}"
        says = (
            f"{event.documents} stored, {event.unchanged} unchanged, {event.chunks} chunks, "
            f"{pace} documents/s"
        )
        update(description=event.stage, completed=event.fraction, says=says)

    return telling(as_json, draw, TextColumn("{task.fields[says]}"))


def report_as_json(report: IngestReport) -> dict[str, Any]:
    """The report as plain data; faults as readable lines."""
    return {
        **asdict(report),
        "failed": [str(fault) for fault in report.failed],
        "skipped": [str(fault) for fault in report.skipped],
        "notes": [str(fault) for fault in report.notes],
        "ok": report.ok,
    }


def show_report(report: IngestReport) -> None:
    """What a run did, in a line; then what failed and what was left out."""
    _OUT.print(
        f"[bold]{report.documents_new}[/] new, [bold]{report.documents_changed}[/] changed, "
        f"[bold]{report.documents_unchanged}[/] unchanged, "
        f"[bold]{report.documents_deleted}[/] deleted documents; "
        f"[bold]{report.chunks}[/] chunks in {report.seconds:.1f} s "
        f"(embedding {report.embedded} of them: {report.embedding_seconds:.1f} s)"
    )
    if report.stopped_at is not None:
        _OUT.print(
            f"[yellow]stopped[/] with {report.stopped_at:.0%} of the source read, as the time was"
            " up: the same command goes on"
        )
    if report.known_failures:
        _OUT.print(
            f"[yellow]{report.known_failures} of the unchanged[/] could not be read before and were"
            " not tried again; `crosscorpus status` says which and why"
        )
    if report.replaced:
        _OUT.print(f"[yellow]{report.replaced} characters[/] that cannot be stored became U+FFFD")
    for title, style, faults in (
        ("failed", "red", report.failed),
        ("left out", "yellow", report.skipped),
        ("to note", "yellow", report.notes),
    ):
        if faults:
            _OUT.print(f"[{style}]{len(faults)} {title}[/]")
        for fault in faults[:_FAULTS_SHOWN]:
            _OUT.print(Text(f"  {fault}"))
        if len(faults) > _FAULTS_SHOWN:
            _OUT.print(f"  ... and {len(faults) - _FAULTS_SHOWN} more (--json lists all)")


def show_findings(findings: Sequence[Finding]) -> None:
    """One line a check."""
    for finding in findings:
        mark, style = ("ok  ", "green") if finding.ok else ("FAIL", "bold red")
        _OUT.print(Text.assemble((mark, style), (f"  {finding.what}: ", "bold"), finding.says))


def show_models(models: Sequence[ModelStatus], *, as_json: bool) -> None:
    """One line a model."""
    if as_json:
        print_json([asdict(model) for model in models])
        return
    for model in models:
        size = f", {model.bytes / 1e6:.1f} MB" if model.bytes else ""
        why = f" ({model.reason})" if model.reason else ""
        _OUT.print(Text(f"{model.name}: {model.state}{size}{why}  {model.path}"))
