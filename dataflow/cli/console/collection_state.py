"""What the commands that look after a collection print."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from dataflow.cli.console.terminal import OUT, print_first, print_table
from operators.errors import counted
from operators.postgres.errors import target
from operators.sources.protocol import printable

if TYPE_CHECKING:
    from dataflow.cli.doctor import Finding
    from dataflow.ingestion.vectors import Embedded
    from dataflow.service.models import Read
    from operators.embedding.minilm import ModelStatus
    from operators.postgres.store import CollectionInfo, Store

_FINDINGS_SHOWN = 20
_REPOS_SHOWN = 8
_UNREAD_SHOWN = 10
_NOT_READ = {
    "failed": ("document failed", "documents failed"),
    "no_text": ("has no text (scanned?)", "have no text (scanned?)"),
    "encrypted": ("is encrypted", "are encrypted"),
    "outdated": (
        "failed in its newest version, an older one stays",
        "failed in their newest version, an older one stays",
    ),
    "unembedded": (
        "chunk has no vector yet (crosscorpus embed -C {} makes it)",
        "chunks have no vector yet (crosscorpus embed -C {} makes them)",
    ),
    "unembeddable": (
        "chunk can't be embedded: only words find it (crosscorpus embed -C {} --again)",
        "chunks can't be embedded: only words find them (crosscorpus embed -C {} --again)",
    ),
}
"""What was not read: the words for one and for several; {} is the collection."""


class CollectionState(NamedTuple):
    """A collection: frames ``STATUS`` and ``UNREAD``, when each source was read, bytes on disk."""

    store: Store
    info: CollectionInfo
    corpora: pl.DataFrame
    unread: pl.DataFrame
    read: Sequence[Read]
    disk: Mapping[str, int]


def status_as_json(state: CollectionState) -> dict[str, Any]:
    """What a collection holds, as plain data."""
    store, info, corpora, unread, read, disk = state
    return {
        "collection": store.collection,
        "server": {"at": target(store.dsn), "replica": store.replica},
        "model": {"name": info.model, "space": info.space, "dimensions": info.dimensions},
        "corpora": [
            {**row, "repos": info.repos.get(row["corpus"], {})} for row in corpora.to_dicts()
        ],
        "unread": unread.to_dicts(),
        "sources": [source.model_dump() for source in read],
        "disk": disk,
    }


def show_status(state: CollectionState) -> None:
    """Print the corpora, repositories and sources, which documents failed and why, and notes."""
    store, info, corpora, unread, read, disk = state
    model = f"{info.model} ({info.dimensions} dimensions, space {info.space})"
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    where = f"at {target(store.dsn)}{', a replica' if store.replica else ''}"
    OUT.print(Text(f"collection {store.collection} {where}: {model if info.model else 'no model'}"))
    for name in ("corpus", "documents", "chunks", "MB", "vectors", "dates", "last run"):
        number = name in ("documents", "chunks", "MB")
        table.add_column(name, justify="right" if number else "left")
    for row in corpora.iter_rows(named=True):
        table.add_row(
            escape(row["corpus"]),
            f"{row['documents']:,}",
            f"{row['chunks']:,}",
            f"{row['bytes'] / 1e6:.1f}",
            "index" if row["vector_index"] else "exact",
            f"{_day(row['oldest'])}\n{_day(row['newest'])}",
            f"{_day(row['last_run'], '%Y-%m-%d %H:%M')}\n"
            + escape(" ".join(filter(None, (row["last_run_source"], row["last_run_state"])))),
        )
    print_table(table)
    if disk:
        cache, log = f"{disk['vector_cache'] / 1e6:.1f} of them cached vectors", disk.get("log")
        server = f"; the server's log {log / 1e6:.1f} MB" if log else ""
        OUT.print(f"on disk: {disk['collection'] / 1e6:.1f} MB, {cache}{server}")
    for corpus, chunks in info.repos.items():
        names = sorted(filter(None, chunks), key=lambda name: (-chunks[name], name))
        more = f" and {len(names) - _REPOS_SHOWN} more (--json)" if names[_REPOS_SHOWN:] else ""
        if names:
            shown = ", ".join(map(printable, names[:_REPOS_SHOWN]))
            what = "repositories" if names[1:] else "repository"
            OUT.print(Text(f"{corpus}: {what} {shown}{more}"))
    for source in read:
        at = f" at {source.commit[:12]}" if source.commit else ""
        since = f"; since then {source.since}" if source.since else ""
        line = f"{source.source}: {source.state}, {source.read_at:%Y-%m-%d %H:%M}{at}{since}"
        OUT.print(Text(printable(line), style="yellow" if since else ""))
    for row in corpora.iter_rows(named=True):
        counts = [counted(row[state], *texts) for state, texts in _NOT_READ.items() if row[state]]
        if counts:
            said = ", ".join(counts).format(store.collection)
            OUT.print(Text(f"{row['corpus']}: {said}", style="red"))
        for reason in row["reasons"]:
            OUT.print(Text(f"  {printable(reason)}"))
        named = unread.filter(corpus=row["corpus"])
        lines = [
            f"{' '.join(printable(part) for part in (repo, name) if part)}: {printable(why or '')}"
            for _, repo, name, _, why in named.iter_rows()
        ]
        print_first(lines, _UNREAD_SHOWN, "  ")
        for note in row["notes"]:
            OUT.print(Text(f"{row['corpus']}: {printable(note)}", style="yellow"))


def _day(moment: datetime | None, form: str = "%Y-%m-%d") -> str:
    return "-" if moment is None else moment.strftime(form)


def show_verification(found: pl.DataFrame) -> None:
    """Print one line for each finding with its repair."""
    if found.is_empty():
        OUT.print("[green]ledger, chunks, vectors, text index and versions agree[/]")
        return
    lines = []
    for kind, corpus, repo, document_id, says, repaired in found.iter_rows():
        where = " ".join(printable(part) for part in (corpus, repo, document_id) if part)
        mark = ("repaired", "yellow") if repaired else ("found   ", "bold red")
        lines.append(Text.assemble(mark, (f"  {kind}  ", "bold"), f"{where}: {printable(says)}"))
    print_first(lines, _FINDINGS_SHOWN)
    if not found["repaired"].all():
        OUT.print("put it right with: crosscorpus verify --repair")
    elif found["kind"].is_in(["lost_chunks", "stray_chunks"]).any():
        OUT.print("documents that lost a part come back when their source is ingested again")


def show_findings(findings: Sequence[Finding]) -> None:
    """Print one line for each check."""
    for finding in findings:
        mark, style = ("ok  ", "green") if finding.ok else ("FAIL", "bold red")
        OUT.print(Text.assemble((mark, style), (f"  {finding.what}: ", "bold"), finding.says))


def show_models(models: Sequence[ModelStatus]) -> None:
    """Print one line for each model."""
    for model in models:
        size = f", {model.bytes / 1e6:.1f} MB" if model.bytes else ""
        why = f" ({model.reason})" if model.reason else ""
        OUT.print(Text(f"{model.name}: {model.state}{size}{why}  {model.path}"))


def draw_embedding(update: Callable[..., None], event: Embedded) -> None:
    """Show how far a worker is, for `terminal.event_display`."""
    rate = event.chunks / event.seconds if event.seconds else 0.0
    details = f"{event.chunks:,} chunks, {event.left:,} left, {rate:.0f}/s"
    total = event.chunks + event.left
    far = {"completed": event.chunks, "total": total, "eta_s": event.eta_s}
    update(description="embed", details=details, **far)


def show_embedded(done: Embedded) -> None:
    """Print what a worker did, and why some chunks have no vector."""
    OUT.print(
        f"[bold]{done.chunks:,}[/] chunks got their vector in {done.seconds:.1f} s "
        f"({done.embedded:,} embedded, the others known); {done.left:,} left"
    )
    reasons = [Text(f"{printable(name)}: {printable(why)}") for name, why in done.failed]
    print_first(reasons, _UNREAD_SHOWN, "  ")
