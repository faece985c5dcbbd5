"""The demonstration that is in the package: it needs no project of the user's own."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from time import perf_counter

import typer

from dataflow.execution.light_hamilton import import_hamilton

_DOCUMENTS = Path(__file__).parents[2] / "crosscorpus" / "demo.jsonl"
_COLLECTION = "tollgate"
_QUESTIONS = (
    "what happens while Redis is away?",
    "may two processes share one limit?",
    "how many requests a minute does the default limit let through?",
)
_TOP_K = 5


def demo() -> None:
    """Ask three questions about a small project that is included.

    The project (a rate limiter that does not exist, with code, history, reviews, wiki and two
    versions of its docs) goes into the collection `tollgate`. The model
    is installed first where it is not yet.

    Example: crosscorpus demo
    """
    import_hamilton()
    from crosscorpus.model_builds.install_minilm import install_minilm
    from dataflow import build_driver
    from dataflow.cli.console import terminal
    from dataflow.ingestion.sources import ingest_into
    from operators.embedding.minilm import minilm_directory, minilm_status
    from operators.postgres.connection import resolve_dsn
    from operators.sources.jsonl import documents_source

    if minilm_status(minilm_directory()).state != "installed":
        install_minilm(say=lambda line: typer.echo(line, err=True))
    with terminal.event_display(False, terminal.draw_ingestion) as on_event:
        report = ingest_into(
            _COLLECTION, documents_source(_DOCUMENTS), prune=True, on_event=on_event
        )
    terminal.show_report(report, _COLLECTION)
    with build_driver("default", _COLLECTION, dsn=resolve_dsn()) as driver:
        for question in _QUESTIONS:
            typer.echo(f'\n$ crosscorpus query "{question}" -C {_COLLECTION} --top-k {_TOP_K}\n')
            began = perf_counter()
            inputs = driver.question_inputs(question, top_k=_TOP_K)
            answer = driver.execute(
                ["results", "citations", "evidence_level", "notes", "provenance"], inputs
            )
            terminal.show_answer(answer, question, seconds=perf_counter() - began)
    command = _as_typed()
    typer.echo(
        f"\nYour own repository: {command} ingest git PATH, then {command} query ..."
        f"\nDelete this one: {command} collections drop {_COLLECTION}"
    )


def _as_typed() -> str:
    """How this command is called here: by its name where the shell finds it, else by its path."""
    if shutil.which("crosscorpus"):
        return "crosscorpus"
    return os.path.relpath(Path(sys.executable).parent / "crosscorpus")
