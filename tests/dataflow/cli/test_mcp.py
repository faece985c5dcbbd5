"""The server in the clients' own files: what is printed, and that it starts."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from psycopg.conninfo import conninfo_to_dict

from dataflow.service.toolset import TOOLS
from operators.postgres.errors import without_secrets

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


def read(client: str, text: str) -> Any:
    return tomllib.loads(text) if client == "codex" else json.loads(text)


@pytest.mark.parametrize("client", ["vscode", "codex"])
def test_a_client_is_told_the_command_in_the_shape_that_it_documents(
    crosscorpus: Any, client: str, collection: str, home: Path, server_dsn: str
) -> None:
    done = crosscorpus("mcp", "config", client, "-C", collection, "-c", "rrf")
    (servers,) = read(client, done.stdout).values()
    told = servers["crosscorpus"]
    kind = {"type": "stdio"} if client == "vscode" else {}
    args = ["serve", "-C", collection, "-c", "rrf", "--stdio"]
    env = {"CROSSCORPUS_HOME": str(home), "CROSSCORPUS_DSN": without_secrets(server_dsn)}
    assert told == kind | {"command": told["command"], "args": args, "env": env}
    assert f"the collection {collection!r} of the database at" in done.stderr
    assert os.access(told["command"], os.X_OK)
    assert Path(told["command"]).is_absolute()


@pytest.mark.parametrize("client", BY_URL)
def test_a_client_is_told_an_address_in_the_shape_that_it_documents(
    crosscorpus: Any, client: str
) -> None:
    assert read(client, crosscorpus("mcp", "config", client, "--url", URL).stdout) == BY_URL[client]


def test_what_cannot_be_told_is_one_line(crosscorpus: Any) -> None:
    done = crosscorpus("mcp", "config", "claude-desktop", "--url", URL)
    assert (done.returncode, done.stdout) == (1, "")
    assert "leave out --url" in done.stderr
    done = crosscorpus("mcp", "config", "cursr")
    assert done.returncode == 2
    assert "did you mean 'cursor'?" in done.stderr


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)", "http://", "//host/mcp", "http://me:hidden@host/mcp",
        "http://host:70000/", "http://host/\nx", "http://good\\@evil/", "http://[::1/",
    ],
)  # fmt: skip
def test_an_address_that_is_none_of_a_server_is_refused_and_not_repeated(
    crosscorpus: Any, url: str
) -> None:
    done = crosscorpus("mcp", "config", "cursor", "--url", url)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "http://HOST:PORT/mcp" in done.stderr
    assert "hidden" not in done.stderr


def test_a_collection_or_configuration_that_is_not_there_is_refused_with_the_nearest(
    crosscorpus: Any, collection: str
) -> None:
    told = ("mcp", "config", "cursor")
    done = crosscorpus(*told, "-C", f"{collection}x")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"no collection '{collection}x', did you mean '{collection}'?" in done.stderr
    done = crosscorpus(*told, "-C", collection, "-c", "rff")
    assert done.stdout == ""
    assert "did you mean 'rrf'?" in done.stderr
    away = "postgresql://127.0.0.1:1/app"
    done = crosscorpus(*told, "-C", collection, CROSSCORPUS_DSN=away)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "no Postgres answers at 127.0.0.1:1" in done.stderr


def test_a_password_is_not_printed_and_the_rest_of_its_address_is(
    crosscorpus: Any, tcp_server_dsn: str, collection: str
) -> None:
    parts = conninfo_to_dict(tcp_server_dsn)
    done = crosscorpus(
        "mcp", "config", "-C", collection,
        CROSSCORPUS_DSN=tcp_server_dsn, CROSSCORPUS_READ_DSN=tcp_server_dsn,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert str(parts.pop("password")) not in done.stdout + done.stderr
    env = json.loads(done.stdout)["mcpServers"]["crosscorpus"]["env"]
    for name in ("CROSSCORPUS_DSN", "CROSSCORPUS_READ_DSN"):
        assert conninfo_to_dict(env[name]) == parts
        assert f"the password of {name} goes into no file" in done.stderr


def test_what_is_printed_starts_and_lists_its_tools(crosscorpus: Any, collection: str) -> None:
    done = crosscorpus("mcp", "config", "cursor", "-C", collection)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)["mcpServers"]["crosscorpus"]

    async def listed() -> set[str]:
        async with Client(StdioServerParameters(**told)) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    assert {"search", "fetch", "get_context"} <= anyio.run(listed)


def test_the_skill_names_tools_and_commands_that_there_are(crosscorpus: Any) -> None:
    text = crosscorpus("mcp", "skill").stdout
    tools = {tool.__name__ for tool in TOOLS}
    for tool in re.findall(r"\| `(\w+)`", text):
        assert tool in tools
    for command, *rest in map(str.split, re.findall(r"`crosscorpus ([^`]+)`", text)):
        told = crosscorpus(command, "--help").stdout
        assert [one for one in rest if one.startswith("--") and one not in told] == []
    assert text.startswith("---\nname: crosscorpus\ndescription: ")


def test_the_skill_is_written_into_a_project_and_brought_up_to_date_without_loss(
    crosscorpus: Any, tmp_path: Path
) -> None:
    shared = tmp_path / "AGENTS.md"
    for before in (None, b"# Ours\n\xff no UTF-8\n"):
        if before is not None:
            shared.write_bytes(before)
        assert crosscorpus("mcp", "skill", "--into", str(tmp_path)).returncode == 0
        once = shared.read_bytes()
        assert once.startswith(before or b"<!-- crosscorpus -->\n")
        assert b"`get_context`" in once
        assert b"name: crosscorpus" not in once
        shared.write_bytes(once.replace(b"`get_context`", b"`old`") + b"More of ours.\n")
        assert crosscorpus("mcp", "skill", "--into", str(tmp_path)).returncode == 0
        assert shared.read_bytes() == once + b"More of ours.\n"
    skill = (tmp_path / ".claude/skills/crosscorpus/SKILL.md").read_text("utf-8")
    assert skill == crosscorpus("mcp", "skill").stdout
    refused = crosscorpus("mcp", "skill", "--into", str(shared))
    assert (refused.returncode, "is no folder" in refused.stderr) == (1, True)
