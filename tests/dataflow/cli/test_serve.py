"""The server as its users start it: a process that agents and apps ask."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import psycopg
import pytest
from ingested import commit, git
from mcp.client import Client
from psycopg import sql

from dataflow.cli.serve import _sign_in
from dataflow.service.warm import SECONDS
from operators.postgres.store import open_store

ASK = {"query": "when is the cache flushed?", "top_k": 3}


def environment(server_dsn: str, home: Path) -> dict[str, str]:
    return {**os.environ, "CROSSCORPUS_DSN": server_dsn, "CROSSCORPUS_HOME": str(home)}


async def found(client: Client) -> set[str]:
    answer = await client.call_tool("search", ASK)
    assert not answer.is_error, answer.content
    return {hit["title"] for hit in answer.structured_content["results"]}


def test_every_line_on_its_pipe_is_answered_and_the_next_one_too(
    server_dsn: str, home: Path, collection: str, tmp_path: Path
) -> None:
    """Also while spans go to the console: they leave the pipe to the protocol."""

    def request(id: object, **params: object) -> str:
        return json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})

    meant = {"protocolVersion": "2025-06-18", "capabilities": {}}
    meant |= {"clientInfo": {"name": "t", "version": "1"}}
    asked = {"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": meant}
    half = {"query": "\ud800"}
    wrong: list[tuple[str | bytes, object]] = [
        ("hello", None),
        ('{"jsonrpc": "2.0", "id": 1', None),
        (request(2, name="search", arguments=half), 2),
        (request("three", name="\ud800", arguments={}), "three"),
        (request("\ud800", name="search", arguments={}), None),
        ("[" * 100_000, None),
        ("[]", None),
        ("5", None),
        ('{"jsonrpc": "2.0", "id": 4, "method": 7}', 4),
        ('{"jsonrpc": "1.0", "id": "five", "method": "ping"}', "five"),
        (b'{"jsonrpc": "2.0", \xff}', None),
        (b"\0", None),
        ("9" * 5_000, None),
    ]
    command = [sys.executable, "-m", "dataflow", "serve", "-C", collection, "--stdio"]
    environ = environment(server_dsn, home) | {"OTEL_TRACES_EXPORTER": "console"}
    spans, pipe = tmp_path / "stderr", subprocess.PIPE
    with (
        spans.open("w") as errors,
        subprocess.Popen(command, env=environ, stdin=pipe, stdout=pipe, stderr=errors) as server,
    ):
        assert server.stdout is not None

        def say(line: str | bytes) -> None:
            server.stdin.write((line if isinstance(line, bytes) else line.encode()) + b"\n")
            server.stdin.flush()

        def told() -> Any:
            return json.loads(server.stdout.readline())

        overdue = threading.Timer(60, server.kill)  # where a line is not answered
        overdue.start()
        say(wrong[0][0])
        assert told()["error"]["code"] == -32700, "before the first message too"
        say(json.dumps(asked))
        assert told()["id"] == "first"
        for line, id in wrong:
            say(line)
            answer = told()
            assert answer["error"]["code"] in (-32700, -32600), line
            assert answer["id"] == id, line
            say("")
            say('{"jsonrpc": "2.0", "id": "next", "method": "ping"}')
            assert told() == {"jsonrpc": "2.0", "id": "next", "result": {}}
        say(request(9, name="versions", arguments={"document": "a\0"}))
        refused = told()["result"]
        assert (refused["isError"], "NUL" in refused["content"][0]["text"]) == (True, True)
        say(request(10, name="search", arguments=ASK))
        hits = told()["result"]["structuredContent"]["results"]
        assert "[code: src/cache.py:1-3 flush_cache]" in {hit["title"] for hit in hits}
        server.stdin.close()
        assert server.wait(30) == 0
        overdue.cancel()
    assert f'"name": "retrieval {collection}"' in spans.read_text()


@pytest.fixture(scope="module")
def running(server_dsn: str, home: Path, collection: str) -> Iterator[tuple[Any, str]]:
    """A server for tests that leave it as it was, and for one that ends it."""
    with served(server_dsn, home, collection) as server:
        yield server


@contextmanager
def served(
    server_dsn: str, home: Path, collection: str, *more: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server that is ready, and its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "dataflow", "serve", "-C", collection, "--port", str(port)]
    with subprocess.Popen(
        [*command, *more], env=environment(server_dsn, home), stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert f"MCP at {address}/mcp" in server.stderr.readline()
            for _ in range(200):
                try:
                    httpx2.get(f"{address}/readyz").raise_for_status()
                    break
                except httpx2.TransportError:
                    time.sleep(0.05)
            yield server, address
        finally:
            server.terminate()


def test_a_caller_that_goes_takes_its_review_along_by_every_door(
    server_dsn: str, collection: str, running: tuple[Any, str]
) -> None:
    """Its searches wait for a lock, as they would for a disk."""
    waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    waits += " AND application_name = 'crosscorpus'"
    arguments = {"diff": "--- a/src/cache.py\n+++ b/src/cache.py\n@@ -3 +3 @@\n-write()\n+sync()\n"}
    call = {"name": "review_context", "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    version = "2026-07-28"
    about = {"protocolVersion": version, "clientCapabilities": {}}
    about["clientInfo"] = {"name": "test", "version": "1"}
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in about.items()}
    newest = {"mcp-protocol-version": version, "mcp-method": "tools/call"}
    doors: list[tuple[str, dict[str, str], dict[str, Any]]] = [
        ("/api/review_context", {}, arguments),
        ("/mcp", {}, message),
        (
            "/mcp",
            newest | {"mcp-name": "review_context"},
            message | {"params": call | {"_meta": meta}},
        ),
    ]
    with open_store(server_dsn, collection) as store:
        table = sql.Identifier(store.schema, "chunks")
    _, address = running
    with (
        psycopg.connect(server_dsn) as locker,
        psycopg.connect(server_dsn, autocommit=True) as watcher,
    ):

        def until(wanted: bool) -> bool:
            end = time.monotonic() + (20 if wanted else 3)  # under the deadline of searches
            while (seen := watcher.execute(waits).fetchone() != (0,)) is not wanted:
                if time.monotonic() > end:
                    break
                time.sleep(0.05)
            return seen is wanted

        for path, headers, body in doors:
            locker.rollback()
            time.sleep(SECONDS)  # what the server looks at for all callers is not cancelled
            httpx2.post(f"{address}/api/status", json={}).raise_for_status()
            locker.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(table))
            url = httpx2.URL(address)
            with httpx2.Client(headers={"accept": "application/json, text/event-stream"}) as client:
                asked = client.build_request("POST", f"{address}{path}", json=body, headers=headers)
            lines = [f"POST {path} HTTP/1.1", *(f"{k}: {v}" for k, v in asked.headers.items())]
            with socket.create_connection((url.host, url.port or 80)) as caller:
                caller.sendall("\r\n".join([*lines, "", ""]).encode() + asked.content)
                assert until(True), path
            assert until(False), (path, headers)


def test_apps_and_agents_ask_one_server_until_it_is_told_to_end(
    running: tuple[Any, str],
) -> None:
    """No request to MCP keeps its connection for ever; a page of another port can not ask."""
    server, address = running
    answer = httpx2.post(f"{address}/api/search", json=ASK, timeout=60).json()
    titles = {hit["title"] for hit in answer["results"]}

    async def ask() -> set[str]:
        async with Client(f"{address}/mcp") as client:
            return await found(client)

    assert anyio.run(ask) == titles
    for accept in ("text/event-stream", "application/json, text/event-stream", "*/*"):
        for method in ("GET", "DELETE", "HEAD", "OPTIONS", "PUT"):
            headers = {"accept": accept, "mcp-session-id": "a"}
            kept = httpx2.request(method, f"{address}/mcp", headers=headers, timeout=10)
            assert kept.status_code == 405, method
    others = ("http://127.0.0.1:9", "http://localhost:9", "https://127.0.0.1")
    for origin, code in (*((other, 403) for other in others), (address, 200)):
        asked = httpx2.post(f"{address}/api/status", json={}, headers={"origin": origin})
        assert asked.status_code == code
    server.send_signal(signal.SIGTERM)
    assert server.wait(30) in (0, 143)
    assert "Traceback" not in server.stderr.read()


def test_a_running_server_answers_the_command_in_the_same_words(
    server_dsn: str, home: Path, collection: str, crosscorpus: Any, tmp_path: Path
) -> None:
    page = str(tmp_path / "why.html")
    questions: list[tuple[str, ...]] = [
        ("when is the cache flushed?", "--context"),
        ("flush", "--repo", "APP", "--trigger", "pr_review=0.7,question=0.3"),
        ("flush", "--languages", "python=1.1", "--explain", page, "--explain-chunk", "README.md"),
        ("flush", "--corpus", "cod"),
        ("flush", "--as-of", "2020-01-01", "--version", "3"),
    ]

    def answers() -> list[tuple[int, str, str]]:
        asked = [crosscorpus("query", *question, "-C", collection) for question in questions]
        seconds = r"(?m)^\d+\.\d\d s$|\"(timings|ms)\": (\{[^}]*\}|[0-9.]+)"
        return [(one.returncode, re.sub(seconds, "", one.stdout), one.stderr) for one in asked]

    alone = answers()
    with served(server_dsn, home, collection) as (server, address):
        timed = crosscorpus("query", "flush", "--timings", "-C", collection)
        assert f"by the running server, process {server.pid}" in timed.stdout
        assert answers() == alone
        by_tcp = httpx2.post(f"{address}/local/query", json={"config": "default"}, timeout=60)
        assert by_tcp.status_code == 404, "what it takes may name code to load"
        another = crosscorpus("query", "flush", "--timings", "-C", collection, "-c", "rrf")
        assert "running server" not in another.stdout, "it has another configuration"
        other = crosscorpus("serve", "--stop", "-C", "other").stderr
        said = " ".join(word for word in other.split() if word.isprintable() and word not in "│╭╮")
        assert f"one of {collection} does: serve --stop -C {collection}" in said
        stopped = crosscorpus("serve", "--stop", "-C", collection)
        assert (stopped.returncode, stopped.stdout) == (
            0,
            f"the server of {collection} is stopped\n",
        )
        assert server.wait(30) in (0, 143)
    assert Path(page).read_text().startswith("<!doctype html>")
    assert "running server" not in crosscorpus("query", "x", "--timings", "-C", collection).stdout
    assert "no server of cli runs here" in crosscorpus("serve", "--stop", "-C", "cli").stderr


def test_what_changed_is_read_before_the_answer_and_no_module_of_a_commit_runs(
    server_dsn: str,
    home: Path,
    crosscorpus: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree, ran = tmp_path / "tree", tmp_path / "ran"

    def write(changed: dict[str, str]) -> None:
        for name, text in changed.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text)

    def asked(address: str, **of: Any) -> Any:
        answer = httpx2.post(f"{address}/api/search", json={"top_k": 9, **of}, timeout=60).json()
        sources = [(one["commit"], one["since"]) for one in answer["sources"]]
        return answer["results"], sources

    def told(address: str) -> tuple[set[str], list[tuple[str, str | None]]]:
        results, sources = asked(address, query="zebra quagga okapi", corpora=["docs"])
        return {hit["snippet"] for hit in results}, sources

    write({"kept/a.md": "# A\n\nA zebra.\n", "left/b.md": "# B\n\nA quagga.\n"})
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "First"]):
        git(tree, *command)
    with monkeypatch.context() as there:
        there.chdir(tree)  # where it is read again
        read = crosscorpus("ingest", "git", ".", "--exclude", "left", "-C", "fresh")
    assert read.returncode == 0, read.stderr
    head = git(tree, "rev-parse", "HEAD")
    write({"kept/a.md": "# A\n\nAn okapi.\n"})
    with served(server_dsn, home, "fresh", "--refresh") as (_, address):
        assert told(address) == ({"# A\nAn okapi."}, [(head, None)])
        write({"kept/a.md": "# A\n\nA zebra again.\n", "left/b.md": "# B\n\nMore.\n"})
        code = f"open({str(ran)!r}, 'w').write('ran')"
        names = ("dataflow/__init__.py", "dataflow/__main__.py", "typer.py", "default")
        write(dict.fromkeys(names, code))
        commit(tree, "Second")
        time.sleep(1.1)
        assert told(address) == ({"# A\nA zebra again."}, [(git(tree, "rev-parse", "HEAD"), None)])
        hits, _ = asked(address, query="open write ran")
        titles = " ".join(hit["title"] for hit in hits)
        assert re.search(r"typer\.py|dataflow/", titles), "it was not read again"
    assert not ran.exists()


def test_a_port_that_is_taken_is_one_line(crosscorpus: Any, collection: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        done = crosscorpus("serve", "-C", collection, "--port", port)
    assert done.returncode == 1
    assert f"can't listen at 127.0.0.1:{port}: Address already in use" in done.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--sign-in-client", "a"], "needs --issuer and --public-url"),
        (["--public-url", "http://search.example.org"], "write https://NAME"),
        (["--public-url", "https://search.example.org/path"], "write https://NAME"),
    ],
    ids=str,
)
def test_options_of_a_sign_in_that_lack_another_are_a_line(
    given: list[str], said: str, crosscorpus: Any
) -> None:
    refused = crosscorpus("serve", *given)
    assert refused.returncode == 2
    assert said in " ".join(refused.stderr.split())


def test_the_secret_of_a_sign_in_comes_from_the_environment_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CROSSCORPUS_SIGN_IN_SECRET", "of the environment\n")
    claims = {"user": "email", "groups": "groups"}
    given = ("client", "https://id.example.org", "https://search.example.org", ["email"], claims)
    sign_in = _sign_in(*given)
    assert sign_in is not None
    assert (sign_in._secret, sign_in._claims) == ("of the environment", claims)
