"""A tiny judged set in the files that the benchmarks read, and labelled pairs of near-copies."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ingested import commit, git

SUBJECTS = (
    *("cache", "lock", "queue", "index", "parser", "socket"),
    *("wallet", "ledger", "router", "scheduler", "tokenizer", "compiler"),
)
VERSIONS = {"1.0": "2020-01-01T00:00:00Z", "2.0": "2022-01-01T00:00:00Z"}
NEWEST = "2.0"


def write_judged(folder: Path) -> Path:
    """Two corpora, pages in two versions, 12 queries; return ``folder``, made for it."""
    dev = folder / "dev"
    dev.mkdir(parents=True)
    with gzip.open(folder / "documents.jsonl.gz", "wt", encoding="utf-8") as out:
        out.writelines(_lines(_documents()))
    queries = [
        {
            "query_id": f"q-{name}",
            "text": f"how does the {name} release what it holds?",
            "judged_corpora": ["code", "docs"],
            "versions_named": ["1.0"] if name == "cache" else [],
        }
        for name in SUBJECTS
    ]
    (dev / "queries.jsonl").write_text("".join(_lines(queries)), encoding="utf-8")
    relevant = [(name, f"code/{name}.py", 1) for name in SUBJECTS]
    relevant += [(n, _page(n, version), 2) for n in SUBJECTS for version in VERSIONS]
    lines = (f"q-{name}\t0\t{document}\t{grade}\n" for name, document, grade in relevant)
    (dev / "qrels.tsv").write_text("".join(lines), encoding="utf-8")
    groups = ["topic_key\tversion\tdate\tdoc_id\tis_newest\n"]
    groups += [
        f"{name}\t{version}\t{date}\t{_page(name, version)}\t{int(version == NEWEST)}\n"
        for name in SUBJECTS
        for version, date in VERSIONS.items()
    ]
    (folder / "version_groups.tsv").write_text("".join(groups), encoding="utf-8")
    return folder


def write_peers(data: Path, clones: Path) -> None:
    """The sets of peers in ``data``, and a clone of one of their two repositories."""
    app = clones / "org+app"
    held = 'def {0}():\n    """Release what the {0} holds."""\n'
    files = {f"src/{name}.py": held.format(name) for name in SUBJECTS[:3]}
    commit(app, "Begin", files | {"src/test_cache.py": "def test_cache(): release_the_cache()\n"})
    head = git(app, "rev-parse", "HEAD")
    for name in ("cache.py", "test_cache.py"):  # a change to review
        (app / "src" / name).write_text((app / "src" / name).read_text() + "cache()\n")
    git(app, "commit", "-q", "-a", "-m", "Call the cache (#7)")
    semble = data / "semble"
    for folder in ("dev", "peer_results"):
        (semble / folder).mkdir(parents=True)
    url = "https://github.com/org/{}.git"
    repositories = [
        {"name": name, "url": url.format(name), "revision": head, "benchmark_root": "src"}
        for name in ("app", "web")
    ]
    (semble / "repos.json").write_text(json.dumps(repositories))
    lines = {"path": "src/lock.py", "start_line": 1, "end_line": 1}
    tasks = [
        {"query": "what the cache holds", "relevant": ["cache.py"], "category": "semantic"},
        {"query": "def lock", "relevant": [lines], "secondary": [], "category": "symbol"},
    ]
    for name in ("app", "web"):
        (semble / "dev" / f"{name}.json").write_text(json.dumps(tasks))
    means = {"semantic": 0.6, "symbol": 0.8}
    peers = {"repos": [{"repo": "app", "by_category": means}]}
    (semble / "peer_results" / "semble-hybrid-1.json").write_text(json.dumps(peers))
    for name in ("app", "web"):
        dev = data / "swe" / "dev" / f"org__{name}"
        dev.mkdir(parents=True)
        number = f"org__{name}-7"
        instance = {"instance_id": number, "base_commit": head}
        (dev / "instances.jsonl").write_text(json.dumps(instance) + "\n")
        query = {"query_id": number, "text": "the queue holds too much"}
        (dev / "queries.jsonl").write_text(json.dumps(query) + "\n")
        (dev / "qrels.tsv").write_text(f"{number} 0 src/queue.py 1\n")


def write_pairs(folder: Path) -> None:
    """Equal versions of a page, and pages that no rule may join, in ``folder``, made for it."""
    (folder / "dev").mkdir(parents=True)
    text = _text("cache", "1.0")
    pairs = [
        {"relation": "same_page_other_version", "newer": "b", "a_text": text, "b_text": text},
        {
            "relation": "different_page_same_version",
            "newer": "a",
            "a_text": text,
            "b_text": _text("lock", "1.0"),
        },
    ]
    with gzip.open(folder / "dev" / "pairs.jsonl.gz", "wt", encoding="utf-8") as out:
        out.writelines(_lines(pairs))


def _documents() -> Iterable[dict[str, Any]]:
    for name in SUBJECTS:
        code = f"def release_{name}(held):\n    return held.pop('{name}')\n"
        yield {"doc_id": f"code/{name}.py", "corpus": "code", "language": "python", "text": code}
        for version, date in VERSIONS.items():
            yield {
                "doc_id": _page(name, version),
                "corpus": "docs",
                "title": f"The {name}",
                "path": f"{version}/{name}.md",
                "version": version,
                "created_at": date,
                "text": _text(name, version),
            }


def _page(name: str, version: str) -> str:
    return f"docs/{version}/{name}.md"


def _text(name: str, version: str) -> str:
    told = [f"Step {n} of the {name} is to release {n} of what the {name} holds." for n in range(9)]
    return " ".join([*told, f"Since {version} it waits."])


def _lines(rows: Iterable[dict[str, Any]]) -> Iterable[str]:
    return (json.dumps(row) + "\n" for row in rows)
