"""Commands for configuration files."""

from typing import Annotated

import typer

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
