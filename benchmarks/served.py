"""Many callers of a server whose database is killed meanwhile, beside the same driver in process.

    python -m benchmarks.served COLLECTION QUERIES [--callers 64] [--minutes 10] [--kills 2]
                                [--alone 30]

QUERIES is JSON, one a line, with ``text``. The server is a process of its own on the embedded
Postgres of the data directory. What a question finds is asked once before; every later answer of
status 200 must be equal or say in its notes what failed. A kill is ``kill -9`` of the Postgres
server. Printed: questions a second and milliseconds, statuses with their reasons, the seconds that
each kill cost, and the server's memory by the minute.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import httpx2
import numpy as np
import psutil

from dataflow import build_driver, load_config
from operators.foundation.data_dir import data_home

TOP_K = 10


def timed(times: list[float]) -> str:
    """The 50th, 95th and 99th percentile of seconds, as milliseconds."""
    if not times:
        return "no answer"
    return " / ".join(f"{s * 1000:.0f}" for s in np.percentile(times, (50, 95, 99))) + " ms"


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def postmaster() -> psutil.Process | None:
    """The embedded Postgres server of the data directory."""
    file = data_home() / "postgres" / "cluster" / "postmaster.pid"
    try:
        return psutil.Process(int(file.read_text().split()[0]))
    except (OSError, ValueError, psutil.Error):
        return None


class Load:
    """What the callers do and see."""

    def __init__(self, address: str, queries: list[str]) -> None:
        self.address, self.queries = address, queries
        self.expected: dict[str, list[str]] = {}
        self.seen: list[tuple[float, float, int, str]] = []
        self.wrong: list[str] = []
        self.over = threading.Event()

    def ask(self, client: httpx2.Client, query: str, caller: str) -> None:
        """Ask once, and keep what came."""
        began = time.monotonic()
        fault = ""
        try:
            body = {"query": query, "top_k": TOP_K}
            headers = {"x-caller": caller}
            answer = client.post(f"{self.address}/api/search", json=body, headers=headers)
            status, content = answer.status_code, answer.json()
            if status == 200:
                ids = [hit["id"] for hit in content["results"]]
                failed = [note for note in content["notes"] if "ingested" not in note]
                if ids != self.expected.setdefault(query, ids) and not failed:
                    self.wrong.append(query)
                fault = "; ".join(failed)[:80]
            else:
                fault = content["detail"][:80]
                time.sleep(float(answer.headers.get("retry-after", 0.2)))
        except httpx2.HTTPError as error:
            status, fault = 0, type(error).__name__
        self.seen.append((began, time.monotonic() - began, status, fault))

    def call(self, number: int) -> None:
        """Ask one question after the other until it is over."""
        draw = random.Random(number)
        with httpx2.Client(timeout=60) as client:
            while not self.over.is_set():
                self.ask(client, draw.choice(self.queries), f"caller {number}")


def in_process(collection: str, queries: list[str], threads: int, seconds: float) -> None:
    """The same driver, asked by ``threads`` threads of this process."""
    times: list[float] = []
    end = time.monotonic() + seconds
    settings = load_config("default").with_changes({"variants": {"packed": "tokens"}})
    with build_driver(settings, collection) as driver:
        for query in queries:
            driver.ask(query, top_k=TOP_K)

        def call(number: int) -> None:
            draw = random.Random(number)
            while time.monotonic() < end:
                began = time.monotonic()
                driver.ask(draw.choice(queries), top_k=TOP_K)
                times.append(time.monotonic() - began)

        callers = [threading.Thread(target=call, args=(n,)) for n in range(threads)]
        began = time.monotonic()
        for one in callers:
            one.start()
        for one in callers:
            one.join()
    rate = len(times) / (time.monotonic() - began)
    print(f"in process, {threads} threads: {rate:.1f} questions/s, {timed(times)}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collection")
    parser.add_argument("queries", type=Path)
    parser.add_argument("--callers", type=int, default=64)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--alone", type=float, default=30, help="seconds in process, before")
    args = parser.parse_args()
    lines = args.queries.read_text().splitlines()
    queries = [json.loads(line)["text"][:300] for line in lines][:60]
    in_process(args.collection, queries, 2 * (os.cpu_count() or 1), args.alone)
    port = str(free_port())
    command = [sys.executable, "-m", "dataflow", "serve", "-C", args.collection, "--port", port]
    with subprocess.Popen(command) as server:
        load = Load(f"http://127.0.0.1:{port}", queries)
        with httpx2.Client(timeout=60) as client:
            while not (load.seen and load.seen[-1][2] == 200):
                load.ask(client, queries[0], "first")
            for query in queries:
                load.ask(client, query, "first")
        load.seen.clear()
        callers = [threading.Thread(target=load.call, args=(n,)) for n in range(args.callers)]
        began, memory, kills = time.monotonic(), list[int](), list[float]()
        for one in callers:
            one.start()
        process = psutil.Process(server.pid)
        while (passed := time.monotonic() - began) < args.minutes * 60:
            if len(kills) < args.kills and passed > (len(kills) + 1) * args.minutes * 60 / (
                args.kills + 1
            ):
                kills.append(time.monotonic())
                if postgres := postmaster():
                    os.kill(postgres.pid, signal.SIGKILL)
            if passed > 60 * len(memory):
                memory.append(process.memory_info().rss // 2**20)
            time.sleep(0.5)
        load.over.set()
        for one in callers:
            one.join()
        took = time.monotonic() - began
        server.terminate()
    good = [seconds for _, seconds, status, fault in load.seen if status == 200 and not fault]
    print(f"served, {args.callers} callers: {len(good) / took:.1f} questions/s, {timed(good)}")
    print("statuses:", dict(Counter(status for _, _, status, _ in load.seen)))
    for (status, fault), count in Counter((s, t) for _, _, s, t in load.seen if t).most_common(12):
        print(f"  {count} x {status}: {fault}")
    for killed in kills:
        back = [
            b + s for b, s, status, fault in load.seen if b > killed and status == 200 and not fault
        ]
        print(f"whole again {min(back, default=float('inf')) - killed:.1f} s after a kill")
    print(f"wrong answers: {len(load.wrong)}; memory by the minute, MiB: {memory}")


if __name__ == "__main__":
    main()
