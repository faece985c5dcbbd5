"""The `crosscorpus` command: every subcommand is thin and calls what a Python user calls."""

from __future__ import annotations

import errno
import logging
import sys
from pathlib import Path
from typing import Annotated

import typer

from dataflow.cli.collections import collections_app, drop
from dataflow.cli.demo import demo
from dataflow.cli.evaluate import evaluate, sweep
from dataflow.cli.grep import grep
from dataflow.cli.history import history
from dataflow.cli.ingest import ingest_app, watch
from dataflow.cli.judge import judge_app
from dataflow.cli.learn import learn
from dataflow.cli.maintenance import doctor, embed, models_app, status, verify
from dataflow.cli.maps import map_app
from dataflow.cli.mcp import mcp_app
from dataflow.cli.options import FAILED, WRONG_USAGE, AsJson, Config, WrongUsage, written
from dataflow.cli.query import Query, query
from dataflow.cli.review import review
from dataflow.cli.rights import rights_app
from dataflow.cli.serve import serve
from dataflow.cli.sync import sync_app
from dataflow.cli.versions import versions_app
from operators.errors import CrosscorpusError, UnknownName

_MACHINE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE, errno.EROFS)

app = typer.Typer(
    name="crosscorpus",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""One question, every corpus: code, history, reviews, wiki, documents and issues.

A first round trip:

    crosscorpus models install

    crosscorpus ingest git .

    crosscorpus query "where are the lists fused?"

Exit codes: 0 done; 1 failed, with a line that says why; 2
wrong usage; 3 done, but what failed or was found wrong is listed.

Data lives in your data directory, on an embedded server that starts by itself; `CROSSCORPUS_HOME`
moves it, `CROSSCORPUS_DSN` names a server of your own instead, `CROSSCORPUS_READ_DSN` a replica of
it that answers questions.""",
)


def main() -> None:
    """Run the command; print an error that is meant for a person as one line on standard error."""
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # we report what it warns of
    try:
        app()
    except CrosscorpusError as error:
        _say(str(error))
        wrong = isinstance(error, (UnknownName, WrongUsage))
        sys.exit(WRONG_USAGE if wrong else FAILED)
    except OSError as error:
        if error.filename is None and error.errno not in _MACHINE_ERRORS:
            raise
        _say(": ".join(filter(None, (error.filename, error.strerror))))
        sys.exit(FAILED)


def _say(error: str) -> None:
    from dataflow.cli.console.word_wrap import for_stream
    from operators.sources.protocol import printable  # loads Polars, which not every command does

    line = for_stream(f"crosscorpus: {printable(error)}", sys.stderr)
    typer.secho(line, fg="red", err=True)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata  # takes longer to load than the rest of the help

        typer.echo(f"crosscorpus {metadata.version('crosscorpus')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass


app.command(cls=Query)(query)
app.command()(grep)
app.command()(history)
app.command()(review)


@app.command()
def render(
    out: Annotated[
        Path | None,
        written("--out", "-o", help="Ends in .png, .svg or .dot; else dag.png, or GRAPH.png."),
    ] = None,
    graph: Annotated[
        str,
        typer.Option(help="The graph: retrieval (as configured), review, ingestion or evaluation."),
    ] = "retrieval",
    config: Config = "default",
    stages: Annotated[
        bool, typer.Option("--stages", help="A box for each stage, for an overview.")
    ] = False,
) -> None:
    """Draw the graph that a configuration builds, or that of a review, ingestion or evaluation.

    Corpora that are alike are drawn as one; a corpus that differs stands beside them.

    Example: crosscorpus render --config rrf --out rrf.png
    """
    from dataflow import load_config
    from dataflow.cli.console.graphs import draw_graph
    from dataflow.visualization import png

    shown = draw_graph(graph, load_config(config), stages=stages)
    name = "dag" if graph == "retrieval" else graph
    path = out or Path(f"{name}.png")
    png.render(shown, path)
    typer.echo(f"{path}: {len(shown.boxes)} nodes")


@app.command()
def diff(
    before: Annotated[str, typer.Argument(help="A shipped name or a YAML file.")],
    after: Annotated[str, typer.Argument(help="The configuration to compare with.")],
    as_json: AsJson = False,
) -> None:
    """Show which nodes, edges, variants and parameters differ between two configurations.

    Example: crosscorpus diff default rrf
    """
    from dataflow import load_config
    from dataflow.cli.console.terminal import print_result
    from dataflow.driver.config_graphs import diff_configs
    from dataflow.visualization.graph_diff import to_text

    difference = diff_configs(load_config(before), load_config(after))
    print_result(as_json, difference.to_json(), typer.echo, to_text(difference))


config_app = typer.Typer(no_args_is_help=True, help="Configuration files.")


@config_app.command("schema")
def config_schema(
    config: Annotated[
        str, typer.Option("--config", "-c", help="Its own modules' stages are in it too.")
    ] = "default",
) -> None:
    """Print the JSON Schema of configuration files: editors complete and check by it.

    Example: crosscorpus config schema > crosscorpus.schema.json
    """
    from dataflow import load_config
    from dataflow.cli.console.terminal import print_json
    from dataflow.configuration.json_schema import json_schema

    print_json(json_schema(load_config(config).catalog))


# The help lists the commands in this order, and the groups of commands after them.
for command in (demo, watch, serve, embed, doctor, status, verify, drop, evaluate, sweep, learn):
    app.command()(command)
app.add_typer(models_app, name="models")
app.add_typer(ingest_app, name="ingest")
app.add_typer(versions_app, name="versions")
app.add_typer(rights_app, name="rights")
app.add_typer(collections_app, name="collections")
app.add_typer(judge_app, name="judge")
app.add_typer(sync_app, name="sync")
app.add_typer(config_app, name="config")
app.add_typer(map_app, name="map")
app.add_typer(mcp_app, name="mcp")
