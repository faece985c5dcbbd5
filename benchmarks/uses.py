"""Whether the places that use a name are found: by the filter `uses`, and by "who calls it?".

    python -m benchmarks.uses operators dataflow --files 400
    python -m benchmarks.uses operators dataflow --ask COLLECTION

Truth is Python's own parser. The names are functions and classes that the files define; those that
are asked for have two words or more, one definition, and one to eight other files that use them.
"""

import argparse
import ast
import json
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dataflow import build_driver
from operators.ranking.definitions import definition_of, use_of, used_twice
from operators.sources.chunking.chunker import chunk_documents
from operators.sources.protocol import Document, document_frame

WORD = re.compile(r"[a-z]+")
SEVERAL = re.compile(r"_|[a-z][A-Z]")
FORMS = ("Who calls {}?", "Where is {} used?", "What uses {}?", "callers of {}")
OF_TESTS = ("Which tests cover {}?", "How is {} tested?", "tests of {}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--files", type=int, default=400, help="how many, at random")
    parser.add_argument("--names", type=int, default=1_500, help="how many of each kind, at random")
    parser.add_argument(
        "--ask", metavar="COLLECTION", help="ask it for users of names; it has the working folder"
    )
    options = parser.parse_args()
    if options.ask:
        print(
            "| questions | | nDCG@10 | recall@10 | one of the first five |\n|---|---|---|---|---|"
        )
        for of_tests in (False, True):
            print(ask(options.ask, options.folders, options.names, of_tests=of_tests))
        return
    random_ = random.Random(1)
    files = sorted(file for folder in options.folders for file in folder.rglob("*.py"))
    random_.shuffle(files)
    texts = dict(enumerate(parsed(files[: options.files])))
    names = sorted({name for _, tree in texts.values() for name in defined(tree)})
    random_.shuffle(names)
    chunks = chunks_of({number: text for number, (text, _) in texts.items()})
    true = {number: uses(tree) for number, (_, tree) in texts.items()}
    words = [name for name in names if WORD.fullmatch(name)][: options.names]
    others = [name for name in names if not WORD.fullmatch(name)][: options.names]
    listed = [len(json.dumps(held)) for *_, held in chunks if held is not None]
    print(f"{len(texts)} files, {len(chunks)} passages; the list of a passage has", end=" ")
    print(f"{sum(listed) / max(1, len(listed)):.0f} characters on average\n")
    print("| names | way | precision | recall |\n|---|---|---|---|")
    for kind, some in (("one lower-case word", words), ("others", others)):
        for way, (precision, recall) in scores(some, chunks, true).items():
            print(f"| {kind}, {len(some)} | {way} | {precision:.3f} | {recall:.3f} |")


def ask(collection: str, folders: Iterable[Path], most: int, *, of_tests: bool) -> str:
    """How well "who calls it?" finds the other files, or tests, that use a name: a row."""
    places, users = defaultdict(list), defaultdict(set)
    for file in sorted(file for folder in folders for file in folder.rglob("*.py")):
        for _, tree in parsed([file]):
            for name in defined(tree):
                places[name].append(file.as_posix())
            for name in uses(tree):
                users[name].add(file.as_posix())
    others = {name: users[name].difference(places[name]) for name in sorted(places)}
    if of_tests:
        others = {n: {file for file in of if "test" in file.lower()} for n, of in others.items()}
    forms = OF_TESTS if of_tests else FORMS
    wanted = [
        name
        for name in others
        if SEVERAL.search(name.strip("_")) and len(places[name]) == 1 and 0 < len(others[name]) < 9
    ]
    random.Random(2).shuffle(wanted)
    gains: list[tuple[float, float, bool]] = []
    with build_driver("default", collection) as driver:
        for number, name in enumerate(wanted[:most]):
            answer = driver.ask(forms[number % len(forms)].format(name))
            files = list(dict.fromkeys(one.path for one in answer if one.path))
            hits = [file in others[name] for file in files[:10]]
            found = sum(hit / math.log2(place + 2) for place, hit in enumerate(hits))
            best = sum(1 / math.log2(place + 2) for place in range(len(others[name])))
            gains.append((found / best, sum(hits) / len(others[name]), any(hits[:5])))
    means = (sum(column) / max(1, len(gains)) for column in zip(*gains, strict=True))
    kind = "its tests" if of_tests else "its users"
    return f"| {len(gains)} | {kind} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |"


def parsed(files: Iterable[Path]) -> Iterator[tuple[str, ast.Module]]:
    """The texts of the files that Python reads."""
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
            yield text, ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            continue


def defined(tree: ast.Module) -> Iterator[str]:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    names = (node.name for node in ast.walk(tree) if isinstance(node, kinds))
    return (name for name in names if not name.startswith("__") and len(name) > 2)


def uses(tree: ast.Module) -> dict[str, set[int]]:
    """The lines, from 1, of what each name is read on, local variables apart."""
    nodes = list(ast.walk(tree))
    local = {node.arg for node in nodes if isinstance(node, ast.arg)}
    local |= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    lines = defaultdict(set)
    for node in nodes:
        if isinstance(node, ast.Attribute):
            lines[node.attr].add(node.end_lineno or 0)
        elif isinstance(node, ast.Name) and node.id not in local:
            lines[node.id].add(node.lineno)
        elif isinstance(node, ast.alias):
            for part in node.name.split("."):
                lines[part].add(node.lineno)
    return lines


def chunks_of(texts: dict[int, str]) -> list[tuple[int, str, int, int, list[str] | None]]:
    """The passages of the texts: number, text, first and last line, names used."""
    documents = [
        Document(str(number), "code", "bench", None, text, path=f"{number}.py", language="python")
        for number, text in texts.items()
    ]
    made = chunk_documents(document_frame(documents), lambda some: [len(t.split()) for t in some])
    columns = made.select("document_id", "text", "start_line", "end_line", "metadata")
    return [
        (int(number), text, first, last, json.loads(metadata or "{}").get("uses"))
        for number, text, first, last, metadata in columns.iter_rows()
    ]


def scores(
    names: Iterable[str], chunks: list[Any], true: dict[int, dict[str, set[int]]]
) -> dict[str, tuple[float, float]]:
    """Precision and recall over all passages that have a name in their text, for each way."""
    counts: dict[str, Counter[tuple[bool, bool]]] = defaultdict(Counter)
    for name in names:
        use, twice = re.compile(use_of(name)), re.compile(used_twice(name))
        definition = definition_of(name)
        for number, text, first, last, listed in chunks:
            if name not in text:
                continue
            is_true = any(first <= line <= last for line in true[number].get(name, ()))
            by_text = use.search(text) and (not definition.search(text) or twice.search(text))
            by_tree = by_text if listed is None else name in listed
            counts["text"][bool(by_text), is_true] += 1
            counts["syntax tree"][bool(by_tree), is_true] += 1
    return {
        way: (
            of[True, True] / max(1, of[True, True] + of[True, False]),
            of[True, True] / max(1, of[True, True] + of[False, True]),
        )
        for way, of in counts.items()
    }


if __name__ == "__main__":
    main()
