"""Commands about the maps that make documents of a service's records."""

import json
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from dataflow.cli.options import PARTLY, AsJson

map_app = typer.Typer(no_args_is_help=True, help="Maps of a service's records to documents.")

_TEXT = 300  # characters of a text that are shown
_SHOWN = ["corpus", "repo", "document_id", "title", "path", "uri"]
_SHOWN += ["created_at", "state", "metadata"]


@map_app.command("list")
def map_list(as_json: AsJson = False) -> None:
    """List the maps that come along: what each reads, and how one gets it.

    Example: crosscorpus map list
    """
    from dataflow.cli.console.terminal import print_result
    from dataflow.configuration.loader import shipped_maps
    from operators.sources.records.record_map import read_map

    maps = shipped_maps()
    about = {name: read_map(name, maps).about for name in maps}
    lines = "\n".join(f"{name:14} {text}" for name, text in about.items())
    print_result(as_json, about, typer.echo, lines)


@map_app.command("check")
def map_check(
    name: Annotated[str, typer.Argument(metavar="MAP", help="A map of ours, or a file.")],
    records: Annotated[Path, typer.Argument(help="JSON, CSV, mail, HTML, or a folder or ZIP.")],
    first: Annotated[int, typer.Option(min=1, help="So many documents.")] = 3,
    as_json: AsJson = False,
) -> None:
    """Show the first documents that a map makes of records, and store nothing.

    Example: crosscorpus map check jira export.json
    """
    from dataflow.cli.console.terminal import print_result
    from dataflow.configuration.loader import shipped_maps
    from operators.sources.protocol import Document, ReadIssue, parsed, printable
    from operators.sources.records.record_map import read_map
    from operators.sources.records.record_source import records_source

    source = records_source(records, read_map(name, shipped_maps()))
    items = list(islice(parsed(source.scan()), first))
    shown, lines = [], []
    for one in items:
        if isinstance(one, Document):
            fields = {field: getattr(one, field) for field in _SHOWN if getattr(one, field)}
            shown.append(fields | {"text": one.text})
            lines += [f"{field:12} {printable(str(fields[field]))}" for field in fields]
            lines += [f"{'text':12} {printable(one.text[:_TEXT])}", ""]
        else:
            how = "left out" if isinstance(one, ReadIssue) and not one.failed else "failed"
            shown.append({how: str(one)})
            lines += [f"{how:12} {one}", ""]
    plain = json.loads(json.dumps(shown, default=str))
    print_result(as_json, plain, typer.echo, "\n".join(lines) or "no document")
    if any("failed" in one for one in shown):
        raise typer.Exit(PARTLY)
