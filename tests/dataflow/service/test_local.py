"""What a command learns of a server on this machine, over a real socket."""

from __future__ import annotations

import http.client
import socket
import threading
from pathlib import Path

import pytest

from dataflow.service import local
from dataflow.service.local import ask_server, socket_path, stop
from operators.errors import CrosscorpusError, UnknownName


def replying(path: Path, status: str, body: str) -> threading.Thread:
    """A server that lives, and gives one answer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen()

    def reply() -> None:
        with listening:
            for told in (("200 OK", "{}"), (status, body)):
                with listening.accept()[0] as caller, caller.makefile("rb") as asked:
                    asked.readline()
                    headers = http.client.parse_headers(asked)
                    asked.read(int(headers.get("content-length", 0)))  # the body comes by itself
                    head = f"HTTP/1.1 {told[0]}\r\nConnection: close\r\n\r\n"
                    caller.sendall(f"{head}{told[1]}".encode())

    thread = threading.Thread(target=reply)
    thread.start()
    return thread


def test_a_socket_is_of_one_collection_on_one_server(
    crosscorpus_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = socket_path("team")
    assert own.is_relative_to(crosscorpus_home)
    assert socket_path("other") != own
    monkeypatch.setenv("CROSSCORPUS_DSN", "host=elsewhere")
    assert socket_path("team") != own


def test_a_data_directory_that_cannot_be_looked_into_has_no_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CROSSCORPUS_HOME", "/" + "x" * 300)
    assert ask_server("team", "/healthz") is None


def test_where_no_server_runs_the_command_asks_for_itself(crosscorpus_home: Path) -> None:
    assert ask_server("team", "/healthz") is None
    with pytest.raises(CrosscorpusError, match="no server of team runs here"):
        stop("team")
    path = socket_path("team")
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as dead:  # of a server that was killed
        dead.bind(str(path))
    assert ask_server("team", "/healthz") is None


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        ("404 Not Found", '{"detail": "no corpus \'cod\'"}', UnknownName),
        ("422 Unprocessable", '{"detail": "an empty question"}', CrosscorpusError),
        ("503 Unavailable", '{"detail": "the database is away"}', None),
        ("200 OK", "null", None),
        ("200 OK", "not JSON", None),
        ("nonsense", "", None),
    ],
)
def test_a_fault_of_the_question_is_an_error_and_any_other_is_no_answer(
    crosscorpus_home: Path, status: str, body: str, error: type[Exception] | None
) -> None:
    replied = replying(socket_path("team"), status, body)
    if error:
        with pytest.raises(error):
            ask_server("team", "/local/query", {})
    else:
        assert ask_server("team", "/local/query", {}) is None
    replied.join()


def test_a_server_that_stands_still_is_not_waited_for(
    crosscorpus_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "ALIVE_S", 0.2)
    monkeypatch.setattr(local, "ANSWER_S", 0.2)
    path = socket_path("team")
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as stopped:
        stopped.bind(str(path))
        stopped.listen()
        assert ask_server("team", "/local/query", {}) is None
        assert ask_server("team", "/healthz") is None
