"""Whether earlier commits help to find the files that a change needs: the rule `by_commits`.

    python -m benchmarks.commits scrapy=../clones/scrapy httpx=../clones/httpx --by-commits 0 0.5
    python -m benchmarks.commits scrapy=../clones/scrapy --linked-files 0 10

A repository is read as it was some commits ago, code and history. Questions are the commits that
followed with a message of four words or more; the answer are the program's files that one changed,
without tests, one to five of those that were there. Only files of code are ranked.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

import numpy as np
import polars as pl

from dataflow import load_config
from dataflow.evaluation.graph import evaluate
from dataflow.ingestion.loop import ingest
from operators.embedding.registry import load_embedder
from operators.evaluation.evaluation_frames import JUDGED_QUERIES, QRELS
from operators.evaluation.statistics import bootstrap_means
from operators.foundation.data_dir import data_home
from operators.postgres.store import open_store
from operators.signals.secondary import is_secondary
from operators.sources.chunking.grammars import GRAMMARS
from operators.sources.formats.languages import code_language
from operators.sources.git.commit_log import own_text
from operators.sources.git.git_source import git_source

MEASURES = ("Acc@1", "Acc@3", "Acc@5", "Acc@10", "R@50", "MRR")
CONFIGURATION = {"bash", "css", "html", "json", "toml", "xml", "yaml"}
MOST_FILES = 5
FEWEST_WORDS = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("clones", nargs="+", metavar="NAME=DIR", help="with their history")
    parser.add_argument("--ago", type=int, default=300, help="by how many commits to go back")
    parser.add_argument("--questions", type=int, default=150, help="the most of each repository")
    parser.add_argument("--by-commits", type=float, nargs="+", default=[0.5])
    parser.add_argument("--linked-files", type=int, nargs="+", default=[10])
    parser.add_argument("--collection", default="commits")
    options = parser.parse_args()
    base = load_config("default")
    embedder = load_embedder(base.embedding)
    configs = {
        f"{share:g}, {files}": base.with_changes(
            {
                "parameters": {"signal_weights": {"by_commits": share}},
                "corpora": {"code": {"parameters": {"linked_files": files}}},
            }
        )
        for share in options.by_commits
        for files in options.linked_files
    }
    asked: list[tuple[str, str, str, set[str]]] = []
    with open_store(collection=options.collection, create=True) as store:
        for name, _, clone in (one.partition("=") for one in options.clones):
            asked += [
                (name, *one) for one in questions(Path(clone), options.ago, options.questions)
            ]
            tree = data_home() / "benchmarks" / options.collection / name
            go_back(Path(clone), tree, options.ago)
            ingest(store, embedder, git_source(tree, name), corpora=["code", "history"])
        found = evaluate(
            store,
            configs,
            judged(asked),
            pl.DataFrame(
                [(sha, f"{name}:{path}", 1) for name, sha, _, paths in asked for path in paths],
                schema=QRELS,
                orient="row",
            ),
            embedder=embedder,
            unit="file",
            depth=0,
            measure_names=MEASURES,
        )
    show(found.corpus_scores.filter(corpus="code"), {sha: name for name, sha, *_ in asked})


def go_back(clone: Path, tree: Path, ago: int) -> None:
    """Check out ``HEAD~ago`` of ``clone`` in ``tree``, also one of an earlier run."""
    start = git(clone, "rev-parse", f"HEAD~{ago}").strip()
    if not tree.exists():
        git(clone, "clone", "-q", "--no-checkout", ".", str(tree))
    git(tree, "fetch", "-q", str(clone.resolve()), "HEAD")
    git(tree, "checkout", "-q", "--detach", start)


def questions(clone: Path, ago: int, most: int) -> list[tuple[str, str, set[str]]]:
    """The commits after ``HEAD~ago``: id, text, and the files to find; the earliest ``most``."""
    known = set(git(clone, "ls-tree", "-r", "-z", "--name-only", f"HEAD~{ago}").split("\0"))
    shas = git(clone, "rev-list", "--reverse", "--no-merges", f"HEAD~{ago}..HEAD").split()
    found = []
    for sha in shas:
        text = own_text(git(clone, "show", "-s", "--format=%B", sha))
        paths = set(git(clone, "show", "-z", "--format=", "--name-only", sha).split("\0")) & known
        code = {path for path in paths if is_source(path)}
        if 1 <= len(code) <= MOST_FILES and len(text.split()) >= FEWEST_WORDS:
            found.append((sha, text, code))
    return found[:most]


def is_source(path: str) -> bool:
    """Whether ``path`` is a program's file outside tests, and no version number.

    Commits of a robot that lifts dependencies are alike, and would say much.
    """
    return (
        code_language(path) in GRAMMARS.keys() - CONFIGURATION
        and not is_secondary(path)
        and "version" not in Path(path).stem.lower()
    )


def judged(asked: list[tuple[str, str, str, set[str]]]) -> pl.DataFrame:
    rows = [
        {"query_id": sha, "number": number, "texts": [text], "text": text, "repos": [name]}
        | {"corpora": ["code", "history"]}
        for number, (name, sha, text, _) in enumerate(asked)
    ]
    return pl.DataFrame(rows, schema=JUDGED_QUERIES)


def git(clone: Path, *arguments: str) -> str:
    command = ["git", "-C", str(clone), *arguments]
    return subprocess.run(command, capture_output=True, check=True).stdout.decode(
        "utf-8", "replace"
    )


def show(scores: pl.DataFrame, names: dict[str, str]) -> None:
    """Percent of Acc@k and R@50, and MRR with the interval of its gain over the first setting."""
    scores = scores.with_columns(repository=pl.col("query_id").replace_strict(names))
    first, *_ = configs = scores["config"].unique(maintain_order=True).to_list()
    print(
        "| repository | questions | by_commits, linked_files | "
        + " | ".join(MEASURES)
        + " | gain |"
    )
    print("|---|---|---|" + "---|" * len(MEASURES) + "---|")
    for name in [*dict.fromkeys(names.values()), "all"]:
        part = scores if name == "all" else scores.filter(repository=name)
        values = {
            (config, measure): of.sort("query_id")["value"].to_numpy()
            for (config, measure), of in part.group_by("config", "measure")
        }
        for config in configs:
            cells = [f"{100 * values[config, measure].mean():.1f}" for measure in MEASURES[:-1]]
            gain = values[config, "MRR"] - values[first, "MRR"]
            low, high = (float(end[0]) for end in bootstrap_means(gain[:, np.newaxis]))
            cells += [f"{values[config, 'MRR'].mean():.3f}"]
            cells += [f"{gain.mean():+.3f} [{low:+.3f}, {high:+.3f}]"]
            print(f"| {name} | {len(gain)} | {config} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
