"""What the project shows of itself is true, and the house keeps its order."""

from __future__ import annotations

import ast
import doctest
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from dataflow import load_config
from dataflow.cli.console.graphs import draw_graph
from dataflow.visualization.dot import to_dot

ROOT = Path(__file__).parents[1]

FLOORS = {
    "operators": (
        {"errors", "frames"},
        {"foundation", "arrays"},
        {"ranking", "dedup", "versions"},
        {"question"},
        {"context", "embedding", "signals"},
        {"postgres"},
        {"sources", "explain", "evaluation"},
        {"report", "review"},
    ),
    "dataflow": (
        {"execution"},
        {"visualization"},
        {"configuration", "retrieval"},
        {"driver"},
        {"ingestion", "review"},
        {"evaluation", "service", "frameworks"},
        {"cli"},
    ),
    "crosscorpus": ({"model_builds"}, {"stages"}),
    "tools": ({"docs_site"},),
}
"""The rooms, from the ground up: a room imports itself and the rooms of lower floors alone."""


NODES = ROOT / "dataflow/retrieval"


@cache
def modules() -> dict[str, Path]:
    """Every module of the packages by its dotted name."""
    found = {}
    for package in FLOORS:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports(module: str) -> frozenset[str]:
    """The modules of ours that ``module`` imports, wherever in it the statement stands."""
    found = set()
    for node in ast.walk(ast.parse(modules()[module].read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in modules() else node.module)
    return frozenset(found & modules().keys() - {module})


def arrows() -> Iterator[tuple[str, str]]:
    for module in modules():
        for imported in sorted(imports(module)):
            yield module, imported


def floor(module: str) -> int | None:
    """The floor of a module's room; None for what is no room: a package, an entry point."""
    package, _, rest = module.partition(".")
    room = rest.partition(".")[0]
    return next((n for n, rooms in enumerate(FLOORS[package]) if room in rooms), None)


def test_the_pictures_show_the_graph_of_the_default_configuration() -> None:
    default = load_config("default")
    for name, stages in (("dag.dot", False), ("overview.dot", True)):
        shown = draw_graph("retrieval", default, stages=stages)
        assert (ROOT / name).read_text("utf-8") == to_dot(shown)


def test_every_folder_of_the_packages_is_a_room_that_has_a_floor() -> None:
    for package, floors in FLOORS.items():
        folders = {p.name for p in (ROOT / package).iterdir() if (p / "__init__.py").exists()}
        named = {room for rooms in floors for room in rooms}
        assert folders <= named, f"no floor: {sorted(folders - named)}"


def test_no_import_goes_from_the_operators_to_another_package() -> None:
    upward = [a for a in arrows() if a[0].startswith("operators") > a[1].startswith("operators")]
    assert not upward, "\n".join(f"{one} imports {two}" for one, two in upward)


def test_a_room_imports_only_rooms_of_lower_floors() -> None:
    wrong = []
    for one, two in arrows():
        if one.partition(".")[0] != two.partition(".")[0]:
            continue
        above, below = floor(one), floor(two)
        same_room = one.split(".")[1:2] == two.split(".")[1:2]
        if above is not None and below is not None and below >= above and not same_room:
            wrong.append(f"{one} imports {two}")
    assert not wrong, "\n".join(wrong)


def test_no_imports_run_in_a_circle() -> None:
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        if module in path:
            circle = (*path[path.index(module) :], module)
            pytest.fail(f"imports run in a circle: {' -> '.join(circle)}")
        if module not in done:
            for imported in sorted(imports(module)):
                visit(imported, (*path, module))
            done.add(module)

    for module in modules():
        visit(module, ())


@pytest.mark.parametrize("module", [m for m, p in modules().items() if ">>> " in p.read_text()])
def test_the_examples_in_docstrings_give_what_they_say(module: str) -> None:
    assert doctest.testmod(import_module(module)).failed == 0


def test_the_nodes_of_a_question_load_nothing_that_writes() -> None:
    nodes = ", ".join(f"dataflow.retrieval.{file.stem}" for file in NODES.glob("[a-z]*.py"))
    written = "sorted(name for name in sys.modules if name.startswith('operators.postgres.write'))"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys, {nodes}; print({written})"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


def test_each_promise_names_tests_that_there_are() -> None:
    promised = set(re.findall(r"`(test_\w+)`", (ROOT / "tests" / "README.md").read_text("utf-8")))
    known = {
        name
        for file in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", file.read_text("utf-8"), re.MULTILINE)
    }
    assert promised
    assert promised <= known
