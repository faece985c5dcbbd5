"""Hours: everything at once, while servers are killed, and what grows meanwhile.

    python -m benchmarks.soak --minutes 120 [--callers 64] [--kill-every 180] [--out FOLDER]

A git working tree changes, and `watch` reads it. Callers ask with tokens of three users over HTTP,
MCP and the page, where they sign in and out; some leave before their answer. Meanwhile documents
are dropped and rights change. The serving process, the watch and the Postgres server are killed
(``kill -9``) at random. At quiet moments answers are compared with those of a collection made anew
of the same tree: ids and order. All is a command in a process of its own, on an embedded Postgres
in FOLDER; where ``CROSSCORPUS_DSN`` is set, on that server, which is not killed.

FOLDER gets ``samples.csv``, ``soak.svg``, ``soak.png`` and what the commands said. The exit code is
1 where something grew without bound, an answer was wrong, a command failed by itself, or `verify`
found something.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import yaml

from benchmarks.served import free_port, postmaster
from benchmarks.soak_callers import Callers, answer, percentiles
from benchmarks.soak_samples import (
    BOUNDED,
    draw,
    growth,
    of_database,
    of_postgres,
    of_process,
    unbounded,
    write_csv,
)
from benchmarks.soak_source import REPO, SECRET, Tree
from operators.postgres.connection import resolve_dsn
from operators.postgres.store import schema_of

ROOT = Path(__file__).parents[1]
COLLECTION, REBUILT = "soak", "soak-anew"
MODEL = "python:benchmarks.ingestion:Hashes"
USERS = {"ann": ["hr"], "bob": [], "eve": []}
ALL = {"allow": "everyone", "repo": REPO}
PAY = {"allow": ["hr"], "path": SECRET.split("/")[0] + "/"}
RULES: list[list[dict[str, Any]]] = [
    [ALL, PAY],
    [ALL, {"allow": ["ann"], "corpus": "docs"}, PAY],
    [ALL, {"allow": ["bob"], "path": "src/moving_1*"}, PAY],
]
"""The rights that follow one another: stable files are for everyone in all of them."""


@dataclass
class Kept:
    """A command that runs all the time, and starts again when it was killed."""

    name: str
    arguments: list[str]
    folder: Path
    process: subprocess.Popen[bytes] | None = None
    killed: bool = False
    ended: list[str] = field(default_factory=list)

    @property
    def pid(self) -> int | None:
        """Of the running process."""
        return self.process.pid if self.process and self.process.poll() is None else None

    def start(self) -> None:
        """Start it; what it says is added to its file."""
        self.killed = False
        with (self.folder / f"{self.name}.log").open("ab") as log:
            self.process = subprocess.Popen(command(*self.arguments), cwd=ROOT, **said_to(log))

    def look(self) -> None:
        """Start it again where it is gone; keep how it ended where nobody killed it."""
        if self.process and (code := self.process.poll()) is not None:
            if not self.killed:
                self.ended.append(f"{self.name} ended by itself with {code}")
            self.start()

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End it, and wait for its end."""
        self.killed = True
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(60)


def said_to(log: Any) -> dict[str, Any]:
    """Where a process writes to."""
    return {"stdout": log, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}


def command(*arguments: str) -> list[str]:
    """The words of a `crosscorpus` command."""
    return [sys.executable, "-m", "dataflow", *arguments]


@dataclass
class Soak:
    """A run: its processes, what happened in it, and what was seen."""

    folder: Path
    minutes: float
    tree: Tree
    dsn: str
    tokens: dict[str, str]
    port: int
    began: float = field(default_factory=time.monotonic)
    samples: list[dict[str, Any]] = field(default_factory=list)
    events: list[tuple[float, float, str]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    compared: int = 0
    bloat: list[float] = field(default_factory=list)
    rules: int = 0
    over: threading.Event = field(default_factory=threading.Event)
    quiet: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:  # noqa: D105
        self.config = self.folder / "soak.yaml"
        self.tokens_file = self.folder / "tokens.yaml"
        asked = "parameters: {weak_below: 0}"  # random vectors are near to nothing
        self.config.write_text(f"extends: default\nembedding: {MODEL}\n{asked}\n")
        served = ["serve", "-C", COLLECTION, "--config", str(self.config)]
        served += ["--port", str(self.port), "--tokens", str(self.tokens_file)]
        watched = ["watch", str(self.tree.folder), "--repo", REPO, "-C", COLLECTION]
        watched += ["--config", str(self.config), "--allow-mass-delete"]
        self.server = Kept("server", served, self.folder)
        self.watch = Kept("watch", watched, self.folder)
        self.address = f"http://127.0.0.1:{self.port}"

    @property
    def second(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self.began

    @contextmanager
    def event(self, what: str) -> Iterator[None]:
        """Keep when something happened."""
        began = self.second
        try:
            yield
        finally:
            self.events.append((began, self.second, what))

    def run(self, *arguments: str, fine: tuple[int, ...] = (0,), allowed: str = "") -> str:
        """What a command printed; one that Postgres's death ended is run again.

        A failure whose message has the text ``allowed`` is none.
        """
        what = " ".join(arguments[:2])
        for attempt in range(4):
            began = self.second
            killed = sum(event == "kill postgres" for *_, event in self.events)
            done = subprocess.run(
                command(*arguments), cwd=ROOT, capture_output=True, text=True, timeout=600
            )
            line = f"{what}: exit code {done.returncode}"
            if done.returncode not in fine:
                line += f": {(done.stderr or done.stdout)[-500:]}"
            with (self.folder / "commands.log").open("a") as log:
                log.write(f"{began:.0f} to {self.second:.0f} s: {line}\n")
            if done.returncode in fine or (allowed and allowed in done.stderr):
                return done.stdout
            again = sum(event == "kill postgres" for *_, event in self.events) > killed
            if not again and attempt:
                break
        self.faults.append(line)
        return ""

    def ingest(self, collection: str) -> None:
        """Read the tree, until each chunk has its vector."""
        options = ["--repo", REPO, "-C", collection, "--config", str(self.config), "--in-turn"]
        self.run("ingest", "git", str(self.tree.folder), *options, "--allow-mass-delete")

    def set_rules(self, collection: str) -> None:
        """Set the rights of the moment; commits that they cut otherwise get their vectors."""
        file = self.folder / "rights.yaml"
        file.write_text(yaml.safe_dump({"unmarked": "deny", "rules": RULES[self.rules]}))
        self.run("rights", "set", str(file), "-C", collection)
        self.run("embed", "-C", collection, "--config", str(self.config))

    def next_rules(self) -> None:
        """Other rights."""
        self.rules = (self.rules + 1) % len(RULES)
        self.set_rules(COLLECTION)

    def drop(self) -> None:
        """Drop a document that changes; the watch brings it back."""
        name = random.choice(self.tree.moving)
        words = ["drop", "--document", name, "--yes", "-C", COLLECTION]
        # the tree has lost it, or the watch has not read it yet
        self.run(*words, fine=(0, 3), allowed=f"no document '{name}'")

    def compare(self, questions: int) -> None:
        """Compare answers with those of a collection rebuilt from the same tree."""
        with ThreadPoolExecutor(2) as both:
            list(both.map(self.ingest, (COLLECTION, REBUILT)))
        port = free_port()
        words = ["serve", "-C", REBUILT, "--config", str(self.config), "--port", str(port)]
        other = Kept("anew", [*words, "--tokens", str(self.tokens_file)], self.folder)
        other.start()
        self.set_rules(REBUILT)
        draws = random.Random(int(self.second))
        drawn = [*draws.sample(list(self.tree.needles), min(3, len(self.tree.needles)))]
        drawn += [self.tree.question() for _ in range(questions)]
        drawn += [Path(name).stem for name in draws.sample(self.tree.moving, 2)]
        try:
            with httpx2.Client(timeout=60) as client:
                for question in drawn:
                    for user, token in self.tokens.items():
                        ids = answer(client, self.address, token, question)
                        wanted = answer(client, f"http://127.0.0.1:{port}", token, question)
                        self.compared += 1
                        if isinstance(ids, str) or isinstance(wanted, str) or ids != wanted:
                            fault = f"{user} asked {question!r}: {ids}, and anew {wanted}"
                            self.faults.append(f"at {self.second:.0f} s {fault}")
        finally:
            other.kill(signal.SIGTERM)
        sizes = [of_database(self.dsn, schema_of(name)) for name in (COLLECTION, REBUILT)]
        if all(sizes):
            self.bloat.append(sizes[0]["collection_mib"] / sizes[1]["collection_mib"])
        self.run("collections", "drop", REBUILT, "--yes")

    def change_the_tree(self, every_s: float) -> None:
        """Change the source, but for quiet moments."""
        while not self.over.wait(every_s):
            with self.quiet:
                self.tree.step()

    def kill(self, every_s: float) -> None:
        """Kill one of the processes after the other, but for quiet moments."""
        draws = random.Random(1)
        own = not os.environ.get("CROSSCORPUS_DSN")
        turns = ["postgres", "server", "watch"] if own else ["server", "watch"]
        while not self.over.wait(every_s * draws.uniform(0.5, 1.5)):
            what = turns.pop(0)
            turns.append(what)
            with self.quiet, self.event(f"kill {what}"):
                if what == "postgres":
                    if postgres := postmaster():
                        os.kill(postgres.pid, signal.SIGKILL)
                else:
                    (self.server if what == "server" else self.watch).kill()

    def measure(self, callers: Callers, every_s: float) -> None:
        """Take a sample every few seconds, and say how far it is."""
        seen, wait, shown = 0, every_s, 0.0
        while not self.over.wait(wait):
            began = time.monotonic()
            self.server.look()
            self.watch.look()
            answers, seen = callers.asked[seen:], len(callers.asked)
            low, high = percentiles(answers)
            good = sum(one.answered for one in answers)
            postgres = None if os.environ.get("CROSSCORPUS_DSN") else postmaster()
            one: dict[str, Any] = {"second": self.second}
            one |= of_process("server", self.server.pid) | of_process("watch", self.watch.pid)
            one |= of_postgres(postgres) | of_database(self.dsn, schema_of(COLLECTION))
            one |= {"answers": good / every_s, "errors": (len(answers) - good) / every_s}
            one |= {"p50_ms": low, "p95_ms": high}
            self.samples.append(one)
            write_csv(self.samples, self.folder / "samples.csv")
            if self.second - shown >= 60:
                shown = self.second
                left = max(self.minutes - self.second / 60, 0)
                print(f"{left:.1f} minutes left: {told_of(one)}", flush=True)
            wait = max(0.1, every_s - (time.monotonic() - began))


def told_of(sample: dict[str, Any]) -> str:
    """A sample in a line."""
    names = ["server_mib", "watch_mib", "postgres_mib", "connections", "collection_mib"]
    names += ["dead_rows", "p50_ms", "p95_ms"]
    return ", ".join(f"{n} {sample[n]:.0f}" for n in names if sample.get(n) is not None)


def make_tokens(file: Path) -> dict[str, str]:
    """A token a user; the file has their hashes."""
    from dataflow.service.protection.tokens import new_token, token_line

    tokens = {user: new_token() for user in USERS}
    lines = [token_line(tokens[user], [user, *groups], None) for user, groups in USERS.items()]
    file.write_text("".join(line.rstrip("\n") + "\n" for line in lines))
    return tokens


def work(soak: Soak, options: argparse.Namespace) -> Callers:
    """The run: everything at once, until the minutes are over."""
    soak.ingest(COLLECTION)
    soak.server.start()
    soak.set_rules(COLLECTION)
    callers = Callers(soak.address, soak.tree, soak.tokens, options.pause)
    with httpx2.Client(timeout=60) as client:
        for user in soak.tokens.values():
            answer(client, soak.address, user, "warm up")
    soak.watch.start()
    soak.began = time.monotonic()
    threads = callers.start(options.callers)
    beside: list[tuple[Callable[..., None], tuple[Any, ...]]] = [
        (soak.measure, (callers, options.sample)),
        (soak.change_the_tree, (options.change_every,)),
    ]
    if options.kill_every:
        beside.append((soak.kill, (options.kill_every,)))
    threads += [threading.Thread(target=one, args=arguments) for one, arguments in beside]
    for thread in threads[options.callers :]:
        thread.start()
    turn, checked = 0, time.monotonic()
    turns = [("rights", soak.next_rules), ("drop", soak.drop)]
    try:
        while soak.second < soak.minutes * 60:
            name, act = turns[turn % len(turns)]
            turn += 1
            with soak.event(name):
                act()
            if time.monotonic() - checked > options.check_every:
                with soak.quiet, soak.event("compare"):
                    soak.compare(options.questions)
                checked = time.monotonic()
            soak.over.wait(min(options.act_every, max(soak.minutes * 60 - soak.second, 0)))
        with soak.quiet, soak.event("compare"):
            soak.compare(options.questions)
    finally:
        callers.over.set()
        soak.over.set()
        for thread in threads:
            thread.join()
        soak.server.kill(signal.SIGTERM)
        soak.watch.kill(signal.SIGTERM)
    return callers


def verdict(soak: Soak, callers: Callers) -> bool:
    """Print the tables; whether all was well."""
    answers = callers.asked
    low, high = percentiles(answers)
    good = sum(one.answered for one in answers)
    print(
        f"\n{good} of {len(answers)} questions answered, p50 {low or 0:.0f}, p95 {high or 0:.0f} ms"
    )
    for (door, outcome), count in Counter((a.door, a.outcome) for a in answers).most_common(15):
        print(f"  {count} x {door}: {outcome}")
    print("\n| while | times | seconds, longest | p50 ms | p95 ms | slowest ms | errors |")
    print("|---|---|---|---|---|---|---|")
    for what in dict.fromkeys(name for *_, name in soak.events):
        spans = [(a, b) for a, b, name in soak.events if name == what]
        # a kill is over at once, and its consequences take a few seconds
        wide = [(a, b + 10 if what.startswith("kill") else b) for a, b in spans]
        inside = [one for one in answers if any(a <= one.at - soak.began <= b for a, b in wide)]
        low, high = percentiles(inside)
        slow = max((one.seconds for one in inside if one.answered), default=0) * 1000
        bad = sum(not one.answered for one in inside)
        longest = max(b - a for a, b in spans)
        print(f"| {what} | {len(spans)} | {longest:.1f} ", end="")
        print(f"| {low or 0:.0f} | {high or 0:.0f} | {slow:.0f} | {bad} |")
    print("\n| what | median | grew in the run | +- | bound |\n|---|---|---|---|---|")
    grown = [column for column in BOUNDED if unbounded(soak.samples, column)]
    for column in BOUNDED:
        if result := growth(soak.samples, column):
            by, error, median = result
            ok = "grows" if column in grown else "yes"
            print(f"| {column} | {median:.0f} | {by:+.1f} | {error:.1f} | {ok} |")
    verified = soak.run("verify", "-C", COLLECTION, "--json", fine=(0, 3))
    lost = json.loads(verified) if verified else [{"kind": "verify did not run"}]
    soak.faults += soak.server.ended + soak.watch.ended + callers.wrong
    sizes = ", ".join(f"{one:.2f}" for one in soak.bloat)
    print(f"\nsize beside a collection made anew: {sizes}")
    print(f"{soak.compared} answers compared with those of a collection made anew")
    print(f"grew without bound: {grown or 'nothing'}; verify: {lost or 'clean'}")
    print(f"faults: {len(soak.faults)}")
    for fault in soak.faults[:20]:
        print(f"  {fault[:600]}")
    return not (grown or lost or soak.faults)


def main() -> int:
    """Run, and say what was seen."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--callers", type=int, default=64)
    parser.add_argument("--kill-every", type=float, default=180, help="seconds; 0: never")
    parser.add_argument("--out", type=Path, help="a new folder; else one under the temporary one")
    parser.add_argument("--files", type=int, default=400, help="that change, in the source")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between a caller's")
    parser.add_argument("--change-every", type=float, default=5)
    parser.add_argument("--act-every", type=float, default=15, help="drop, rights")
    parser.add_argument("--check-every", type=float, default=300, help="comparison")
    parser.add_argument("--questions", type=int, default=10, help="of a comparison")
    parser.add_argument("--sample", type=float, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder = options.out or Path(tempfile.mkdtemp(prefix="crosscorpus-soak-"))
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o711)
    before = {name: os.environ.get(name) for name in ("CROSSCORPUS_HOME", "PYTHONPATH")}
    os.environ["PYTHONPATH"] = str(ROOT)
    if not os.environ.get("CROSSCORPUS_DSN"):
        os.environ["CROSSCORPUS_HOME"] = str(folder / "home")
        (folder / "home").mkdir(mode=0o711, exist_ok=True)
    try:
        (folder / "source").mkdir()
        tree = Tree(folder / "source", options.files, options.seed)
        tokens = make_tokens(folder / "tokens.yaml")
        soak = Soak(folder, options.minutes, tree, resolve_dsn(), tokens, free_port())
        callers = work(soak, options)
        well = verdict(soak, callers)
        with suppress(ImportError):
            draw(soak.samples, soak.events, folder)
        print(f"{folder}/soak.png and samples.csv show it", flush=True)
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
