"""The local socket of a running server of a collection, and requests of the command to it.

The socket is in the data directory, and only its owner may use it. Nothing here loads the engine: a
query through the socket must cost little more than a process.
"""

import hashlib
import json
import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

from operators.errors import CrosscorpusError, UnknownName
from operators.foundation.data_dir import data_home

ALIVE_S = 2.0
ANSWER_S = 35.0
"""Longer than the default timeout of a query; then the command answers itself."""


def socket_path(collection: str) -> Path:
    """The socket of a server of ``collection`` on the server that the environment names."""
    named = [os.environ.get(name, "") for name in ("CROSSCORPUS_DSN", "CROSSCORPUS_READ_DSN")]
    key = hashlib.sha256(os.fsencode("\0".join([collection, *named]))).hexdigest()[:16]
    return data_home() / "serving" / f"{key}.sock"


def ask_server(collection: str, path: str, asked: Any = None) -> dict[str, Any] | None:
    """The answer of the running server of ``collection``; None: none runs, or it did not answer.

    Args:
        path: of the request; without ``asked``, a GET.
        asked: the body to send, as JSON.

    Raises:
        CrosscorpusError: the server's error, in one line.
    """
    if not os.path.exists(address := str(socket_path(collection))):
        return None
    if asked is not None and _exchange(address, "/healthz", None, ALIVE_S) is None:
        return None  # don't wait for a server that hangs
    answer = _exchange(address, path, asked, ANSWER_S)
    if answer is None:
        return None
    status, content = answer
    if status in (404, 422) and "detail" in content:
        kind = UnknownName if status == 404 else CrosscorpusError
        raise kind(content["detail"])
    return content if status == 200 else None


def _exchange(address: str, path: str, data: Any, seconds: float) -> tuple[int, Any] | None:
    """The status and the JSON of an answer; None: there is none within ``seconds``."""
    import http.client  # costs a tenth of a command's start

    connection = http.client.HTTPConnection("localhost")
    try:
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(seconds)
        connection.sock.connect(address)
        body = None if data is None else json.dumps(data)
        headers = {"content-type": "application/json"}
        connection.request("GET" if body is None else "POST", path, body, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()


def running() -> list[str]:
    """The collections of the servers that run here."""
    sockets = sorted((data_home() / "serving").glob("*.sock"))
    answers = [_exchange(str(one), "/api/status", {}, ALIVE_S) for one in sockets]
    return [answer[1]["collection"] for answer in answers if answer and answer[0] == 200]


def stop(collection: str) -> None:
    """End the running server of ``collection``, when it has finished its answers.

    Raises:
        CrosscorpusError: none runs.
    """
    health = ask_server(collection, "/healthz")
    if health is None:
        others = "".join(f"; one of {name} does: serve --stop -C {name}" for name in running())
        raise CrosscorpusError(f"no server of {collection} runs here{others}")
    os.kill(health["pid"], signal.SIGTERM)
    import psutil

    while socket_path(collection).exists() and psutil.pid_exists(health["pid"]):
        time.sleep(0.1)
