"""A graph with our stages in Hamilton's own UI, a server of its own."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx2
import pytest

if importlib.util.find_spec("hamilton_ui") is None:
    pytest.skip("needs the extra hamilton-ui: make test-frameworks", allow_module_level=True)

PROGRAM = """
import sys

from hamilton import driver
from hamilton_sdk.adapters import HamiltonTracker

from crosscorpus import stages

url, project = sys.argv[1:]
where = {"hamilton_api_url": url, "hamilton_ui_url": url}
tracker = HamiltonTracker(project_id=int(project), username="ann", dag_name="ask", **where)
builder = driver.Builder().with_modules(*stages.MODULES).allow_module_overrides()
graph = builder.with_config(stages.settings()).with_adapters(tracker).build()
found = {"words": [{"id": "a", "text": "The cache is flushed twice."}]}
out = graph.execute(["results"], inputs={"query": "why twice?", "found": found})
print("found", out["results"]["document_id"].to_list())
"""
WHO = {"x-api-user": "ann", "x-api-key": ""}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = shutil.which("hamilton", path=str(Path(sys.executable).parent))
    assert command is not None
    started = subprocess.Popen(
        [command, "ui", "--port", str(port), "--base-dir", str(tmp_path), "--no-open"],
        env={**os.environ, "HOME": str(tmp_path)},
        start_new_session=True,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            try:
                if httpx2.get(url).status_code == 200:
                    break
            except httpx2.TransportError:
                time.sleep(0.5)
        yield url
    finally:
        os.killpg(started.pid, 15)
        started.wait(30)


def test_hamilton_s_ui_shows_a_run_of_our_stages(server: str) -> None:
    nobody: dict[str, list[str]] = {
        f"{kind}_ids{of}": [] for kind in ("user", "team") for of in ("", "_visible", "_writable")
    }
    asked = {"name": "team", "description": "", "tags": {}, "attributes": [], "documentation": []}
    visibility = {**nobody, "user_ids_writable": ["ann"]}
    made = httpx2.post(
        f"{server}/api/v1/projects", json={**asked, "visibility": visibility}, headers=WHO
    )
    project = str(made.json()["id"])
    command = [sys.executable, "-c", PROGRAM, server, project]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "found ['a']" in done.stdout, done.stderr
    latest = f"{server}/api/v1/dag_runs/latest/?project_id={project}"
    (run,) = httpx2.get(latest, headers=WHO).json()
    assert (run["run_status"], run["outputs"]) == ("SUCCESS", ["results"])
    assert run["inputs"]["query"] == "why twice?"
