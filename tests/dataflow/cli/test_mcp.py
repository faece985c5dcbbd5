"""The server in the clients' own files: what is printed, what is kept, and that it starts."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from dataflow.cli.mcp import CLIENTS, entry, merged

URL = "http://127.0.0.1:8765/mcp"
BY_URL = {
    "claude-code": {"mcpServers": {"crosscorpus": {"type": "http", "url": URL}}},
    "cursor": {"mcpServers": {"crosscorpus": {"url": URL}}},
    "vscode": {"servers": {"crosscorpus": {"type": "http", "url": URL}}},
    "windsurf": {"mcpServers": {"crosscorpus": {"serverUrl": URL}}},
    "zed": {"context_servers": {"crosscorpus": {"url": URL}}},
    "codex": {"mcp_servers": {"crosscorpus": {"url": URL}}},
}
"""What each client's documentation shows; claude-desktop's file takes no address."""
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
PLAIN = PLAIN.filter(lambda one: one not in (float("inf"), float("-inf")))
VALUES = st.recursive(PLAIN, lambda of: st.lists(of) | st.dictionaries(st.text(), of))
SERVERS = st.dictionaries(st.text(), VALUES)


def read(client: str, text: str | bytes) -> Any:
    text = text if isinstance(text, str) else text.decode()
    return tomllib.loads(text) if client == "codex" else json.loads(text)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_is_told_the_command_in_the_shape_that_it_documents(
    crosscorpus: Any, client: str
) -> None:
    done = crosscorpus("mcp", "install", client, "-C", "team", "-c", "rrf")
    (servers,) = read(client, done.stdout).values()
    told = servers["crosscorpus"]
    kind = {"type": "stdio"} if client in ("claude-code", "vscode") else {}
    args = ["serve", "-C", "team", "-c", "rrf", "--stdio"]
    assert told == kind | {"command": told["command"], "args": args}
    assert os.access(told["command"], os.X_OK)
    assert Path(told["command"]).is_absolute()


@pytest.mark.parametrize("client", BY_URL)
def test_a_client_is_told_an_address_in_the_shape_that_it_documents(
    crosscorpus: Any, client: str
) -> None:
    assert (
        read(client, crosscorpus("mcp", "install", client, "--url", URL).stdout) == BY_URL[client]
    )


def test_what_cannot_be_told_is_one_line(crosscorpus: Any) -> None:
    done = crosscorpus("mcp", "install", "claude-desktop", "--url", URL)
    assert (done.returncode, done.stdout) == (1, "")
    assert "leave out --url" in done.stderr
    done = crosscorpus("mcp", "install", "cursr")
    assert done.returncode == 2
    assert "did you mean 'cursor'?" in done.stderr


@given(st.dictionaries(st.text(), VALUES), SERVERS, st.sampled_from([*CLIENTS]))
def test_a_merge_keeps_all_that_was_there(
    rest: dict[str, Any], servers: dict[str, Any], name: str
) -> None:
    client = CLIENTS["cursor" if name == "codex" else name]
    held = {**rest, client.servers: servers}
    new = entry(client, "team", "default", None)
    once = merged(client, json.dumps(held).encode(), new)
    kept = json.loads(once)
    assert kept == {**held, client.servers: {**servers, "crosscorpus": new}}
    assert [*kept] == [*held]
    assert merged(client, once, new) == once


def test_toml_is_added_to_and_its_comments_stay() -> None:
    old = b'# mine\nmodel = "x"\n[mcp_servers.other]\ncommand = "y"'
    new = entry(CLIENTS["codex"], 'te"am', "default", None)
    whole = merged(CLIENTS["codex"], old, new)
    assert whole.startswith(old)
    servers = {"other": {"command": "y"}, "crosscorpus": new}
    assert tomllib.loads(whole.decode()) == {"model": "x", "mcp_servers": servers}
    with pytest.raises(ValueError, match="crosscorpus"):
        merged(CLIENTS["codex"], whole, new)


@pytest.mark.parametrize(
    ("client", "broken"),
    [
        ("zed", b'{"theme": "One", // mine\n}'),
        ("zed", b'{"context_servers": {},}'),
        ("zed", b"[]"),
        ("zed", b'{"context_servers": []}'),
        ("zed", b"[" * 200_000),
        ("zed", b'{"size": 1e999}'),
        ("zed", b'{"name": "\\ud800"}'),
        ("zed", b"\xff\xfe\xfa"),
        ("codex", b"model = "),
        ("codex", b"mcp_servers = {}"),
        ("codex", b"\xff"),
    ],
)
def test_a_file_that_cannot_be_read_whole_stays_as_it_is(
    crosscorpus: Any, tmp_path: Path, client: str, broken: bytes
) -> None:
    file = tmp_path / CLIENTS[client].file.removeprefix("~/")
    file.parent.mkdir(parents=True)
    file.write_bytes(broken)
    done = crosscorpus("mcp", "install", client, "--write", HOME=str(tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert f"{file} stays as it is" in done.stderr
    assert read(client, done.stdout)[CLIENTS[client].servers]["crosscorpus"]["args"]
    assert file.read_bytes() == broken
    assert [*file.parent.iterdir()] == [file]


def test_nothing_is_written_unless_asked(crosscorpus: Any, tmp_path: Path) -> None:
    assert crosscorpus("mcp", "install", "cursor", HOME=str(tmp_path)).returncode == 0
    assert [*tmp_path.iterdir()] == []


def test_a_file_keeps_its_mode_its_link_and_its_old_content(
    crosscorpus: Any, tmp_path: Path
) -> None:
    real, file = tmp_path / "dotfiles.json", tmp_path / ".cursor/mcp.json"
    real.write_text('{"mcpServers": {"other": {"url": "x"}}}')
    real.chmod(0o640)
    file.parent.mkdir()
    file.symlink_to(real)
    old = real.read_text()
    assert crosscorpus("mcp", "install", "cursor", "--write", HOME=str(tmp_path)).returncode == 0
    assert file.is_symlink()
    assert set(json.loads(real.read_text())["mcpServers"]) == {"other", "crosscorpus"}
    assert real.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "dotfiles.json.bak").read_text() == old
    assert len([*tmp_path.iterdir()]) == 3


def test_what_is_written_starts_and_lists_its_tools(
    crosscorpus: Any, tmp_path: Path, server_dsn: str, home: Path, collection: str
) -> None:
    done = crosscorpus("mcp", "install", "cursor", "-C", collection, "--write", HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / ".cursor/mcp.json").read_text())["mcpServers"]["crosscorpus"]
    env = {"CROSSCORPUS_DSN": server_dsn, "CROSSCORPUS_HOME": str(home)}

    async def listed() -> set[str]:
        async with Client(StdioServerParameters(**told, env=env)) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    assert {"search", "fetch", "get_context"} <= anyio.run(listed)
