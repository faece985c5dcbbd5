"""Commands for configuration files."""

from pathlib import Path
from typing import Annotated

import typer

from dataflow.cli.options import FAILED, AsJson

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


@config_app.command("upgrade")
def config_upgrade(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Configuration files.")],
    check: Annotated[
        bool,
        typer.Option("--check", help="Only tell what would change (exit code 1: something)."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Rewrite the names in configuration files that are called otherwise now.

    Comments, order and layout stay. A file that is refused leaves all files as they are.

    Example: crosscorpus config upgrade team.yaml experiments/*.yaml
    """
    from dataflow.cli.console.terminal import print_json
    from dataflow.configuration.upgrade import upgrade

    upgrades = [upgrade(path) for path in files]
    outdated = [one for one in upgrades if one.renamings]
    if not check:
        for one in outdated:
            one.write()
    if as_json:
        print_json(
            [
                {
                    "file": str(one.path),
                    "written": bool(one.renamings) and not check,
                    "renamed": [
                        {"line": renaming.line, "old": renaming.old, "new": renaming.new}
                        for renaming in one.renamings
                    ],
                }
                for one in upgrades
            ]
        )
    else:
        for one in upgrades:
            for renaming in one.renamings:
                typer.echo(f"{one.path} line {renaming.line}: {renaming.old} -> {renaming.new}")
            if not one.renamings:
                typer.echo(f"{one.path}: nothing to rename")
    if check and outdated:
        raise typer.Exit(FAILED)
