"""`crosscorpus judge git` as a user runs it, on repositories that git made."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import github_shapes as github
import ingested
import pytest
from ingested import git

Judge = Callable[..., Any]


def commit(root: Path, message: str, **files: str) -> None:
    """Write files and commit; ``__`` in a name is a slash, ``_`` a dot."""
    named = {name.replace("__", "/").replace("_", "."): text for name, text in files.items()}
    ingested.commit(root, message, named)


def new_repository(root: Path) -> Path:
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    git(root, "remote", "add", "origin", "git@github.com:org/app.git")
    commit(
        root, "Begin", src__cache_py="def flush():\n    pass\n", src__lock_py="def take(): ...\n"
    )
    return root


@pytest.fixture
def app(tmp_path: Path) -> Path:
    root = new_repository(tmp_path / "app")
    many = {f"src__m{n}_py": f"def m{n}(): ...\n" for n in range(9)}
    commit(root, "Add modules", **many)
    commit(
        root,
        "Flush dirty entries (#20)\n\nEntries got lost.\nFixes #12, see #3\n\nAcked-by: Ann",
        src__cache_py="def flush():\n    write()\n",
        src__new_py="def write(): ...\n",
        tests__cache_py="def test(): ...\n",
        CHANGES_md="# Changes\n\n- dirty entries are flushed\n",
    )
    commit(root, "Everything, closes #13", **dict.fromkeys(many, "x = 1\n"))
    commit(
        root,
        "Fix #14: Take the lock once (resolves: org/app#14)",
        src__lock_py="def take(): once()\n",
    )
    commit(root, "Fixes org/other#15", src__lock_py="def take(): twice()\n")
    commit(root, "fix #16", src__lock_py="def take(): thrice()\n")
    commit(root, "Once more, closes #12", src__cache_py="def flush():\n    write(1)\n")
    commit(root, 'Revert "Take the lock. Fixes #17"', src__lock_py="def take(): ...\n")
    commit(root, "prefixes #18", src__lock_py="def take(): pass\n")
    return root


@pytest.fixture
def judge(crosscorpus: Any, tmp_path: Path) -> Judge:
    def run(path: Path, *options: str) -> Any:
        return crosscorpus("judge", "git", str(path), "--out", str(tmp_path / "out"), *options)

    return run


def written(tmp_path: Path) -> tuple[dict[str, Any], list[str]]:
    lines = (tmp_path / "out/queries.jsonl").read_text().splitlines()
    queries = {row["query_id"]: row for row in map(json.loads, lines)}
    return queries, (tmp_path / "out/qrels.tsv").read_text().splitlines()


def test_a_commit_that_closes_an_issue_gives_a_question_and_its_files(
    app: Path, judge: Judge, tmp_path: Path
) -> None:
    done = judge(app, "--json")
    assert done.returncode == 0, done.stderr
    queries, qrels = written(tmp_path)
    assert {number: row["text"] for number, row in queries.items()} == {
        "14": "Take the lock once",
        "12": "Flush dirty entries\nEntries got lost.",
    }
    assert qrels == ["14\t0\torg/app:src/lock.py\t1", "12\t0\torg/app:src/cache.py\t1"]
    assert {tuple(row["judged_corpora"]) for row in queries.values()} == {("code",)}
    assert json.loads(done.stdout)["skipped"] == {
        "touch more than 5 files": 1,
        "close an issue of another repository": 1,
        "say nothing but the number": 1,
        "close what an earlier one closed": 1,
        "revert another commit": 1,
    }


def test_an_export_of_issues_gives_the_questions(app: Path, judge: Judge, tmp_path: Path) -> None:
    told = {12: "Entries are lost", 16: "It hangs", 99: "Another"}
    items = [{**github.issue(n), "title": title, "body": "Every day."} for n, title in told.items()]
    file = tmp_path / "issues.json"
    file.write_text(json.dumps(items))
    done = judge(app, "--issues", str(file), "--json")
    assert done.returncode == 0, done.stderr
    queries, _ = written(tmp_path)
    assert {n: row["text"] for n, row in queries.items()} == {
        "16": "It hangs\n\nEvery day.",
        "12": "Entries are lost\n\nEvery day.",
    }
    assert json.loads(done.stdout)["skipped"]["close an issue that the files lack"] == 2


def test_a_merge_that_closes_an_issue_stands_for_its_branch(judge: Judge, tmp_path: Path) -> None:
    root = new_repository(tmp_path / "merged")
    git(root, "checkout", "-q", "-b", "flush")
    commit(root, "Flush", src__cache_py="def flush(): write()\n")
    git(root, "checkout", "-q", "main")
    message = "Merge pull request #7 from ann/flush\n\nFlush dirty entries\n\nCloses GH-5"
    git(root, "merge", "-q", "--no-ff", "-m", message, "flush")
    assert judge(root).returncode == 0
    queries, qrels = written(tmp_path)
    assert queries["5"]["text"] == "Flush dirty entries"
    assert qrels == ["5\t0\torg/app:src/cache.py\t1"]


def test_snapshots_ask_the_trees_before_the_fixes_by_the_commands_that_are_printed(
    app: Path, judge: Judge, crosscorpus: Any, tmp_path: Path
) -> None:
    git(app, "config", "filter.evil.smudge", f"touch {tmp_path}/ran; cat")
    (app / ".git/info").mkdir(exist_ok=True)
    (app / ".git/info/attributes").write_text("*.py filter=evil export-ignore\n")
    done = judge(app, "--snapshots", "2", "-C", "cli-judge")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "ran").exists()
    assert done.stdout.startswith("2 questions of 10 commits, asked of the trees before the fixes")
    queries, _ = written(tmp_path)
    trees = {query: tmp_path / "out/trees" / row["parent"][:12] for query, row in queries.items()}
    assert (trees["12"] / "src/cache.py").read_text() == "def flush():\n    pass\n"
    assert not (trees["12"] / "src/new.py").exists()
    commands = [shlex.split(line)[1:] for line in done.stdout.splitlines()[1:]]
    assert [words[0] for words in commands] == ["ingest", "ingest", "evaluate"]
    for words in commands:
        ran = crosscorpus(*words)
        assert ran.returncode == 0, ran.stderr
    told = json.loads((tmp_path / "out/measured/evaluation.json").read_text())
    means = {row["measure"]: row["mean"] for row in told["summary"] if row["slice"] == "all"}
    assert means["Acc@10"] == 1.0
    assert [note for note in told["notes"] if "no trigger" not in note] == []
    again = judge(app, "--snapshots", "1", "--json")
    assert json.loads(again.stdout)["skipped"]["are beyond the snapshots"] == 1
