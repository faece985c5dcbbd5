"""The commands that print what an agent's own files must say of the server."""

import json
import os
import re
import sysconfig
from collections.abc import Mapping
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit

import platformdirs
import typer

from dataflow.cli.options import Collection, Config, written
from operators.errors import CrosscorpusError, check_known
from operators.foundation.data_dir import data_home
from operators.foundation.extras import installing

mcp_app = typer.Typer(no_args_is_help=True, help="The server in agents' own configurations.")


class Client(NamedTuple):
    """A file, its key for servers, that of a server's URL, and whether a server says its type."""

    file: str
    servers: str
    url: str | None
    typed: bool


_DESKTOP = platformdirs.user_config_path("Claude", appauthor=False, roaming=True)
CLIENTS = {
    "claude-code": Client(".mcp.json", "mcpServers", "url", True),
    "claude-desktop": Client(f"{_DESKTOP}/claude_desktop_config.json", "mcpServers", None, False),
    "cursor": Client("~/.cursor/mcp.json", "mcpServers", "url", False),
    "vscode": Client(".vscode/mcp.json", "servers", "url", True),
    "windsurf": Client("~/.codeium/windsurf/mcp_config.json", "mcpServers", "serverUrl", False),
    "zed": Client("~/.config/zed/settings.json", "context_servers", "url", False),
    "codex": Client("~/.codex/config.toml", "mcp_servers", "url", False),
}
_BEGIN, _END = b"<!-- crosscorpus -->\n", b"<!-- /crosscorpus -->\n"  # of our part of AGENTS.md
_HOST = r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9._-]*)(:[0-9]+)?"
_DSNS = ("CROSSCORPUS_DSN", "CROSSCORPUS_READ_DSN")


def entry(
    client: Client, collection: str, config: str, url: str | None, env: Mapping[str, str]
) -> dict[str, Any]:
    """The server's entry for ``client``: its ``url``, or the command that starts it.

    Args:
        env: variables of that command.

    Raises:
        CrosscorpusError: the client takes no address, ``url`` is none of a server, or a path is
            not UTF-8.
    """
    if url is not None:
        if not client.url:
            raise CrosscorpusError(f"{client.file} takes no server by its address: leave out --url")
        settings: dict[str, Any] = {client.url: _checked_url(url)}
    else:
        # these take longer to load than the rest
        from dataflow.configuration.loader import from_anywhere
        from operators.foundation.sanitize import clean_text

        config = from_anywhere(config)
        args = ["serve", "-C", collection, *(["-c", config] * (config != "default")), "--stdio"]
        command = f"{sysconfig.get_path('scripts')}{os.sep}crosscorpus"
        settings = {"command": command, "args": args} | ({"env": {**env}} if env else {})
        for text in (command, *args, *env.values()):
            if clean_text(text) != text:
                raise CrosscorpusError(f"{text!r} is not UTF-8, as settings must be: rename it")
    return {"type": "stdio" if url is None else "http", **settings} if client.typed else settings


def _checked_url(url: str) -> str:
    """``url`` of http or https with a host, and without a user: that goes with a password.

    The error does not repeat it.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    plain = url.isascii() and url.isprintable() and not re.search(r'[\s\\"<>]', url)
    if not plain or parts.scheme not in ("http", "https") or not re.fullmatch(_HOST, parts.netloc):
        raise CrosscorpusError(
            "--url takes the address of a server, as http://HOST:PORT/mcp, without a user"
        )
    return url


def shell_settings() -> tuple[dict[str, str], list[str]]:
    """The variables of this shell that say where the data is, and notes on what they leave out.

    No password goes into a file: a server's address is written without it.
    """
    env, notes = dict[str, str](), list[str]()
    if os.environ.get("CROSSCORPUS_HOME", "").strip():
        env["CROSSCORPUS_HOME"] = str(data_home())
    for name in _DSNS:
        if dsn := os.environ.get(name, "").strip():
            from operators.postgres.errors import explained, without_secrets

            with explained(dsn):
                env[name] = without_secrets(dsn)
            if env[name] != dsn:
                notes.append(
                    f"the password of {name} goes into no file: keep it in ~/.pgpass, "
                    "or set the variable where the client starts"
                )
    return env, notes


def as_text(client: Client, server: dict[str, Any]) -> str:
    """The entry ``server`` as the client's file has it: TOML or JSON."""
    if client.file.endswith(".toml"):
        table = "\n".join(f"{name} = {_toml(value)}" for name, value in server.items())
        return f"[{client.servers}.crosscorpus]\n{table}\n"
    whole = {client.servers: {"crosscorpus": server}}
    return json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _toml(value: str | list[str] | dict[str, str]) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name} = {_toml(of)}' for name, of in value.items())}}}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


@mcp_app.command("config")
def config_(
    client: Annotated[str, typer.Argument(help=", ".join(CLIENTS))] = "claude-code",
    collection: Collection = "default",
    config: Config = "default",
    url: Annotated[
        str | None, typer.Option(help="Address of a running server; else stdio.")
    ] = None,
) -> None:
    """Print what a client's file must say of this server, and which file it is.

    Without --url the collection must be there. CROSSCORPUS_HOME and the servers' addresses of this
    shell are printed too, without a password.

    Example: crosscorpus mcp config cursor -C team
    """
    check_known("client", client, CLIENTS)
    of = CLIENTS[client]
    env, notes = shell_settings() if url is None else ({}, [])
    new = entry(of, collection, config, url, env)
    serves = f"the server at {url}" if url is not None else _served_collection(collection, config)
    typer.echo(as_text(of, new), nl=False)
    if url is None and find_spec("mcp") is None:
        notes = [
            *notes,
            f"the server that this starts needs the extra serve: {installing('serve')}",
        ]
    for note in notes:
        typer.echo(note, err=True)
    typer.echo(f"{serves}; write these lines into {of.file}", err=True)


def _served_collection(collection: str, config: str) -> str:
    """Which collection a server of this configuration will serve.

    Raises:
        CrosscorpusError: the configuration or the collection is not there, or no server answers.
    """
    from dataflow import load_config
    from operators.postgres.connection import resolve_dsn
    from operators.postgres.errors import target
    from operators.postgres.store import open_store

    load_config(config)
    with open_store(resolve_dsn(reading=True), collection, max_size=1) as store:
        return f"the collection {collection!r} of the database at {target(store.dsn)}"


@mcp_app.command()
def skill(
    into: Annotated[
        Path | None,
        written(metavar="DIR", help="Write it there: for Claude Code, and a part of AGENTS.md."),
    ] = None,
) -> None:
    """Print what an agent must know to ask well: a skill, or a part of its instructions.

    Claude Code reads .claude/skills/crosscorpus/SKILL.md, other clients AGENTS.md. --into writes
    both for a project; a second time it brings its own part up to date and leaves the rest.

    Example: crosscorpus mcp skill --into ~/src/app
    """
    text = (files(__package__) / "skill.md").read_bytes()
    if into is None:
        typer.echo(text.decode(), nl=False)
        return
    if not into.is_dir():
        raise CrosscorpusError(f"{into} is no folder: name that of the project")
    own, shared = into / ".claude/skills/crosscorpus/SKILL.md", into / "AGENTS.md"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_bytes(text)
    part = _BEGIN + text.split(b"---\n", 2)[2] + _END
    before, found, after = (shared.read_bytes() if shared.exists() else b"").partition(_BEGIN)
    rest = after.partition(_END)[2] if found else b""
    shared.write_bytes(before + (b"" if found or not before else b"\n") + part + rest)
    typer.echo(f"wrote {own} and a part of {shared}")
