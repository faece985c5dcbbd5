"""How well the versions of one topic find each other, without knowing the topic.

    python -m benchmarks lineage [--joined] [--clones DIR [--anchors-alone]]
    python -m benchmarks.lineage SET ... [--joined] [--clones DIR [--anchors-alone]]

A pair of documents is right if the judgement file has both under one topic. "newest" is the share
of topics (two versions or more) whose newest version is the newest of its lineage, of the oldest's
and of every other version's. "joined" counts the lineages that have more than one topic: pytest's
file takes a page that was moved to another folder for two topics, so that each move counts as an
error there (`--joined` prints them). The second line of a set is found without its identifiers.

With `--clones` the sections of public documents are judged too, by the history of their
repositories (:mod:`benchmarks.section_history`). "consecutive" is the share of the sections of two
consecutive versions of one topic that are in one lineage. The naive line takes sections of one path
and heading for one topic. The others say how titles are written; the last has no identifiers.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from benchmarks import section_history
from benchmarks.clones import add_clones, clone, to_fetch
from benchmarks.judged import set_folder
from operators.versions.lineage import LINEAGE_DOCUMENTS, lineages
from operators.versions.text_sketches import sketch

SETS = ("rpcver", "versionrag", "pytest", "btc")
LAST_FORM = list(section_history.FORMS)[-1]


def candidates(folder: Path, *, identifiers: bool = True) -> pl.DataFrame:
    """The versioned documents of a set, as lineages are found from; opaque without identifiers."""
    rows = []
    with gzip.open(folder / "documents.jsonl.gz", "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            row = json.loads(line)
            if row["corpus"] != "docs":
                continue
            rows.append(
                {
                    "document_key": row["doc_id"],
                    "repo": row.get("repo") or row.get("project") or "",
                    "document_id": row["doc_id"] if identifiers else f"{number * 7919 % 1_000_003}",
                    "path": row.get("path"),
                    "title": row.get("title"),
                    "version": row.get("version"),
                    "doc_date": row.get("created_at"),
                    "date_source": "explicit",
                    "topic": None,
                    "sketch": sketch(row["text"]).astype("<u4").tobytes(),
                }
            )
    frame = pl.DataFrame(rows, schema={**LINEAGE_DOCUMENTS, "doc_date": pl.String()})
    return frame.with_columns(
        pl.col("doc_date").str.to_datetime("%+", time_unit="us", time_zone="UTC")
    )


def truth(folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The topic of each document, and the newest document of each topic."""
    topics, newest = {}, {}
    with (folder / "version_groups.tsv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            topics[row["doc_id"]] = row["topic_key"]
            if row.get("is_newest", row.get("is_newest_by_version")) == "1":
                newest[row["topic_key"]] = row["doc_id"]
    return topics, newest


def judge(
    found: pl.DataFrame, topics: Mapping[str, str], newest: Mapping[str, str]
) -> dict[str, float]:
    """Precision and recall over pairs, and how many topics and old versions find their newest."""
    of = dict(found.select("document_key", "lineage_id").iter_rows())
    top = dict(found.filter("newest").select("lineage_id", "document_key").iter_rows())
    judged = {key: name for key, name in of.items() if key in topics}
    made = Counter(judged.values())
    both = Counter((name, topics[key]) for key, name in judged.items())
    right = sum(n * (n - 1) // 2 for n in both.values())
    made_pairs = sum(n * (n - 1) // 2 for n in made.values())
    true_pairs = sum(n * (n - 1) // 2 for n in Counter(topics.values()).values())
    groups = defaultdict(list)
    for key, topic in topics.items():
        groups[topic].append(key)
    several = {topic: keys for topic, keys in groups.items() if len(keys) > 1}
    old = [(key, topic) for topic, keys in several.items() for key in keys if key != newest[topic]]
    whole = [all(top.get(of.get(k, "")) == newest[t] for k in ks) for t, ks in several.items()]
    return {
        "lineages": float(found["lineage_id"].n_unique()),
        "joined": float(sum(n > 1 for n in Counter(name for name, _ in both).values())),
        "precision": right / max(made_pairs, 1),
        "recall": right / max(true_pairs, 1),
        "topics newest": sum(whole) / max(len(whole), 1),
        "old newest": sum(top.get(of.get(k, "")) == newest[t] for k, t in old) / max(len(old), 1),
    }


def joined_topics(found: pl.DataFrame, topics: Mapping[str, str]) -> dict[str, list[str]]:
    """The lineages that have documents of several topics."""
    of = defaultdict(set)
    for key, name in found.select("document_key", "lineage_id").iter_rows():
        if key in topics:
            of[name].add(topics[key])
    return {name: sorted(several) for name, several in sorted(of.items()) if len(several) > 1}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    histories = section_history.HISTORIES
    help_sets = f"folders of judged data; with --clones also {', '.join(histories)}"
    parser.add_argument("sets", nargs="*", metavar="SET", help=help_sets)
    parser.add_argument("--joined", action="store_true", help="print lineages of several topics")
    add_clones(parser)
    help_alone = "with --clones: sections that have different anchors are never one topic"
    parser.add_argument("--anchors-alone", action="store_true", help=help_alone)
    options = parser.parse_args()
    folders = [
        name for name in options.sets or SETS if options.clones is None or name not in histories
    ]
    if folders:
        judged_sets(folders, joined=options.joined)
    if options.clones is not None:
        public = [name for name in options.sets or histories if name in histories]
        public_documents(options.clones, public, anchors_alone=options.anchors_alone)


def judged_sets(names: Iterable[str], *, joined: bool) -> None:
    """Print a table of sets that have a judgement file."""
    print(
        "set          ids  docs lineages joined precision recall  newest: topics, old versions"
        "  seconds"
    )
    for name in names:
        folder = set_folder(name)
        if not folder.exists():
            print(f"{name}: the judged data is not here")
            continue
        topics, newest = truth(folder)
        for identifiers in (True, False):
            documents = candidates(folder, identifiers=identifiers)
            began = time.process_time()
            made = lineages(documents)
            took = time.process_time() - began
            scores = judge(made, topics, newest)
            print(
                f"{name:12} {'yes' if identifiers else 'no':4}{documents.height:5}"
                f" {scores['lineages']:8.0f} {scores['joined']:6.0f}"
                f" {scores['precision']:9.4f} {scores['recall']:6.4f}"
                f" {scores['topics newest']:8.3f} {scores['old newest']:6.3f} {took:24.1f}"
            )
        if joined:
            for lineage, several in joined_topics(made, topics).items():
                print(f"    {lineage}: {', '.join(several)}")


def public_documents(clones: Path, names: Iterable[str], *, anchors_alone: bool = False) -> None:
    """Print a table of the histories ``names``; says how to fetch what ``clones`` lacks."""
    print(
        "set          titles                         sections topics precision recall consecutive"
        "  seconds"
    )
    for name in names:
        history = section_history.HISTORIES[name]
        if missing := to_fetch(clones, history.url, history.revisions.values()):
            print(f"to fetch: {missing}")
            continue
        cloned = clone(clones, history.url)
        assert cloned is not None
        of = section_history.editions(cloned, history)
        right = section_history.truth(of, anchors_alone=anchors_alone)
        counts = f"{len(right.topics):8} {len(set(right.topics.values())):6}"
        naive = section_history.judge(section_history.by_path_and_heading(of), right)
        print(_row(name, "naive: path and heading", counts, naive), flush=True)
        for form in section_history.FORMS:
            identifiers = form != LAST_FORM
            documents = section_history.documents(of, form, identifiers=identifiers)
            began = time.process_time()
            made = lineages(documents)
            took = time.process_time() - began
            scores = section_history.judge(made, right)
            titles = form if identifiers else f"{form}, no ids"
            print(f"{_row(name, titles, counts, scores)} {took:8.1f}", flush=True)


def _row(name: str, titles: str, counts: str, scores: section_history.Scores) -> str:
    shares = f"{scores.precision:9.3f} {scores.recall:6.3f} {scores.joined:11.3f}"
    return f"{name:12} {titles:30} {counts} {shares}"


if __name__ == "__main__":
    main()
