"""Every example of README and docs runs as it is written, on a small project."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from command import run_here
from ingested import commit, git

from operators.foundation.data_dir import data_home
from operators.postgres.store import collections, drop_collection

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^    ((?:PYTHONPATH=\. )?crosscorpus .*)$", re.MULTILINE)
COLLECTIONS = ("default", "team")
MADE = ("letters", "team-copy", "team_code", "team_static")
"""Collections that the pages themselves make."""
LEARNED_NOTHING = 3
"""Exit code of `learn` where the fit loses on the queries that it did not see, as it does here."""


NAMED = re.compile(r"# (\w+\.(?:py|yaml))\n")
"""The first line of a block that is a file of the reader's own."""
FRAMEWORK = re.compile(r"^from crosscorpus\.(\w+) import", re.MULTILINE)
OF_FRAMEWORK = {"langchain": "langchain_core", "llamaindex": "llama_index"}
"""The packages of a framework that are not called as our module for it is."""

SHOWN = ["error", "ignore::DeprecationWarning", "ignore::PendingDeprecationWarning"]
SHOWN += ["ignore::ResourceWarning", "error::DeprecationWarning:__main__"]
"""The warnings that Python shows to who runs a program, each an error."""


def blocks(page: Path, language: str) -> list[str]:
    found = FENCED.findall(page.read_text("utf-8"))
    return [code for kind, code in found if kind == language and not NAMED.match(code)]


def has_framework(code: str) -> bool:
    """Whether the framework that a block of Python is for, if any, is installed here."""
    names = FRAMEWORK.findall(code)
    return all(find_spec(OF_FRAMEWORK.get(name, name)) for name in names)


@pytest.fixture(scope="module")
def project(server_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with what the examples name: ~/src/app, judged queries, two versions of a manual."""
    home = tmp_path_factory.mktemp("reader")
    app = home / "src/app"
    (app / "docs").mkdir(parents=True)
    (app / "src").mkdir()
    (app / "src/cache.py").write_text("def flush(self):\n    '''Flush the cache twice.'''\n" * 9)
    (app / "docs/cache.md").write_text("# Cache\n\nThe cache is flushed twice: before and after.\n")
    git(app, "init", "-q")
    git(app, "remote", "add", "origin", "git@github.com:org/app.git")
    commit(app, "Flush the cache twice, since workers may die")
    (app / "src/cache.py").write_text("def flush(self):\n    return 'twice'\n" * 9)
    git(app, "commit", "-q", "-a", "-m", "Flush the cache once more\n\nFixes #12")
    issue = {"number": 12, "title": "Entries are lost", "body": "The cache is not flushed."}
    issue |= {"user": {"login": "ann"}, "created_at": "2026-01-05T00:00:00Z"}
    issue["repository_url"] = "https://api.github.com/repos/org/app"
    (home / "issues.json").write_text(json.dumps([issue]))
    timeout = (
        "# API {0}\n\nVersion {0}\n\nThe default timeout is {1} seconds. " + "More text. " * 40
    )
    rows = [
        {"doc_id": f"docs/{version}/api.pdf", "path": f"docs/{version}/api.pdf", "corpus": "docs"}
        | {
            "repo": "org/app",
            "title": "API",
            "version": version,
            "text": timeout.format(version, n),
        }
        for version, n in (("3.4", 20), ("3.5", 30))
    ]
    (home / "manual.jsonl").write_text("\n".join(map(json.dumps, rows)))
    asked = [{"query_id": n, "text": f"why is the cache flushed {n} times?"} for n in range(1, 9)]
    (home / "q.jsonl").write_text("\n".join(map(json.dumps, asked)))
    ticket = "number,opened,title,text\n1,2026-01-05,Login loops,It reloads for ever.\n"
    (home / "tickets.csv").write_text(ticket)
    (home / "export.json").write_text('{"key": "OPS-1", "fields": {"summary": "Logins loop"}}')
    with zipfile.ZipFile(home / "slack-export.zip", "w") as archive:
        said = [{"type": "message", "text": "flushed twice", "ts": "1767607200.1", "user": "U1"}]
        archive.writestr("general/2026-01-05.json", json.dumps(said))
    (home / "q.tsv").write_text("".join(f"{n} 0 docs/cache.md 1\n" for n in range(1, 9)))
    for page in PAGES:
        for _, code in FENCED.findall(page.read_text("utf-8")):
            if named := NAMED.match(code):
                (home / named[1]).write_text(code)
    os.environ["CROSSCORPUS_DSN"], before = server_dsn, os.environ.get("CROSSCORPUS_DSN")
    for name in COLLECTIONS:
        for source in ("git src/app", "documents manual.jsonl"):
            assert run(home, f"crosscorpus ingest {source} -C {name}") == 0
    yield home
    for name, module in [*sys.modules.items()]:  # the next test has its own of this name
        if str(getattr(module, "__file__", None)).startswith(f"{home}/"):
            del sys.modules[name]
    for name in {*COLLECTIONS, *MADE} & {*collections(server_dsn)}:
        drop_collection(server_dsn, name)
    os.environ.pop("CROSSCORPUS_DSN")
    os.environ.update({} if before is None else {"CROSSCORPUS_DSN": before})


def run(home: Path, command: str) -> int:
    """Run a command of a page in this process, which saves its start; return its exit code."""
    words = shlex.split(command.replace("~", str(home)), comments=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        if "=" in words[0]:  # PYTHONPATH=.
            patch.syspath_prepend(str(home))
        done = run_here(words[words.index("crosscorpus") + 1 :], {})
    print(command, done.stdout[-2000:], done.stderr[-2000:])
    return done.returncode


def test_every_command_of_the_pages_runs(project: Path) -> None:
    shown = [line for page in PAGES for line in COMMAND.findall(page.read_text("utf-8"))]
    commands = dict.fromkeys(line.partition("  #")[0].rstrip() for line in shown)
    assert len(commands) > 10
    exits = {command: run(project, command) for command in commands}
    learned = {command for command in commands if " learn " in command}
    failed = {c: code for c, code in exits.items() if code and c not in learned}
    assert failed == {}
    assert {exits[command] for command in learned} <= {0, LEARNED_NOTHING}


@pytest.mark.filterwarnings(*SHOWN)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_python_of_a_page_runs_from_top_to_bottom(
    project: Path,
    page: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    every = blocks(page, "python")
    if not every:
        pytest.skip("the page has no Python")
    code = "\n".join(block for block in every if has_framework(block))
    if not code:
        pytest.skip("it needs an extra of a framework: make test-frameworks")
    monkeypatch.setenv("CROSSCORPUS_HOME", str(data_home()))
    monkeypatch.setenv("HOME", str(project))
    monkeypatch.chdir(project)
    monkeypatch.syspath_prepend(str(project))
    exec(compile(code, page.name, "exec"), {"__name__": "__main__"})
    told = capfd.readouterr()
    assert told.err == ""
    assert "cache is flushed twice" in told.out


def test_the_configurations_of_the_pages_are_those_that_are_shipped(project: Path) -> None:
    shown = [yaml.safe_load(block) for page in PAGES for block in blocks(page, "yaml")]
    shipped = [yaml.safe_load(p.read_text()) for p in (ROOT / "configs").rglob("*.yaml")]
    assert shown
    assert [one for one in shown if one not in shipped] == []
