"""The package in examples/plugin, built, installed into a fresh environment and used there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from operators.postgres.store import collections, drop_collection

ROOT = Path(__file__).parents[1]
CONFIG = """
extends: default
embedding: letters
reranker: shared-words
modules: [agreeing]
variants: {fused: agreeing, reranked: cross_encoder}
"""
TICKETS = {
    "T-1": "2026-01-05,T-1,Login loops,The login page reloads for ever after the update.",
    "T-2": "2026-02-01,T-2,Export is slow,An export of ten thousand rows takes an hour.",
    "T-3": "2026-03-09,T-3,Mail is lost,Mails to two people reach only the first.",
}

COMMANDS = """
import json, sys
sys.path.append(sys.argv[1])
from command import run_here
for line in sys.stdin:
    done = run_here(json.loads(line), {})
    print(json.dumps([done.returncode, done.stdout, done.stderr]), flush=True)
"""
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory, server_dsn: str) -> Iterator[Run]:
    """Runs the command in an environment that has the package, and crosscorpus beside it.

    All in one process of it.
    """
    at = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(at / "env")], check=True)
    python = at / "env" / "bin" / "python"
    shutil.copytree(ROOT / "examples" / "plugin", at / "plugin")
    uv = [str(Path(sys.executable).with_name("uv")), "pip", "install", "-q", "--no-deps"]
    subprocess.run([*uv, "--python", str(python), str(at / "plugin")], check=True)
    (site,) = (at / "env").glob("lib/python*/site-packages")
    (site / "here.pth").write_text(f"{sysconfig.get_path('purelib')}\n{ROOT}\n")
    (at / "mine.yaml").write_text(CONFIG)

    with subprocess.Popen(
        [str(python), "-c", COMMANDS, str(ROOT / "tests" / "support")],
        cwd=at,
        env={**os.environ, "CROSSCORPUS_DSN": server_dsn},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        asked, told = process.stdin, process.stdout
        assert asked is not None
        assert told is not None

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            asked.write(json.dumps(arguments) + "\n")
            asked.flush()
            return subprocess.CompletedProcess(arguments, *json.loads(told.readline()))

        yield run
    for name in ("plugin-tests",):
        if name in collections(server_dsn):
            drop_collection(server_dsn, name)


def counts(done: subprocess.CompletedProcess[str]) -> tuple[int, ...]:
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    kinds = ("documents_new", "documents_changed", "documents_unchanged", "documents_deleted")
    return tuple(told[kind] for kind in kinds)


def test_a_package_s_reader_model_fusion_and_reranker_work_by_their_names(
    fresh: Run, tmp_path: Path
) -> None:
    file = tmp_path / "tickets.csv"

    def ingested(*tickets: str) -> tuple[int, ...]:
        file.write_text("\n".join(["opened,number,title,text", *tickets]))
        arguments = ("from", "tickets", str(file), "project=ops", "--config", "mine.yaml", "--json")
        return counts(fresh("ingest", *arguments, "-C", "plugin-tests"))

    assert ingested(*TICKETS.values()) == (3, 0, 0, 0)
    assert ingested(*TICKETS.values()) == (0, 0, 3, 0)
    changed = TICKETS["T-2"].replace("an hour", "two hours")
    assert ingested(TICKETS["T-1"], changed, TICKETS["T-3"]) == (0, 1, 2, 0)

    asked = ("query", "which mails reach only the first", "-C", "plugin-tests", "--json")
    done = fresh(*asked, "--config", "mine.yaml")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    best = answer["results"][0]
    assert (best["title"], best["source_url"]) == (
        "Mail is lost",
        "https://tickets.example.com/T-3",
    )
    assert best["score"] == 4.0  # words of the question that the ticket has
    assert best["created_at"].startswith("2026-03-09")
    told = answer["provenance"]
    assert (told["model"], told["reranker"]) == ("letters", "shared-words")
    assert told["modules"] == {"crosscorpus_tickets.nodes": "crosscorpus-tickets 1.0"}
    assert told["variants"]["fused"] == "agreeing"


def test_what_a_package_lacks_is_one_line_that_says_what_there_is(
    fresh: Run, tmp_path: Path
) -> None:
    unknown = fresh("ingest", "from", "tickest", "-C", "plugin-tests")
    assert (unknown.returncode, unknown.stderr.count("\n")) == (2, 1)
    assert "unknown source 'tickest', did you mean 'tickets'?" in unknown.stderr
    wrong = fresh("ingest", "from", "tickets", "a.csv", "projekt=x", "y", "-C", "plugin-tests")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (1, 1)
    assert "tickets takes (path: str, project: str = 'support')" in wrong.stderr
    missing = fresh("ingest", "from", "tickets", "none.csv", "-C", "plugin-tests-2")
    assert (missing.returncode, missing.stderr.count("\n")) == (1, 1)
    assert "tickets: FileNotFoundError" in missing.stderr
    assert "plugin-tests-2" not in fresh("collections", "list").stdout
    (tmp_path / "a.csv").write_text("opened,number,title,text\n" + TICKETS["T-1"])
    given = ("ingest", "from", "tickets", str(tmp_path / "a.csv"), "-C", "plugin-tests-2")
    model = fresh(*given, "--model", "leters")
    assert "did you mean 'letters'" in model.stderr
