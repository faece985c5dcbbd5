"""Commands for who may see what: set the rules, show them, and ask as somebody else."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from dataflow.cli.options import AsJson, Collection, Config, RankedAsJson
from operators.errors import CrosscorpusError, counted

rights_app = typer.Typer(no_args_is_help=True, help="Who may see what, and why.")


def _say(lines: Iterable[str]) -> None:
    from operators.sources.protocol import printable

    for line in lines:
        typer.echo(printable(line))


_Groups = Annotated[
    list[str] | None, typer.Option("--group", help="A group that the user is in; repeatable.")
]
_User = Annotated[str, typer.Argument(help="A user, as the rules and the sources name him.")]


@rights_app.command("set")
def rights_set(
    file: Annotated[Path, typer.Argument(help="The rules, as YAML.", exists=True, dir_okay=False)],
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """Set who may see which documents, by corpus, repository and path; the last rule counts.

        unmarked: deny         # what nothing speaks of; or everyone

        rules:

        - {allow: everyone, repo: acme/handbook}

        - {allow: [hr, ann], corpus: docs, path: "payroll/"}

    They hold for the next question and for all that is ingested later. A document whose source
    says who may see it (`allowed` of the generic form) keeps that.

    Example: crosscorpus rights set rights.yaml -C team
    """
    from dataflow.cli.console.terminal import print_result
    from dataflow.ingestion.set_rights import set_rights
    from operators.postgres.store import open_store

    with open_store(collection=collection) as store:
        changed = set_rights(store, file.read_text("utf-8", "surrogateescape"))
    message = f"the readers of {counted(changed, 'document')} changed"
    print_result(as_json, {"changed": changed}, typer.echo, message)


@rights_app.command("show")
def rights_show(collection: Collection = "default", as_json: AsJson = False) -> None:
    """Show the rules, and how many documents of each corpus each set of users and groups sees.

    Example: crosscorpus rights show -C team
    """
    from dataflow.cli.console.terminal import open_to_read, print_result
    from operators.postgres.inspect.who_sees import is_open, sets
    from operators.postgres.write.document_classes import rules_of

    with open_to_read(collection) as store:
        seen, opened, rules = sets(store), is_open(store), rules_of(store)
    lines = rules.splitlines()
    for corpus, allowed, documents in seen.iter_rows():
        who = ", ".join(allowed) or "nobody" if allowed is not None else "unmarked"
        if allowed is None:
            who += ": everyone" if opened else ": nobody"
        lines.append(f"{corpus:12} {documents:>8,}  {who}")
    shown = {"rules": rules, "unmarked": "everyone" if opened else "deny", "sets": seen.to_dicts()}
    print_result(as_json, shown, _say, lines)


@rights_app.command("check")
def rights_check(
    user: _User,
    question: Annotated[str, typer.Argument(help="The question.")],
    group: _Groups = None,
    top_k: Annotated[int, typer.Option(min=1, help="How many results.")] = 10,
    config: Config = "default",
    collection: Collection = "default",
    as_json: RankedAsJson = False,
) -> None:
    """Show the results that a user would get.

    Example: crosscorpus rights check ann "who is paid when?" --group hr -C team
    """
    from dataflow import build_driver
    from dataflow.cli.console.terminal import print_result

    with build_driver(config, collection) as driver:
        answer = driver.ask(question, principals=[user, *(group or ())], top_k=top_k)
    lines = [f"{one.rank + 1:>2}  {one.label}" for one in answer] or ["no results"]
    rows = [{"label": one.label, "url": one.url, "score": one.score} for one in answer]
    print_result(as_json, rows, _say, [*lines, *answer.notes])


@rights_app.command("explain")
def rights_explain(
    document: Annotated[str, typer.Argument(help="The path or the id of a document.")],
    user: _User,
    group: _Groups = None,
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """Show whether a user may see a document, and what commits say of its path, and why.

    Example: crosscorpus rights explain payroll/2026.md ann --group hr -C team
    """
    from dataflow.cli.console.terminal import open_to_read, print_result
    from operators.foundation.principals import IMPORTER
    from operators.postgres.inspect.who_sees import reasons
    from operators.postgres.write.document_classes import rules_of
    from operators.sources.rights_rules import read_rights

    names = [user, *(group or ())]
    with open_to_read(collection) as store:
        decisions = reasons(store, names, document)
        rules = read_rights(rules_of(store) or "{}").rules
    lines = []
    for one in decisions:
        if one.allowed is None or one.allowed == [IMPORTER]:
            why = f"nothing says who may, and then {'everyone' if one.opened else 'nobody'} does"
        else:
            grantor = "the rules together allow" if one.about else "its source allows"
            if one.allowed_by and one.allowed_by != "source":
                grantor = f"rule {one.allowed_by} ({rules[int(one.allowed_by) - 1]}) allows"
            why = f"{grantor} {', '.join(one.allowed) or 'nobody'}"
        where = " ".join(filter(None, (one.corpus, one.repo, one.path or one.document_id)))
        where += f" (what it says of {one.about})" if one.about else ""
        of = f" (of {', '.join(names[1:])})" if names[1:] else ""
        lines.append(f"{user}{of} {'sees' if one.sees else 'does not see'} {where}: {why}")
    print_result(as_json, [one._asdict() for one in decisions], _say, lines)


@rights_app.command("token")
def rights_token(
    user: _User,
    group: _Groups = None,
    expires: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], metavar="DAY", help="The day from which it is over."),
    ] = None,
) -> None:
    """Make a token for `crosscorpus serve --tokens FILE`: shown once, and its line of the file.

    The file has only a hash of it. The caller sends it as `authorization: Bearer TOKEN`.

    Example: crosscorpus rights token ann --group hr --expires 2027-01-01 >> tokens.yaml
    """
    from dataflow.service.protection.tokens import new_token, token_line

    token = new_token()
    day = f"{expires:%Y-%m-%d}" if expires else None
    if day and day <= f"{datetime.now(UTC):%Y-%m-%d}":
        raise CrosscorpusError(f"--expires {day} is in the past or today: give a later day")
    typer.echo(token_line(token, [user, *(group or ())], day))
    typer.echo(f"the token of {user}, shown this once: {token}", err=True)


@rights_app.command("wall")
def rights_wall(
    role: Annotated[str, typer.Argument(help="A role of the server that owns nothing.")],
    collection: Collection = "default",
) -> None:
    """Let a database role serve the collection with its callers' rights only.

    On a server of your own: a second wall, by row-level security, behind the first. Ingest as the
    owner, and let `crosscorpus serve` connect as this role (`CROSSCORPUS_DSN`).

    Example: crosscorpus rights wall reader -C team
    """
    from operators.postgres.schema.row_security import enable_row_security
    from operators.postgres.store import open_store

    with open_store(collection=collection) as store:
        store.run(lambda conn: enable_row_security(conn, store.schema, role))
    typer.echo(f"{role} reads {collection} as its callers may, and no document by itself")
