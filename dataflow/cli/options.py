"""Options and exit codes that several commands share: one name, one wording."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from operators.errors import CrosscorpusError
from operators.options import FILTERS, Option
from operators.question.read_options import read_date, read_moment

FAILED, WRONG_USAGE, PARTLY = 1, 2, 3


class WrongUsage(CrosscorpusError):
    """The command cannot be what somebody meant: exit code ``WRONG_USAGE``."""


def filled(value: Any) -> Any:
    """The value of an option, for Typer's ``callback``: it may be absent, and not blank.

    Raises:
        typer.BadParameter: it is empty or white space, as of a variable of the shell that is not
            set; or one of several is.
    """
    for one in value if isinstance(value, list | tuple) else [value]:
        if isinstance(one, str) and not one.strip():
            raise typer.BadParameter("it is blank: give a value, or leave the option out")
    return value


def _path(text: str) -> Path:
    """The path ``text``; one that begins as an option does is rather the next option."""
    if text.startswith("-"):
        raise typer.BadParameter(f"{text!r} is an option: name a file before it, or type ./{text}")
    return Path(text)


written: Any = partial(typer.Option, parser=_path, metavar="PATH")
"""An option that names what the command writes."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
RankedAsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON for a program to read; ranks count from 1.")
]
Collection = Annotated[
    str,
    typer.Option("--collection", "-C", callback=filled, help="The collection to use."),
]
Config = Annotated[
    str,
    typer.Option(
        "--config", "-c", callback=filled, help="A shipped name, such as `rrf`, or a YAML file."
    ),
]

# What reads sources into a collection.
Relocated = Annotated[
    bool,
    typer.Option(
        "--relocated",
        help="The source has moved: documents read from the old place under this name are its own.",
    ),
]

# What asks judged queries.
Queries = Annotated[
    Path,
    typer.Option("--queries", help="JSON, one query per line: query_id, text, and more if known."),
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        help="nDCG@k, Acc@k (= Success@k: the first k have a relevant one), P@k, R@k, RR, RR@k, AP "
        "or AP@k; repeatable.",
    ),
]
Qrels = Annotated[
    Path,
    typer.Option(
        "--qrels",
        help="TREC, `query_id 0 doc_id grade` per line. The doc_id of a file is its path in the "
        "repository or folder, as in `docs/cache.md`, of a commit its full hash; `org/app:` before "
        "it names the repository, `:10-42` after it lines.",
    ),
]


@dataclass(frozen=True)
class IngestOptions:
    """The options of every command that reads a source."""

    allow_mass_delete: Annotated[
        bool,
        typer.Option("--allow-mass-delete", help="Delete even more than 30 % of what was there."),
    ] = False
    secrets: Annotated[
        Literal["auto", "skip", "redact", "allow"] | None,
        typer.Option(
            metavar="CHOICE",
            help="A document with a key or token of a well-known form: `skip` it and report it,"
            " `redact` (take it with marks instead of secrets), `auto` (the default: skip code,"
            " redact tests, examples and pages) or `allow` (take it unchanged); kept for later"
            " runs.",
        ),
    ] = None
    corpora: Annotated[
        list[str] | None,
        typer.Option(
            "--only-corpus",
            callback=filled,
            help="Read only documents of this corpus; repeatable.",
        ),
    ] = None
    wait: Annotated[
        Literal["words", "vectors"],
        typer.Option(
            metavar="CHOICE",
            help="End when keyword search finds everything (`words`; `crosscorpus embed` makes the"
            " vectors), or when each chunk has its vector (`vectors`).",
        ),
    ] = "vectors"
    in_turn: Annotated[
        bool,
        typer.Option("--in-turn", help="While another run reads this source, wait for its end."),
    ] = False
    model: Annotated[
        str | None,
        typer.Option(
            callback=filled,
            help="minilm, static, hf:ORG/NAME, onnx:DIR, openai:MODEL@URL or"
            " python:MODULE:NAME (a function); else the configuration's.",
        ),
    ] = None
    config: Config = "default"
    collection: Collection = "default"
    as_json: AsJson = False

    @property
    def run_options(self) -> dict[str, Any]:
        """The options that every run over a source takes."""
        names = ("allow_mass_delete", "secrets", "corpora", "wait", "in_turn")
        return {name: getattr(self, name) for name in names}


def _time(text: str, read: Callable[[str], object]) -> str:
    """``text``, which is blank or which ``read`` takes."""
    try:
        if text.strip():
            read(text)
    except CrosscorpusError as error:
        raise typer.BadParameter(str(error)) from None
    return text


_READ: dict[str, Callable[[str], object]] = {
    "moment": read_moment,
    "date": lambda text: read_date(text, datetime.now(UTC)),
}
"""What checks an option of a kind before the question is asked."""


def _filter_parameter(one: Option) -> inspect.Parameter:
    several = one.kind in ("names", "versions")
    kind: Any = list[str] | None if several else str | None
    says = f"{one.says[0].upper()}{one.says[1:]}{'; repeatable' * several}."
    read = _READ.get(one.kind)
    how: Any = {"parser": partial(_time, read=read), "metavar": "TIME"} if read else {}
    option = typer.Option(help=says, rich_help_panel="What is searched", **how)
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(one.flag, keyword, default=None, annotation=Annotated[kind, option])


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """``command`` for Typer: its parameter ``options``, a dataclass, becomes one for each field.

    ``**filters`` become an option for each filter of a question, by the names of the command.
    """
    own = inspect.signature(command, eval_str=True)
    kind = own.parameters["options"].annotation
    shared = inspect.signature(kind, eval_str=True).parameters

    @wraps(command)
    def run(**arguments: Any) -> None:
        options = kind(**{name: arguments.pop(name) for name in shared})
        command(**arguments, options=options)

    parameters = {**own.parameters, **shared}
    del parameters["options"]
    if parameters.pop("filters", None):
        parameters |= {one.flag: _filter_parameter(one) for one in FILTERS}
    # Typer reads both.
    run.__signature__ = own.replace(parameters=[*parameters.values()])  # type: ignore[attr-defined]
    run.__annotations__ = {name: each.annotation for name, each in parameters.items()}
    return run
