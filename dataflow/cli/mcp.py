"""The command that tells an MCP client of the server, in the client's own file."""

import json
import os
import shutil
import sysconfig
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Annotated, Any, NamedTuple

import platformdirs
import typer

from dataflow.cli.options import Collection, Config
from operators.errors import CrosscorpusError, check_known

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


def entry(client: Client, collection: str, config: str, url: str | None) -> dict[str, Any]:
    """What ``client`` is told of the server: its ``url``, or the command that starts it."""
    if url and not client.url:
        raise CrosscorpusError(f"{client.file} takes no server by its address: leave out --url")
    config = str(Path(config).resolve()) if Path(config).is_file() else config
    args = ["serve", "-C", collection, *(["-c", config] * (config != "default")), "--stdio"]
    command = f"{sysconfig.get_path('scripts')}{os.sep}crosscorpus"
    said = {str(client.url): url} if url else {"command": command, "args": args}
    return {"type": "http" if url else "stdio", **said} if client.typed else said


def merged(client: Client, old: bytes, new: dict[str, Any]) -> bytes:
    """``old`` with the server in it, all else as it was; `ValueError`: it is broken."""
    if client.file.endswith(".toml"):
        # only added to, so that comments stay; a second one is a ValueError
        table = "\n".join(f"{name} = {json.dumps(value)}" for name, value in new.items())
        text = f"{old.decode()}\n[{client.servers}.crosscorpus]\n{table}\n".lstrip()
        import tomllib

        tomllib.loads(text)
        return text.encode()
    held = json.loads(old or b"{}")
    if not isinstance(held, dict) or not isinstance(held.setdefault(client.servers, {}), dict):
        raise ValueError("it has no object of servers")
    held[client.servers]["crosscorpus"] = new
    return json.dumps(held, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n"


@mcp_app.command()
def install(
    client: Annotated[str, typer.Argument(help=", ".join(CLIENTS))] = "claude-code",
    collection: Collection = "default",
    config: Config = "default",
    url: Annotated[str | None, typer.Option(help="Of a server that runs; else by stdio.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Put it into its file.")] = False,
) -> None:
    """Print what tells an MCP client of this server; write it into its file where asked.

    All else in the file stays; the file as it was is beside it, as NAME.bak.

    Example: crosscorpus mcp install cursor -C team --write
    """
    check_known("client", client, CLIENTS)
    of = CLIENTS[client]
    file, new = Path(of.file).expanduser().resolve(), entry(of, collection, config, url)
    typer.echo(merged(of, b"", new).decode(), nl=False)
    if not write:
        typer.echo(f"--write puts it into {file}", err=True)
        return
    try:
        whole = merged(of, file.read_bytes() if file.exists() else b"", new)
    except (ValueError, RecursionError) as error:
        said = f"{file} stays as it is ({error}): write the lines above into it by hand"
        raise CrosscorpusError(said) from None
    file.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=file.parent, delete=False) as made:
        made.write(whole)
    if file.exists():
        shutil.copymode(file, made.name)
        shutil.copy2(file, f"{file}.bak")
    os.replace(made.name, file)
