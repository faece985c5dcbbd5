"""The context for a change under review, judged by what others' review remarks turned out to need.

    python -m benchmarks aacr --aacr positive_samples.json --clones DIR [--only gofr]

AACR-Bench has remarks on pull requests, with the level of context that each needs. Of a pull
request, ``review``, the plain question and ``grep`` are given the whole diff, and the tree before
it, and fill the same budgets of tokens (as in ``benchmarks.review``). Then of each remark:

- names: the names and paths in its prose that the diff does not contain and the tree does. The
  share of them that a context has.
- definitions: the names in its prose, also those of the diff, that at most three files of the
  tree define and the diff does not. The share of them whose definition a context shows.
- near: whether it shows lines of the same file within 60 lines of the remark, outside of the hunks.

An entry is of use if it has one of the names or paths, or one of the definitions. A reviewer may
need what he does not name, so that these are no absolute measures: they compare the three.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from benchmarks.aacr_remarks import LEVELS, Pull, Remark, pulls, repositories
from benchmarks.clones import add_options, clone, to_fetch
from benchmarks.judged import data_folder
from benchmarks.review import BUDGETS, Lines, asked, grepped, read, reviewed
from dataflow import build_driver, load_config
from operators.embedding.registry import load_embedder
from operators.postgres.store import open_store
from operators.ranking.definitions import definition_of, use_of
from operators.review.changed_names import SHORTEST
from operators.review.changes import ChangedFile, read_change
from operators.sources.git.git_process import GitError

DATA = "https://github.com/alibaba/aacr-bench"
FILE = "dataset/positive_samples.json"
SYSTEMS = ("review", "plain", "grep")
NEAR = 60
"""Lines between a remark and what of its file may help."""

FEW = 3
"""Files that define a name; one that more define is a variable, or any of them might be meant."""

MAX_BYTES = 1_000_000
"""Of a file of the tree that is looked through."""

Key = tuple[str, str, int]
"""Level, system, tokens."""

_FENCED = re.compile(r"```.*?(?:```|\Z)", re.S)
_QUOTED = re.compile(r"`[^`\s]+`")
_PATH = re.compile(r"[\w@.-]+(?:/[\w@.-]+)*\.[A-Za-z]{1,5}\b")
_NAME = re.compile(r"(?:[^\W\d]\w*(?:\.|::|->))*([^\W\d]\w+)(\()?")
_CODE_LIKE = re.compile(r"[a-z\d][A-Z]|\w_\w")


class Need(NamedTuple):
    """A name or path of a remark; ``use``, ``definition``: what to look for; None: the diff has it,
    or the tree has not."""

    use: re.Pattern[str] | None
    definition: re.Pattern[str] | None
    paths: frozenset[str] = frozenset()


@dataclass
class Tally:
    """What the contexts of a system have; ``names`` to ``near``: a value for each remark."""

    names: list[float] = field(default_factory=list)
    definitions: list[float] = field(default_factory=list)
    near: list[float] = field(default_factory=list)
    entries: list[float] = field(default_factory=list)
    of_use: int = 0

    def row(self) -> str:
        """The cells of its row; in parentheses the number of remarks."""
        cells = [f"{_mean(o):.3f} ({len(o)})" for o in (self.names, self.definitions, self.near)]
        use = self.of_use / max(sum(self.entries), 1)
        return " | ".join([*cells, f"{_mean(self.entries):.1f}", f"{use:.3f}"])


class Tree:
    """The files of a tree, to say what stands in them."""

    def __init__(self, folder: Path) -> None:
        self.texts = {
            path.relative_to(folder).as_posix(): path.read_text("utf-8", "replace")
            for path in sorted(folder.rglob("*"))
            if path.is_file() and ".git" not in path.parts and path.stat().st_size <= MAX_BYTES
        }

    def shown(self, lines: Lines) -> str:
        """The text of these lines."""
        path, first, last = lines
        return "\n".join(self.texts.get(path, "").split("\n")[max(first, 1) - 1 : last])

    def count(self, name: str, pattern: re.Pattern[str]) -> int:
        """The number of files in which ``pattern`` is found, which has ``name``."""
        return sum(name in text and bool(pattern.search(text)) for text in self.texts.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser, "aacr")
    default = data_folder() / "aacr" / "positive_samples.json"
    parser.add_argument("--aacr", type=Path, metavar="FILE", default=default, help="its remarks")
    options = parser.parse_args()
    if not options.aacr.is_file():
        print(f"to fetch: git clone {DATA}, and give --aacr its {FILE}")
        return
    tallies: dict[Key, Tally] = {
        (lv, s, b): Tally() for lv in LEVELS for s in SYSTEMS for b in BUDGETS
    }
    for url, rows in repositories(options.aacr, options.only).items():
        cloned = clone(options.clones, url)
        if cloned is None:
            print(f"to fetch: {to_fetch(options.clones, url, ())}")
            continue
        judged = []
        for pull in pulls(cloned, rows):
            repo = f"{url.rpartition('/')[2]}/{pull.number}"
            try:
                tree, shown = contexts(options, cloned, repo, pull)
            except GitError as error:
                print(f"left out: {repo}: {error}")
                continue
            judge(pull, tree, shown, tallies)
            judged.append(pull)
        levels = [sum(one.level == lv for p in judged for one in p.remarks) for lv in LEVELS]
        print(f"{url}: {len(judged)} of {len(rows)} pull requests, remarks {levels}", flush=True)
    print("\n| level | system | tokens | names | definitions | near | entries | of use |")
    print("|---|---|---|---|---|---|---|---|")
    for (level, system, budget), tally in tallies.items():
        print(f"| {level} | {system} | {budget} | {tally.row()} |")


def contexts(
    options: argparse.Namespace, cloned: Path, repo: str, pull: Pull
) -> tuple[Tree, dict[tuple[str, int], list[Lines]]]:
    """The tree before a pull request, and what each system shows of it in each budget.

    The tree is a collection of its own, so that no other one's pages are found.
    """
    config = load_config(options.config[0]).with_changes({"variants": {"packed": "tokens"}})
    embedder, one = load_embedder(config.embedding), pull.change
    collection = f"{options.collection}-{repo.replace('/', '-')}"
    with open_store(collection=collection, create=True) as store:
        folder = read(store, embedder, cloned, one.base, repo)
        with build_driver(config, store=store, embedder=embedder) as driver:
            shown = {("review", b): reviewed(driver, one, repo, b) for b in BUDGETS}
            shown |= {("plain", b): asked(driver, one, repo, b) for b in BUDGETS}
            shown |= {("grep", b): grepped(driver, folder, one, b) for b in BUDGETS}
    return Tree(folder), shown


def judge(
    pull: Pull,
    tree: Tree,
    found: dict[tuple[str, int], list[Lines]],
    tallies: dict[Key, Tally],
) -> None:
    """Count what the contexts of a pull request have of what its remarks need."""
    files = {file.old_path: file for file in read_change(pull.change.patch).files}
    patch = pull.change.patch.decode("utf-8", "replace")
    remarks = [(one, needed(one.note, patch, tree)) for one in pull.remarks]
    for (level, system, budget), tally in tallies.items():
        entries = found[system, budget]
        lines = {(path, n) for path, first, last in entries for n in range(first, last + 1)}
        shown = [(entry, tree.shown(entry)) for entry in entries]
        own = [(remark, needs) for remark, needs in remarks if remark.level == level]
        for remark, needs in own:
            _count(tally, needs, shown)
            if around := _around(remark, files.get(remark.path), tree):
                tally.near.append(bool(lines & around))
        if every := [need for _, needs in own for need in needs]:
            tally.entries.append(len(entries))
            tally.of_use += sum(any(_has(need, *both) for need in every) for both in shown)


def _count(tally: Tally, needs: list[Need], shown: list[tuple[Lines, str]]) -> None:
    """Count the names and definitions of a remark that a context has."""
    if new := [need._replace(definition=None) for need in needs if need.use]:
        tally.names.append(_mean([any(_has(one, *entry) for entry in shown) for one in new]))
    if patterns := [need.definition for need in needs if need.definition]:
        shares = [any(one.search(text) for _, text in shown) for one in patterns]
        tally.definitions.append(_mean(shares))


def needed(note: str, patch: str, tree: Tree) -> list[Need]:
    """The names and paths of a remark that the diff does not tell about and the tree does.

    Names are written like code, or stand in backticks; what a remark proposes as code is left out,
    and so is a word in small letters that nothing calls.
    """
    plain = re.sub("(?m)^[ +-]", "", patch)
    prose = _FENCED.sub(" ", note)
    needs: dict[str, Need] = {}
    for path in set(_PATH.findall(prose)):
        meant = frozenset(one for one in tree.texts if f"/{one}".endswith(f"/{path}"))
        if meant and path.rpartition("/")[2] not in patch:
            needs[path] = Need(re.compile(re.escape(path)), None, meant)
    quoted = " ".join(_QUOTED.findall(prose))
    for text, every in ((prose, False), (quoted, True)):
        for name, called in _NAME.findall(text):
            likely = called or _CODE_LIKE.search(name) or (every and not name.islower())
            if likely and len(name) >= SHORTEST:
                use, definition = re.compile(use_of(name)), definition_of(name)
                new = not re.search(rf"\b{name}\b", patch) and tree.count(name, use)
                defined = not definition.search(plain) and 0 < tree.count(name, definition) <= FEW
                if new or defined:
                    needs[name] = Need(use if new else None, definition if defined else None)
    return list(needs.values())


def _has(need: Need, entry: Lines, text: str) -> bool:
    patterns = (need.use, need.definition)
    return entry[0] in need.paths or any(one and one.search(text) for one in patterns)


def _around(remark: Remark, file: ChangedFile | None, tree: Tree) -> set[tuple[str, int]]:
    """The lines of a remark's file that are near it and in no hunk."""
    if remark.path is None or file is None:
        return set()
    last = min(remark.last + NEAR, tree.texts.get(remark.path, "").count("\n"))
    lines = set(range(max(remark.first - NEAR, 1), last + 1))
    for hunk in file.hunks:
        lines -= set(range(hunk.old_start, hunk.old_start + hunk.old_count))
    return {(remark.path, line) for line in lines}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(len(values), 1)


if __name__ == "__main__":
    main()
