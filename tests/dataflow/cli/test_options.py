"""One bundle of options becomes options of every command that reads a source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from dataflow.cli import app
from dataflow.cli.options import IngestOptions, takes_options

READERS = [
    *(["ingest", kind] for kind in ("documents", "git", "folder", "wiki")),
    *(["ingest", kind] for kind in ("reviews", "issues", "memory")),
    ["sync", "github"],
]


def test_a_command_gets_the_options_of_the_bundle_beside_its_own() -> None:
    got: list[Any] = []

    @takes_options
    def command(name: str, twice: bool = False, *, options: IngestOptions) -> None:
        got.append((name, twice, options))

    small = typer.Typer()
    small.command()(command)
    small(["a", "--twice", "-C", "team", "--json"], standalone_mode=False)
    small(["b", "--allow-mass-delete", "--model", "static"], standalone_mode=False)
    assert got == [
        ("a", True, IngestOptions(collection="team", as_json=True)),
        ("b", False, IngestOptions(allow_mass_delete=True, model="static")),
    ]


@pytest.mark.parametrize("command", READERS, ids=" ".join)
def test_every_command_that_reads_a_source_has_the_bundle(
    crosscorpus: Any, command: list[str]
) -> None:
    shown = crosscorpus(*command, "--help").stdout
    for option in ("--allow-mass-delete", "--model", "--config", "--collection", "--json"):
        assert option in shown


def test_every_option_and_argument_has_a_help_text() -> None:
    for command in _commands(typer.main.get_command(app.app)):
        for parameter in command.params:
            assert getattr(parameter, "help", None), (command.name, parameter.name)


def _commands(command: Any) -> Iterator[Any]:
    yield command
    for inner in getattr(command, "commands", {}).values():
        yield from _commands(inner)
