"""Questions as one asks who has just cloned a repository, made from the repository itself.

    python -m benchmarks newcomer --clones DIR [--only fd cobra] [--looked] [--config NAME ...]

No model makes them: error messages (literals of the source, as printed: values in their holes),
the same as a log has them (``wrapped``: between a prefix and an error's text), names that one or
two files have, subjects of commits ("which change ...", and what a commit removed: "when was ...
dropped") and headings of pages.
The answers are known: the files with that text, the commit, the page. The repositories share one
collection, and no question names one. The score is the reciprocal rank of the first answer among
ten results. Half of the repositories are to choose on; the other half (``--looked``) is looked at
once. A question whose text more than two files have is left out.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from benchmarks.clones import add_options, clone, shallow, to_fetch
from dataflow import build_driver, load_config
from dataflow.ingestion.loop import ingest
from operators.embedding.protocol import Embedder
from operators.embedding.registry import load_embedder
from operators.errors import check_known
from operators.postgres.store import Store, open_store
from operators.signals.secondary import is_secondary
from operators.sources.git.git_source import git_source

CHOSEN_ON = {
    "pallets/click": "2c8cd3ac958a7eb316d67f2d316c27086c4c0369",
    "rack/rack": "8bf4eb078498edc9105fb04add80d89c5340e60b",
    "folke/lazy.nvim": "306a05526ada86a7b30af95c5cc81ffba93fef97",
    "sharkdp/fd": "ee20f426ddf338ac7ead5c5f00ea49258005caaf",
    "spf13/cobra": "adbc8813901bba65827259daa8e22ff94ec1f30e",
    "expressjs/express": "a3714473feb3d2908add734d340e7755fd85e0a3",
}
LOOKED_AT = {
    "elixir-plug/plug": "a898c454a04ca5ffad306bd751a15c7ac9ff6927",
    "Hejsil/zig-clap": "e91d66b1abba2024cd2e816426f14d233d3dad9a",
    "nvim-telescope/telescope.nvim": "7d324792b7943e4aa16ad007212e6acc6f9fe335",
    "psf/requests": "1f6589ec3a1ee910f9a65cc3ceac60b26677bc0e",
    "square/javapoet": "b9017a9503b76e11b4ad4c1a9f050e2d29112cb0",
    "fmtlib/fmt": "60ccad511fd680cb91d8b60a315759f71c67bef9",
    "Muvon/octocode": "8a7b94714f1b91d7ae3ba6ee4fba992cbd7a7920",
    "koajs/koa": "e0ba8ef39d27fe5dae5492f9fe753d155124f994",
    "gin-gonic/gin": "dcaa4296d111981ffb31ac3eba90bb63e1eb5ab9",
    "guzzle/guzzle": "2779e868a00289e1b1fd854af030c43a06f4bcb4",
    "apple/swift-argument-parser": "2f77f2fccb6e84fecff338c37b199e33e7dfd119",
    "serilog/serilog": "60935b4d7abad71cf6157b45a10f5c3c65ead527",
    "jhy/jsoup": "46b620860af930eedc193a705eaf7cea5aec89a6",
    "tj/commander.js": "ba6d13ddb4243e5913367734f8c159089ffe7834",
}
"""The repositories of GitHub with their revisions."""

KINDS = ("message", "filled", "wrapped", "name", "commit", "heading", "dropped")
MOST = 40
"""Questions of one kind and repository."""
COMMITS = 300
"""How many of the last commits are read."""
CUT = 10

_SOURCE = re.compile(r"\.(py|rb|lua|exs?|zig|rs|go|java|cs|[jt]sx?|cc?|cpp|h|hpp|kt|php|swift)\Z")
_LITERAL = re.compile(r"""(["'])((?:(?!\1)[^\\\n]|\\.){20,140})\1""")
_HOLE = re.compile(r"%[-+#0-9.]*[sdqvwfxri]\b|\$\{[^{}]*\}|#\{[^{}]*\}|\{[\w.:!?]*\}")
_BEFORE = ("Error: ", "ERROR: loading the configuration: ", "2026-11-03 12:07:41 WARN: ", "app: ")
_AFTER = (
    "open /etc/app/config.yml: permission denied",
    "Connection refused - connect(2) for 127.0.0.1:6379",
    "dial tcp: lookup db.internal on 10.0.0.2:53: no such host",
    "unexpected token '}' in line 14",
)
_VALUES = ("build", "42", '"deploy"', "config.yml", "main", "/tmp/app", "3.1", "user_id")
_NAME = re.compile(r"\b(?=\w*[a-z])(?=\w*(?:_\w|[a-z][A-Z]))[A-Za-z]\w{7,40}\b")
_WORD = re.compile(r"[A-Za-z]{2,}")
_PREFIX = re.compile(r"\A\w+(?:\([^)]*\))?!?:\s+")
_NUMBER = re.compile(r"\s*\(?#\d+\)?")
_DROPPED = re.compile(
    r"(?:remov|drop|delet|replac)(?:e|es|ed|ing|ping)? (.+?)"
    r"(?: (?:in|from|with|by|to|for|as|and|on)\b|$)",
    re.IGNORECASE,
)
_RELEASE = re.compile(r"\]\(|[0-9]\.[0-9]")
_UPKEEP = re.compile(r"(bump|update|upgrade|release|merge|revert|version|prepare)\b", re.IGNORECASE)
_HEADING = re.compile(r"^#{2,4} +(.{8,90}?)(?: *#*)$", re.MULTILINE)


@dataclass(frozen=True)
class Question:
    """A question of a kind, and what answers it: files and commits of a repository."""

    kind: str
    text: str
    repo: str
    answers: frozenset[str]


def questions(repo: str, tree: Path) -> list[Question]:
    """At most ``MOST`` questions of each kind, always the same ones, from the clone ``tree``."""
    files = dict(_files(tree))
    made = [*_messages(repo, files), *_names(repo, files), *_headings(repo, files)]
    made += _commits(repo, tree)
    chosen = []
    for kind in KINDS:
        of_kind = {one.text: one for one in made if one.kind == kind}
        chosen += sorted(of_kind.values(), key=lambda one: _digest(one.text))[:MOST]
    return chosen


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _files(tree: Path) -> Iterator[tuple[str, str]]:
    """The paths and texts of the tracked files."""
    for path in _git(tree, "ls-files", "-z").split("\0"):
        if path and (tree / path).is_file():
            data = (tree / path).read_bytes()
            if b"\0" not in data and len(data) < 500_000:
                yield path, data.decode("utf-8", "replace")


def _git(tree: Path, *arguments: str) -> str:
    command = ["git", "-C", str(tree), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _messages(repo: str, files: Mapping[str, str]) -> Iterator[Question]:
    """Literals of sentences; a hole has a value, as in what is printed."""
    for path, text in files.items():
        if not _SOURCE.search(path) or is_secondary(path):
            continue
        for _, literal in _LITERAL.findall(text):
            plain = _HOLE.sub("", literal)
            words = _WORD.findall(plain)
            letters = sum(map(len, words))
            if len(plain.split()) < 4 or "\\" in literal or letters < 0.7 * len(plain):
                continue
            answers = _having(literal, files)
            if len(answers) <= 2:
                kind = "filled" if plain != literal else "message"
                yield Question(kind, _filled(literal), repo, answers)
                yield Question("wrapped", _wrapped(literal), repo, answers)


def _wrapped(literal: str) -> str:
    """``literal`` as a log has it: behind a prefix, and an error's text where it ends in a hole.

    >>> _wrapped("could not read %s").rpartition(": ")[0] != "could not read"
    True
    """
    number = int(_digest(literal), 16)
    before, after = _BEFORE[number % len(_BEFORE)], _AFTER[number // 7 % len(_AFTER)]
    begin, hole, end = literal.rpartition(holes[-1] if (holes := _HOLE.findall(literal)) else "\0")
    open_end = bool(hole) and not end.strip(" .!")
    return before + (_filled(begin) + after if open_end else f"{_filled(literal)}, in line 14")


def _filled(literal: str) -> str:
    """``literal`` with a value in each hole.

    >>> _filled("task %q is not up to date") == _filled("task {name} is not up to date")
    False
    """
    number = int(_digest(literal), 16)
    values = iter(_VALUES[(number + n) % len(_VALUES)] for n in range(len(literal)))
    return _HOLE.sub(lambda _: next(values), literal)


def _having(text: str, files: Mapping[str, str]) -> frozenset[str]:
    return frozenset(path for path, held in files.items() if text in held)


def _names(repo: str, files: Mapping[str, str]) -> Iterator[Question]:
    """Names of code that one or two files have."""
    having: dict[str, set[str]] = defaultdict(set)
    for path, text in files.items():
        for name in set(_NAME.findall(text)):
            having[name].add(path)
    for name, paths in having.items():
        source = any(_SOURCE.search(path) and not is_secondary(path) for path in paths)
        if source and len(paths) <= 2:
            yield Question("name", f"what does {name} do", repo, frozenset(paths))


def _headings(repo: str, files: Mapping[str, str]) -> Iterator[Question]:
    """Headings of pages that one page has, but not of a changelog's releases."""
    for path, text in files.items():
        if path.endswith(".md"):
            for heading in _HEADING.findall(text):
                words = heading.split()
                if not 3 <= len(words) <= 9 or _RELEASE.search(heading):
                    continue
                if len(of := _having(heading, files)) <= 2:
                    yield Question("heading", heading, repo, of)


def _commits(repo: str, tree: Path) -> Iterator[Question]:
    """Subjects of commits, without what a forge or a convention puts around them."""
    lines = _git(tree, "log", "--no-merges", "--format=%H %s").splitlines()
    subjects, dropped = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for line in lines:
        commit, _, subject = line.partition(" ")
        bare = _NUMBER.sub("", _PREFIX.sub("", subject)).strip()
        if len(_WORD.findall(bare)) >= 4 and not _UPKEEP.match(bare):
            subjects[f"which change was it: {bare[:1].lower()}{bare[1:]}"].add(commit)
        if (what := _DROPPED.match(bare)) and len(what[1].split()) <= 3:
            dropped[f"when was {what[1]} dropped and what replaced it?"].add(commit)
    for kind, texts in (("commit", subjects), ("dropped", dropped)):
        for text, commits in texts.items():
            if len(commits) <= 2:
                yield Question(kind, text, repo, frozenset(commits))


def ranks(
    store: Store, embedder: Embedder, config: str, asked: list[Question], changes: str = ""
) -> list[int | None]:
    """The rank from 1 of the first answer to each question; None: not among ``CUT`` results."""
    settings = load_config(config)
    frame = pl.DataFrame(
        {"query_id": range(len(asked)), "text": [one.text for one in asked]},
        schema_overrides={"query_id": pl.UInt32},
    )
    best: list[int | None] = [None] * len(asked)
    with build_driver(settings, store=store, embedder=embedder) as driver:
        for start in range(0, len(asked), 100):
            out = driver.execute(
                ["results"], {"top_k": CUT}, {"queries": frame[start : start + 100]}
            )
            columns = out["results"]["query_id", "rank", "repo", "path", "document_id"]
            for query_id, rank, repo, path, document in columns.iter_rows():
                one = asked[query_id]
                right = repo == one.repo and not one.answers.isdisjoint((path, document))
                best[query_id] = best[query_id] or (rank + 1 if right else None)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser, "newcomer")
    parser.add_argument("--looked", action="store_true", help="the half that is looked at once")
    options = parser.parse_args()
    known = LOOKED_AT if options.looked else CHOSEN_ON
    short = {name.partition("/")[2]: name for name in known}
    for name in options.only or ():
        check_known("repository", name, short)
    embedder = load_embedder(load_config(options.config[0]).embedding)
    collection = f"{options.collection}_looked" if options.looked else options.collection
    asked: list[Question] = []
    with open_store(collection=collection, create=True) as store:
        for name in [short[one] for one in options.only or short]:
            url = f"https://github.com/{name}.git"
            if line := to_fetch(options.clones, url, [known[name]]):
                print(f"to fetch: {line}")
                continue
            cloned = clone(options.clones, url)
            assert cloned is not None
            tree = shallow(cloned, known[name], name, COMMITS)
            ingest(store, embedder, git_source(tree, name))
            asked += questions(name, tree)
        print("| configuration | kind | questions | first | in ten | MRR |")
        print("|---|---|---|---|---|---|")
        for config in options.config:
            show(config, asked, ranks(store, embedder, config, asked))


def show(config: str, asked: list[Question], found: list[int | None]) -> None:
    """A row of each kind, and one of all."""
    for kind in (*KINDS, "all"):
        own = [r for one, r in zip(asked, found, strict=True) if kind in (one.kind, "all")]
        if own:
            first, ten = sum(r == 1 for r in own), sum(r is not None for r in own)
            mean = sum(1 / r for r in own if r) / len(own)
            print(f"| {config} | {kind} | {len(own)} | {first} | {ten} | {mean:.3f} |")


if __name__ == "__main__":
    main()
