"""The server in the clients' own files: what is printed, what is kept, and that it starts."""

from __future__ import annotations

import json
import os
import socket
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from psycopg.conninfo import conninfo_to_dict

from dataflow.cli.mcp import CLIENTS, entry, merged
from operators.postgres.errors import without_secrets

ENV = {"CROSSCORPUS_HOME": '/data/"\x7f\U0001f9ed'}
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
VALUES = st.recursive(PLAIN, lambda of: st.lists(of) | st.dictionaries(st.text(), of), max_leaves=9)
SERVERS = st.dictionaries(st.text(), VALUES)


def read(client: str, text: str | bytes) -> Any:
    text = text if isinstance(text, str) else text.decode()
    return tomllib.loads(text) if client == "codex" else json.loads(text)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_is_told_the_command_in_the_shape_that_it_documents(
    crosscorpus: Any, client: str, collection: str, home: Path, server_dsn: str
) -> None:
    done = crosscorpus("mcp", "install", client, "-C", collection, "-c", "rrf")
    (servers,) = read(client, done.stdout).values()
    told = servers["crosscorpus"]
    kind = {"type": "stdio"} if client in ("claude-code", "vscode") else {}
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
    new = entry(client, "team", "default", None, ENV)
    once = merged(client, json.dumps(held).encode(), new)
    kept = json.loads(once)
    assert kept == {**held, client.servers: {**servers, "crosscorpus": new}}
    assert [*kept] == [*held]
    assert merged(client, once, new) == once


def test_toml_is_added_to_and_its_comments_stay() -> None:
    old = b'# mine\nmodel = "x"\n[mcp_servers.other]\ncommand = "y"'
    new = entry(CLIENTS["codex"], 'te"am', "default", None, ENV)
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
        ("zed", b"[]"),
        ("zed", b'{"context_servers": []}'),
        ("zed", b"[" * 200_000),
        ("zed", b'{"size": 1e999}'),
        ("zed", b'{"name": "\\ud800"}'),
        ("zed", '{"theme": "One"}'.encode("utf-16")),
        ("zed", b'{"context_servers": {"a": [{"b": 1, "b": 1}]}}'),
        ("zed", b" " * 10_000_001),
        ("codex", b"model = "),
    ],
)
def test_a_file_that_cannot_be_read_whole_stays_as_it_is(
    crosscorpus: Any, tmp_path: Path, collection: str, client: str, broken: bytes
) -> None:
    file = tmp_path / CLIENTS[client].file.removeprefix("~/")
    file.parent.mkdir(parents=True)
    file.write_bytes(broken)
    told = ("mcp", "install", client, "-C", collection, "--write")
    done = crosscorpus(*told, HOME=str(tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert f"{file} stays as it is" in done.stderr
    assert read(client, done.stdout)[CLIENTS[client].servers]["crosscorpus"]["args"]
    assert file.read_bytes() == broken
    assert [*file.parent.iterdir()] == [file]


def test_nothing_is_written_unless_asked(crosscorpus: Any, tmp_path: Path, collection: str) -> None:
    done = crosscorpus("mcp", "install", "cursor", "-C", collection, HOME=str(tmp_path))
    assert done.returncode == 0
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
    told = ("mcp", "install", "cursor", "--url", URL, "--write")
    assert crosscorpus(*told, HOME=str(tmp_path)).returncode == 0
    assert file.is_symlink()
    assert set(json.loads(real.read_text())["mcpServers"]) == {"other", "crosscorpus"}
    backup = tmp_path / "dotfiles.json.bak"
    assert [one.stat().st_mode & 0o777 for one in (real, backup)] == [0o640, 0o640]
    assert backup.read_text() == old
    assert len([*tmp_path.iterdir()]) == 3


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The present folder: somebody else's checkout."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_a_backup_is_never_overwritten_nor_written_through_a_link(
    crosscorpus: Any, project: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "bashrc"
    outside.write_text("# mine\n")
    (project / ".mcp.json.bak").symlink_to(outside)
    (project / ".mcp.json.bak.1").symlink_to("nowhere")
    (project / ".mcp.json").write_text("{}")
    texts = [b"{}"]
    for port in (1, 2, 2):
        done = crosscorpus("mcp", "install", "--url", f"http://127.0.0.1:{port}/", "--write")
        assert done.returncode == 0, done.stderr
        texts.append((project / ".mcp.json").read_bytes())
    assert outside.read_text() == "# mine\n"
    assert sorted(one.name for one in project.iterdir()) == [
        ".mcp.json", *(f".mcp.json.bak{end}" for end in ("", ".1", ".2", ".3")),
    ]  # fmt: skip
    assert (project / ".mcp.json.bak.2").read_bytes() == texts[0]
    assert (project / ".mcp.json.bak.3").read_bytes() == texts[1]


def _link_outside(file: Path) -> None:
    (file.parents[1] / "outside.json").write_text("{}")
    file.symlink_to(file.parents[1] / "outside.json")


PLACES: dict[str, Callable[[Path], Any]] = {
    "folder": Path.mkdir,
    "pipe": os.mkfifo,
    "socket": lambda file: socket.socket(socket.AF_UNIX).bind(str(file)),
    "loop": lambda file: file.symlink_to(file.name),
    "dangling link": lambda file: file.symlink_to("nowhere/mcp.json"),
    "link to a device": lambda file: file.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("kind", [*PLACES, "link"])
def test_a_projects_file_that_is_none_is_one_line_and_leads_nowhere(
    crosscorpus: Any, project: Path, tmp_path: Path, kind: str
) -> None:
    (PLACES | {"link": _link_outside})[kind](project / ".mcp.json")
    done = crosscorpus("mcp", "install", "--url", URL, "--write")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "stays as it is" in done.stderr
    assert [one.name for one in project.iterdir()] == [".mcp.json"]
    assert {one.name: one.read_text() for one in tmp_path.glob("*.json")} in (
        {}, {"outside.json": "{}"},
    )  # fmt: skip


@pytest.mark.parametrize("there", ["folder", "nothing", "file"])
def test_a_folder_of_a_project_that_is_a_link_is_refused(
    crosscorpus: Any, project: Path, tmp_path: Path, there: str
) -> None:
    outside = tmp_path / "outside"
    if there == "folder":
        outside.mkdir()
    if there == "file":
        (project / ".vscode").write_text("x")
    else:
        (project / ".vscode").symlink_to(outside)
    done = crosscorpus("mcp", "install", "vscode", "--url", URL, "--write")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert ".vscode is " in done.stderr
    assert [*tmp_path.glob("outside/*")] == []


@pytest.mark.parametrize(
    "url",
    [
        "", "javascript:alert(1)", "file:///etc/passwd", "http://", "http:///mcp", "127.0.0.1:8765",
        "//host/mcp", "http://me:hidden@host/mcp", "http://host:port/", "http://host:70000/",
        "http://a b/", "http://host/\nx", "http://good\\@evil/", "http://[::1/", "ftp://host/",
    ],
)  # fmt: skip
def test_an_address_that_is_none_of_a_server_is_refused_and_not_repeated(
    crosscorpus: Any, url: str
) -> None:
    done = crosscorpus("mcp", "install", "cursor", "--url", url)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "http://HOST:PORT/mcp" in done.stderr
    assert "hidden" not in done.stderr


def test_a_collection_or_configuration_that_is_not_there_is_refused_with_the_nearest(
    crosscorpus: Any, tmp_path: Path, collection: str
) -> None:
    told = ("mcp", "install", "cursor", "--write")
    done = crosscorpus(*told, "-C", f"{collection}x", HOME=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"no collection '{collection}x', did you mean '{collection}'?" in done.stderr
    done = crosscorpus(*told, "-C", collection, "-c", "rff", HOME=str(tmp_path))
    assert done.stdout == ""
    assert "did you mean 'rrf'?" in done.stderr
    away = "postgresql://127.0.0.1:1/app"
    done = crosscorpus(*told, "-C", collection, HOME=str(tmp_path), CROSSCORPUS_DSN=away)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "no Postgres answers at 127.0.0.1:1" in done.stderr
    assert [*tmp_path.iterdir()] == []


def test_a_password_goes_into_no_file_and_the_rest_of_its_address_does(
    crosscorpus: Any, project: Path, tcp_server_dsn: str, collection: str
) -> None:
    parts = conninfo_to_dict(tcp_server_dsn)
    done = crosscorpus(
        "mcp", "install", "-C", collection, "--write",
        CROSSCORPUS_DSN=tcp_server_dsn, CROSSCORPUS_READ_DSN=tcp_server_dsn,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    written = (project / ".mcp.json").read_text()
    assert str(parts.pop("password")) not in written + done.stdout + done.stderr
    env = json.loads(written)["mcpServers"]["crosscorpus"]["env"]
    for name in ("CROSSCORPUS_DSN", "CROSSCORPUS_READ_DSN"):
        assert conninfo_to_dict(env[name]) == parts
        assert f"the password of {name} goes into no file" in done.stderr


def test_what_is_written_starts_and_lists_its_tools(
    crosscorpus: Any, tmp_path: Path, collection: str
) -> None:
    done = crosscorpus("mcp", "install", "cursor", "-C", collection, "--write", HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / ".cursor/mcp.json").read_text())["mcpServers"]["crosscorpus"]

    async def listed() -> set[str]:
        async with Client(StdioServerParameters(**told)) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    assert {"search", "fetch", "get_context"} <= anyio.run(listed)
