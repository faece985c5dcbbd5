"""A server on this machine: what a command learns of it, how it follows its configuration."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextvars import copy_context
from pathlib import Path

import pytest

from dataflow.service import local, tools, warm
from dataflow.service.local import ask_server, socket_path, stop
from dataflow.service.tools import Service
from dataflow.service.warm import Warm
from operators.errors import CrosscorpusError, UnknownName
from operators.foundation.cancellation import Cancelled, Switch, waiting


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
        ("200 OK", "not JSON", None),
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


QUESTION = "flush the cache attempt"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(warm, "SECONDS", 0.05)
    written = tmp_path / "team.yaml"
    write(written, 7)
    return written


def write(file: Path, hundreds: int) -> None:
    model = "extends: default\nembedding: python:word_embedder:WordEmbedder\n"
    file.write_text(f"{model}parameters:\n  context_budget: {hundreds * 100}\n")


@pytest.fixture
def use(service: Service, file: Path) -> Iterator[Warm]:
    held = Warm(service.store, str(file))
    yield held
    held.close()


def budget(use: Warm) -> int:
    with use() as service:
        assert tools.get_context(service, QUESTION).text
        return int(service.driver.config.parameters["context_budget"])


def until(use: Warm, wanted: int) -> None:
    end = time.monotonic() + 20
    while budget(use) != wanted and time.monotonic() < end:
        time.sleep(0.02)
    assert budget(use) == wanted


def test_a_changed_configuration_counts_and_no_question_fails(use: Warm, file: Path) -> None:
    errors, over = list[Exception](), threading.Event()

    def ask() -> None:
        while not over.is_set():
            try:
                budget(use)
            except Exception as error:
                errors.append(error)

    askers = [threading.Thread(target=ask) for _ in range(3)]
    for one in askers:
        one.start()
    try:
        for hundreds in (8, 9, 10):
            write(file, hundreds)
            until(use, hundreds * 100)
    finally:
        over.set()
        for one in askers:
            one.join()
    assert errors == []


def test_a_driver_that_was_replaced_is_closed_after_its_last_question(
    use: Warm, file: Path
) -> None:
    with use() as old:
        write(file, 8)
        until(use, 800)
        assert old.driver.ask(QUESTION).passages
    with pytest.raises(Exception, match="closed"):
        old.driver.ask(QUESTION)


def test_a_configuration_that_does_not_load_changes_nothing_and_is_told_once(
    use: Warm, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text("extends: default\nparametres: {}\n")
    end = time.monotonic() + 1
    while time.monotonic() < end:
        assert budget(use) == 700
        time.sleep(0.02)
    told = capsys.readouterr().err
    assert told.count("the driver stays as it was") == 1
    assert "parametres" in told
    write(file, 9)
    until(use, 900)


def test_a_caller_that_goes_does_not_stop_the_driver_that_others_need(
    use: Warm, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = Switch()
    gone.throw()
    write(file, 8)
    time.sleep(0.1)

    def ask() -> None:
        waiting.set(gone)
        with use() as service, pytest.raises(Cancelled):
            service.driver.ask(QUESTION)

    copy_context().run(ask)
    assert budget(use) == 800
    assert "stays as it was" not in capsys.readouterr().err
