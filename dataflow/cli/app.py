"""The `crosscorpus` command: every subcommand is thin and calls what a Python user calls."""

from __future__ import annotations

import errno
import logging
import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from dataflow.cli.collections import collections_app, drop, print_notes
from dataflow.cli.demo import demo
from dataflow.cli.evaluate import evaluate, sweep
from dataflow.cli.ingest import ingest_app, watch
from dataflow.cli.learn import learn
from dataflow.cli.maintenance import doctor, embed, models_app, status, verify
from dataflow.cli.mcp import mcp_app
from dataflow.cli.options import (
    FAILED,
    PARTLY,
    WRONG_USAGE,
    AsJson,
    Collection,
    Config,
    takes_options,
)
from dataflow.cli.serve import serve
from dataflow.cli.sync import sync_app
from dataflow.cli.versions import versions_app
from operators.errors import CrosscorpusError, UnknownName

_Unfold = Annotated[
    bool, typer.Option("--unfold", help="Draw every corpus, also where several are alike.")
]
_OF_THE_MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE, errno.EROFS)

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

    crosscorpus query "where are the lists fused?" --context

Exit codes: 0 done, or stopped where `--stop-after` says; 1 failed, with a line that says why; 2
wrong usage; 3 done, but what failed or was found wrong is listed.

Data lives in your data directory, on an embedded server that starts by itself; `CROSSCORPUS_HOME`
moves it, `CROSSCORPUS_DSN` names a server of your own instead, `CROSSCORPUS_READ_DSN` a replica of
it that answers questions.""",
)


def main() -> None:
    """Run the command; print an error that is meant for a person as one line on standard error."""
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # what it warns of is told by us
    try:
        app()
    except CrosscorpusError as error:
        _say(str(error))
        sys.exit(WRONG_USAGE if isinstance(error, UnknownName) else FAILED)
    except OSError as error:
        if error.filename is None and error.errno not in _OF_THE_MACHINE:
            raise
        _say(": ".join(filter(None, (error.filename, error.strerror))))
        sys.exit(FAILED)


def _say(error: str) -> None:
    from operators.sources.protocol import printable  # loads Polars, which not every command does

    typer.secho(f"crosscorpus: {printable(error)}", fg="red", err=True)


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


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        hint = "write a day, 2026-11-23, or a moment, 2026-11-23T14:00+02:00"
        raise typer.BadParameter(f"{text!r} is no time: {hint}") from None


@dataclass(frozen=True)
class Question:
    """The options of `query`."""

    text: Annotated[
        list[str] | None, typer.Argument(help="The question; more texts put it in other ways.")
    ] = None
    trigger: Annotated[
        str | None,
        typer.Option(
            help="What asks: a name (`pr_review`), a mix (`pr_review=0.7,question=0.3`) or `none`;"
            " you do, so that it is `question`."
        ),
    ] = None
    repo: Annotated[
        list[str] | None, typer.Option(help="Only this repository; may be given again.")
    ] = None
    path: Annotated[str | None, typer.Option(help="Only paths that begin like this.")] = None
    language: Annotated[
        str | None,
        typer.Option(help="Only this language, such as `python`."),
    ] = None
    languages: Annotated[
        str | None, typer.Option(help="What a language weighs: `rust=1.1,python=1.05`.")
    ] = None
    state: Annotated[str | None, typer.Option(help="Only items in this state.")] = None
    regex: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help="Only passages with a text that matches this."),
    ] = None
    words: Annotated[
        bool,
        typer.Option("--words", help="By words alone, whatever they mean."),
    ] = False
    as_of: Annotated[
        datetime | None,
        typer.Option(
            parser=_moment,
            metavar="TIME",
            help="Nothing created at or after this moment (UTC); what has no known date stays.",
        ),
    ] = None
    corpus: Annotated[
        list[str] | None, typer.Option(help="Only this corpus; may be given again.")
    ] = None
    version: Annotated[
        list[str] | None,
        typer.Option(help="Answer for this version, such as `3.5.3`; may be given again."),
    ] = None
    versions: Annotated[
        str | None, typer.Option(help="`newest` or `all`, whatever version the question names.")
    ] = None
    top_k: Annotated[int | None, typer.Option(min=1, help="How many results.")] = None
    context: Annotated[
        bool,
        typer.Option("--context", help="Print the context window too."),
    ] = False
    explain: Annotated[
        Path | None,
        typer.Option(help="Write an HTML page that explains every result, to this file."),
    ] = None
    timings: Annotated[
        bool, typer.Option("--timings", help="Say how long the slowest nodes took.")
    ] = False
    explain_chunk: Annotated[
        list[str] | None,
        typer.Option(
            help="Say what became of this passage too: a chunk's id or label, or its document's "
            "id, path (or its end) or title; may be given again."
        ),
    ] = None
    config: Config = "default"
    collection: Collection = "default"
    as_json: AsJson = False

    def check(self) -> None:
        """Raise for options that contradict each other, and warn of words without quotes."""
        if self.versions is not None and (self.version or self.versions not in ("newest", "all")):
            raise typer.BadParameter(
                "--versions is `newest` or `all`; name one with --version alone"
            )
        texts = self.text or []
        if second := next((one for one in texts[1:] if one.isdigit()), None):
            raise typer.BadParameter(
                f"{second!r} would be a second question: --context takes no number; how many"
                f" results says --top-k {second}"
            )
        if len(texts) > 2 and all(len(one.split()) < 2 for one in texts):
            hint = "texts of one word each: put a question of several words into quotes"
            typer.secho(f"{len(texts)} {hint}", fg="yellow", err=True)

    def asked(self) -> dict[str, Any]:
        """The question as :func:`dataflow.cli.console.asking.reply_to` takes it."""
        config = Path(self.config)
        return {
            "inputs": {
                "query": self.text or [self.regex or ""],
                "trigger": _mix(self.trigger),
                "repos": self.repo or None,
                "language": self.language,
                "state": self.state,
                "path_prefix": self.path,
                "pattern": self.regex,
                "as_of": self.as_of and self.as_of.isoformat(),
                "only_corpora": self.corpus or None,
                "versions": self.version or self.versions,
                "explain_chunks": self.explain_chunk or None,
            },
            "changes": {
                **({"parameters": {"top_k": self.top_k}} if self.top_k else {}),
                **({"languages": _mix(self.languages)} if self.languages else {}),
            },
            **{"words": self.words, "context": self.context, "timings": self.timings},
            **{"page": bool(self.explain), "explained": bool(self.explain or self.explain_chunk)},
            **{"width": shutil.get_terminal_size().columns, "terminal": sys.stdout.isatty()},
            **{"colour": "NO_COLOR" not in os.environ, "json": self.as_json},
            "config": str(config.absolute()) if config.is_file() else self.config,
        }


@app.command()
@takes_options
def query(options: Question) -> None:
    """Ask one question of every corpus.

    Example: crosscorpus query "why is the cache flushed twice?" --trigger pr_review --repo org/app

    To the letter: crosscorpus query '"not a number"'; by a pattern: --regex 'raise .+Error'

    Another version: crosscorpus query "how are jobs retried?" --version 3.5.3

    Why is a page missing? crosscorpus query "..." --explain why.html --explain-chunk docs/cache.md
    """
    from dataflow.service.local import ask_server

    options.check()
    asked = options.asked()
    reply = ask_server(options.collection, "/local/query", asked) or _answered(
        asked, options.config, options.collection
    )
    print_notes(reply["notes"])
    if options.explain:
        options.explain.write_text(reply["page"], encoding="utf-8")
    sys.stdout.write(reply["out"])
    if reply["degraded"]:
        raise typer.Exit(PARTLY)


def _answered(asked: dict[str, Any], config: str, collection: str) -> dict[str, Any]:
    """The reply to a question without a running server."""
    from dataflow.execution.light_hamilton import import_hamilton

    import_hamilton()
    from dataflow import build_driver, load_config
    from dataflow.cli.console.asking import reply_to
    from operators.postgres.connection import resolve_dsn
    from operators.postgres.store import open_store

    if asked["page"]:  # fails before the search where the extra that draws is not installed
        import operators.report.explanation  # noqa: F401
    settings = load_config(config)
    with open_store(resolve_dsn(reading=True), collection, max_size=settings.workers) as store:
        return reply_to(asked, settings, store, partial(build_driver, store=store))


@app.command()
def render(
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Ends in .png, .svg or .dot; else dag.png, or GRAPH.png."),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Only tell whether a .dot is up to date (exit code 1: no)."),
    ] = False,
    graph: Annotated[
        str, typer.Option(help="Which one: retrieval (as configured), ingestion or evaluation.")
    ] = "retrieval",
    config: Config = "default",
    unfold: _Unfold = False,
) -> None:
    """Draw the graph that a configuration builds, or that of ingestion or evaluation.

    Corpora that are alike are drawn as one; a corpus that differs stands beside them.

    Example: crosscorpus render --config rrf --out rrf.png
    """
    from dataflow import load_config
    from dataflow.cli.console.graphs import draw_graph
    from dataflow.visualization import png as pictures

    shown = draw_graph(graph, load_config(config), unfold=unfold)
    name = "dag" if graph == "retrieval" else graph
    place = out or Path(name + (".dot" if check else ".png"))
    if not check:
        pictures.render(shown, place)
        typer.echo(f"{place}: {len(shown.boxes)} nodes")
    elif pictures.check(place, shown):
        typer.echo(f"{place} is up to date")
    else:
        typed = [one for one in sys.argv[1:] if one != "--check"]
        again = shlex.join(["crosscorpus", *typed, *([] if out else ["--out", str(place)])])
        raise CrosscorpusError(f"{place} shows another graph: run `{again}`")


@app.command()
def diff(
    before: Annotated[str, typer.Argument(help="A shipped name or a YAML file.")],
    after: Annotated[str, typer.Argument(help="What it is compared with.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Draw both in one picture too; ends as for render."),
    ] = None,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit with 1 where they differ.")
    ] = False,
    unfold: _Unfold = False,
    as_json: AsJson = False,
) -> None:
    """Tell which nodes, edges, variants and parameters differ between two configurations.

    Example: crosscorpus diff default rrf --out diff.png
    """
    from dataflow import load_config
    from dataflow.cli.console.terminal import print_result
    from dataflow.driver.config_graphs import diff_configs, draw_difference
    from dataflow.visualization.graph_diff import to_text
    from dataflow.visualization.png import render as write

    found = diff_configs(load_config(before), load_config(after))
    if out:
        write(draw_difference(found, unfold=unfold), out)
    print_result(as_json, found.to_json(), typer.echo, to_text(found))
    if exit_code and found:
        raise typer.Exit(FAILED)


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
app.add_typer(collections_app, name="collections")
app.add_typer(sync_app, name="sync")
app.add_typer(config_app, name="config")
app.add_typer(mcp_app, name="mcp")


def _mix(text: str | None) -> str | dict[str, float] | None:
    """Read ``name`` or ``name=share,name=share``."""
    if text is None or "=" not in text:
        return text
    try:
        return {
            name.strip(): float(share)
            for name, share in (part.split("=", 1) for part in text.split(","))
        }
    except ValueError:
        raise typer.BadParameter(
            f"{text!r}: write a name, or names with numbers such as name=0.7,another=0.3"
        ) from None
