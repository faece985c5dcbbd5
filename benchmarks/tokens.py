"""What an agent pays: recall of the judged files by the tokens that it has read, as semble counts.

    python -m benchmarks tokens --clones DIR [--only redux zig-clap]

On semble's questions about code. A file counts as found once anything that was read is of it; a
token is four characters. Three ways to read: a brief answer, result by result, as the tool `search`
gives it; the context of `get_context` at each budget; and grep, as one uses it by hand: of the
question's words the three that fewest files have, their lines with ten around, the files with most
of these words first.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.clones import add_options, clone, read_tree
from benchmarks.judged import set_folder
from benchmarks.semble import is_inside, present, repositories, targets
from dataflow import build_driver, load_config
from dataflow.service import tools
from dataflow.service.tools import Service
from operators.embedding.registry import load_embedder
from operators.foundation.data_dir import data_home
from operators.foundation.tokenizer import STOP_WORDS
from operators.postgres.store import open_store

BUDGETS = (250, 500, 1_000, 2_000, 4_000)
PEER = {500: 0.685, 1_000: 0.849, 2_000: 0.938, 4_000: 0.976}
"""semble's own figures, of its 1,251 questions on 63 repositories."""
CHARACTERS = 4
AROUND = 10
WORDS = 3

Read = Iterator[tuple[str, int]]
"""Files in the order in which they are read, each with the characters read of it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser, "semble")
    options = parser.parse_args()
    there = present(repositories(set_folder("semble"), options.only), options.clones)
    if not there:
        print(f"left out: no repository of the benchmark is in {options.clones}")
        return
    settings = load_config(options.config[0]).with_changes({"variants": {"packed": "tokens"}})
    embedder = load_embedder(settings.embedding)
    found: dict[str, list[list[float]]] = {"search, brief": [], "get_context": [], "grep": []}
    with (
        open_store(collection=options.collection, create=True) as store,
        build_driver(settings, store=store, embedder=embedder) as driver,
    ):
        service = Service(driver, store)
        for one in there:
            cloned = clone(options.clones, one["url"])
            assert cloned is not None
            keep = partial(is_inside, one.get("benchmark_root"))
            read_tree(store, embedder, cloned, one["revision"], one["name"], keep)
            tree = data_home() / "benchmarks" / store.collection / one["name"] / one["revision"]
            tasks = json.loads(
                (set_folder("semble") / "dev" / f"{one['name']}.json").read_text("utf-8")
            )
            files = dict(_files(tree))
            for task in tasks:
                wanted = {path for path, *_ in targets(task)}
                asked = {"corpora": ["code"], "repos": [one["name"]]}
                read = list(_searched(service, task["query"], asked))
                found["search, brief"].append([recall(read, wanted, most) for most in BUDGETS])
                found["get_context"].append(
                    [_in_context(service, task["query"], asked, wanted, most) for most in BUDGETS]
                )
                read = list(_grepped(task["query"], files))
                found["grep"].append([recall(read, wanted, most) for most in BUDGETS])
    count = len(found["grep"])
    print(f"| {count} questions | " + " | ".join(f"{most:,}" for most in BUDGETS) + " |")
    print("|---|" + "---|" * len(BUDGETS))
    for name, rows in found.items():
        means = [sum(column) / count for column in zip(*rows, strict=True)]
        print(f"| {name} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")
    print("| semble's own | " + " | ".join(str(PEER.get(most, "")) for most in BUDGETS) + " |")


def recall(read: Sequence[tuple[str, int]], wanted: set[str], most: int) -> float:
    """The share of the ``wanted`` files among those that are read with ``most`` tokens.

    >>> recall([("a.py", 400), ("b.py", 400)], {"a.py", "b.py"}, 150)
    0.5
    """
    left, seen = most * CHARACTERS, set[str]()
    for path, size in read:
        left -= size
        if left < 0:
            break
        seen.add(path)
    return len(seen & wanted) / len(wanted)


def _searched(service: Service, text: str, asked: Mapping[str, Any]) -> Read:
    """The results of a brief answer, until there are no more."""
    cursor: str | None = "0"
    while cursor is not None:
        answer = tools.search(service, text, top_k=50, cursor=cursor, brief=True, **asked)
        for hit in answer.results:
            yield _path(hit.title), len(hit.model_dump_json())
        cursor = answer.next_cursor


def _path(label: str) -> str:
    """The path in the label of a passage of code: ``[code: NAME/src/a.py:1-9 f]``."""
    found = re.match(r"\[\w+: [^/]+/(.+?)(?::\d+-\d+.*)?\]$", label)
    return found[1] if found else label


def _in_context(
    service: Service, text: str, asked: Mapping[str, Any], wanted: set[str], most: int
) -> float:
    answer = tools.get_context(service, text, max_tokens=most, brief=True, **asked)
    return sum(f"/{path}" in answer.text for path in wanted) / len(wanted)


def _grepped(text: str, files: Mapping[str, list[str]]) -> Read:
    """The lines around the question's rarest words, file by file."""
    words = {word.lower() for word in re.findall(r"\w{3,}", text)} - STOP_WORDS
    having = {w: {p for p, lines in files.items() if w in "\n".join(lines)} for w in words}
    rare = sorted((w for w in words if having[w]), key=lambda w: (len(having[w]), w))[:WORDS]
    paths = {path for word in rare for path in having[word]}
    for path in sorted(paths, key=lambda p: (-sum(p in having[w] for w in rare), p)):
        lines, shown = files[path], set[int]()
        for number, line in enumerate(lines):
            if any(word in line for word in rare):
                shown |= {*range(max(0, number - AROUND), min(len(lines), number + AROUND + 1))}
        yield path, sum(len(lines[number]) + 6 for number in shown)


def _files(tree: Path) -> Iterator[tuple[str, list[str]]]:
    """The files of a tree, in lower case, as lines."""
    for file in sorted(tree.rglob("*")):
        if file.is_file() and file.stat().st_size < 1_000_000:
            text = file.read_bytes().decode("utf-8", "replace").lower()
            yield str(file.relative_to(tree)), text.split("\n")


if __name__ == "__main__":
    main()
