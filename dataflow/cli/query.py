"""The command `query`: one question of every corpus."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from dataflow.cli.collections import print_notes
from dataflow.cli.options import (
    PARTLY,
    Collection,
    Config,
    RankedAsJson,
    WrongUsage,
    filled,
    takes_options,
    written,
)
from dataflow.execution.light_hamilton import import_hamilton
from operators.options import FILTERS

_USAGE: Any = typer.BadParameter.__base__  # Click's UsageError, which Typer does not export


def _number(text: str) -> Any:
    """The number from 1 on that ``text`` is; a blank text as it is."""
    if not text.strip():
        return text
    if re.fullmatch(r"\s*[0-9]{1,9}\s*", text) and int(text):
        return int(text)
    raise typer.BadParameter(f"{text!r} is no whole number from 1 on")


@dataclass(frozen=True)
class Question:
    """The options of `query`."""

    text: Annotated[
        list[str] | None, typer.Argument(help="The question; further texts say it in other words.")
    ] = None
    trigger: Annotated[
        str | None,
        typer.Option(
            help="What asks: a name (`pr_review`), a mix (`pr_review=0.7,question=0.3`) or `none`."
            " Default: `question`.",
        ),
    ] = None
    languages: Annotated[
        str | None,
        typer.Option(callback=filled, help="Weights of languages: `rust=1.1,python=1.05`."),
    ] = None
    words: Annotated[
        bool,
        typer.Option("--words", help="Keyword search only."),
    ] = False
    versions: Annotated[
        str | None,
        typer.Option(help="`newest` or `all`, whatever version the question names."),
    ] = None
    top_k: Annotated[
        int | None, typer.Option(parser=_number, metavar="NUMBER", help="How many results.")
    ] = None
    brief: Annotated[
        bool,
        typer.Option("--brief", help="Places and the lines that decide, for an agent."),
    ] = False
    context: Annotated[
        bool,
        typer.Option("--context", help="Print the context for a model, alone."),
    ] = False
    budget: Annotated[
        int | None,
        typer.Option(parser=_number, metavar="TOKENS", help="As --context, in so many tokens."),
    ] = None
    explain: Annotated[
        Path | None,
        written(help="Write an HTML page that explains every result, to this file."),
    ] = None
    timings: Annotated[
        bool, typer.Option("--timings", help="Show the time of the slowest nodes.")
    ] = False
    explain_chunk: Annotated[
        list[str] | None,
        typer.Option(
            help="Explain this passage too: a chunk's id or label, or its document's "
            "id, path (or its end) or title; repeatable.",
        ),
    ] = None
    config: Config = "default"
    collection: Collection = "default"
    as_json: RankedAsJson = False

    def check(self, filters: Mapping[str, Any]) -> None:
        """Raise for options that contradict each other, and warn of words without quotes."""
        if (self.versions or "").strip() and (
            filters["version"] or self.versions not in ("newest", "all")
        ):
            raise typer.BadParameter(
                "--versions is newest or all; for one version, give only --version"
            )
        texts = self.text or []
        if not _alone(filters) and not any(text.strip() for text in texts):
            raise WrongUsage('the query is empty: ask something, such as crosscorpus query "why?"')
        if second := next((one for one in texts[1:] if one.isdigit()), None):
            raise typer.BadParameter(
                f"{second!r} would be a second question: --context takes no number; how many"
                f" results says --top-k {second}"
            )
        if len(texts) > 2 and all(len(one.split()) < 2 for one in texts):
            hint = "texts of one word each: put a question of several words into quotes"
            typer.secho(f"{len(texts)} {hint}", fg="yellow", err=True)

    def asked(self, filters: Mapping[str, Any]) -> dict[str, Any]:
        """The question as :func:`dataflow.cli.console.asking.reply_to` takes it."""
        config = Path(self.config)
        return {
            "question": {
                "query": self.text or [_alone(filters)],
                "trigger": _mix(self.trigger),
                **{of.name: None if (one := filters[of.flag]) == [] else one for of in FILTERS},
                "versions": self.versions,
                "top_k": self.top_k,
                "explain_chunks": self.explain_chunk or None,
                "max_tokens": self.budget,
            },
            "changes": {"languages": _mix(self.languages)} if self.languages else {},
            **{"words": self.words, "timings": self.timings, "brief": self.brief},
            "context": self.context or self.budget is not None,
            **{"page": bool(self.explain), "explained": bool(self.explain or self.explain_chunk)},
            **{"width": shutil.get_terminal_size().columns, "terminal": sys.stdout.isatty()},
            **{"colour": "NO_COLOR" not in os.environ, "json": self.as_json},
            "config": str(config.absolute()) if config.is_file() else self.config,
        }


def _alone(filters: Mapping[str, Any]) -> str:
    """The filter that is a question without words; "": none."""
    given = (filters[name] or "" for name in ("regex", "symbol", "uses"))
    return next((one for one in given if one.strip()), "")


class Query(TyperCommand):
    """The command `query`: an unknown option may be a question about one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse ``args``; the error about an option says how to ask about it."""
        typed = [*args]
        try:
            return super().parse_args(ctx, args)
        except Exception as error:  # of the Click that this Typer has
            name = getattr(error, "option_name", None)
            if name is not None and isinstance(error, _USAGE):
                meant = next((one for one in typed if one.startswith(name)), name)
                hint = f"If it is part of the question: crosscorpus query -- {shlex.quote(meant)}"
                error.message = f"{error.message.rstrip('.')}. {hint}"
            raise


@takes_options
def query(options: Question, **filters: Any) -> None:
    """Ask one question of every corpus.

    Example: crosscorpus query "why is the cache flushed twice?" --trigger pr_review --repo org/app

    Exact phrase: crosscorpus query '"not a number"'; a pattern: --regex 'raise .+Error'

    Where is it defined? crosscorpus query --symbol Lock.release

    Who uses it? crosscorpus query --uses Lock.release

    Another version: crosscorpus query "how are jobs retried?" --version 3.5.3

    Why is a page missing? crosscorpus query "..." --explain why.html --explain-chunk docs/cache.md
    """
    from dataflow.service.local import ask_server

    options.check(filters)
    request = options.asked(filters)
    reply = ask_server(options.collection, "/local/query", request) or _answered(
        request, options.config, options.collection
    )
    print_notes(reply["notes"])
    if options.explain:
        options.explain.write_text(reply["page"], encoding="utf-8")
    sys.stdout.write(reply["out"])
    if reply["degraded"]:
        raise typer.Exit(PARTLY)


def _answered(request: dict[str, Any], config: str, collection: str) -> dict[str, Any]:
    """The reply to a question without a running server."""
    import_hamilton()
    from dataflow import build_driver, load_config
    from dataflow.cli.console.asking import reply_to
    from operators.postgres.connection import resolve_dsn
    from operators.postgres.store import open_store

    if request["page"]:  # fails before the search where the extra that draws is not installed
        import operators.report.explanation  # noqa: F401
    settings = load_config(config)
    with open_store(resolve_dsn(reading=True), collection, max_size=settings.workers) as store:
        return reply_to(request, settings, store, partial(build_driver, store=store))


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
