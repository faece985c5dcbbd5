"""Old names of commands and options: one line gives the new name, and nothing runs.

A name that is only unknown would get a list of all commands or the nearest one; whoever wrote a
script against an earlier release is served by the name that took its place.
"""

from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from dataflow.cli.options import WRONG_USAGE

RENAMED_COMMANDS = {
    "changes": "versions diff",
    "lineage": "versions list",
    "models switch": "models migrate",
}
RENAMED_OPTIONS = {"--blind": "--all-corpora", "--moved": "--relocated"}


class CommandGroup(TyperGroup):
    """A group of commands that knows the old names of its commands and of their options."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name, the command and the arguments left, as Click does.

        An old name ends the program with exit code 2.
        """
        name = " ".join([*_group_names(ctx), args[0]])
        if name in RENAMED_COMMANDS:
            _refuse(f"crosscorpus {name}", f"crosscorpus {RENAMED_COMMANDS[name]}")
        resolved: Any = super().resolve_command(ctx, args)
        _, command, _ = resolved
        options = {option for parameter in command.params for option in parameter.opts}
        for given in args[1:]:
            if given == "--":
                break
            if RENAMED_OPTIONS.get(given) in options:
                _refuse(given, RENAMED_OPTIONS[given])
        return resolved


def _group_names(ctx: Any) -> list[str]:
    """The names of the groups that lead to this one; the program's own is none of them."""
    return [] if ctx.parent is None else [*_group_names(ctx.parent), ctx.info_name]


def _refuse(old: str, new: str) -> NoReturn:
    typer.secho(f"crosscorpus: `{old}` is called `{new}` now", fg="red", err=True)
    raise typer.Exit(WRONG_USAGE)
