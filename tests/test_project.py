"""What the project shows of itself is true, and the house keeps its order."""

from __future__ import annotations

import ast
import doctest
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from dataflow import load_config
from dataflow.cli.console.graphs import draw_graph
from dataflow.driver.reports import ranked_lists
from dataflow.driver.retrieval_driver import build_graph
from dataflow.visualization.png import check

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
    "model_builds": (),
    "docs_site": (),
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
    assert check(ROOT / "dag.dot", draw_graph("retrieval", default))
    assert check(ROOT / "overview.dot", draw_graph("retrieval", default, stages=True))


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


@pytest.mark.parametrize("room", ["execution", "visualization"])
def test_what_is_generic_names_no_node_and_no_corpus_of_ours(room: str) -> None:
    from dataflow.configuration.catalog import retrieval_catalog

    catalog = retrieval_catalog()
    ours = catalog.top.nodes | catalog.corpus.nodes | load_config("default").corpora.keys()
    for path in sorted((ROOT / "dataflow" / room).glob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        said = {
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        assert not said & ours, f"{path.name} names {sorted(said & ours)}"


@pytest.mark.parametrize("module", [m for m, p in modules().items() if ">>> " in p.read_text()])
def test_the_examples_in_docstrings_give_what_they_say(module: str) -> None:
    assert doctest.testmod(import_module(module)).failed == 0


def test_no_test_reads_a_private_attribute_of_another_module() -> None:
    found = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = ""
            if isinstance(node, ast.Attribute) and not isinstance(node.value, ast.Call):
                own = isinstance(node.value, ast.Name) and node.value.id in (
                    "self",
                    "cls",
                    "os",
                    "sys",
                )
                name = "" if own else node.attr
            elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in FLOORS:
                name = next((a.name for a in node.names if a.name.startswith("_")), "")
            elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "setattr":
                name = next(
                    (str(a.value) for a in node.args[1:2] if isinstance(a, ast.Constant)), ""
                )
            if name.startswith("_") and not name.endswith("_"):  # those are protocols of Python
                found.append(f"{path.relative_to(ROOT)}:{node.lineno} {name}")
    assert not found, "\n".join(found)


def test_a_program_that_is_not_there_is_not_taken_for_an_old_python(tmp_path: Path) -> None:
    command = ["make", "--no-print-directory", "-f", str(ROOT / "Makefile")]
    command += ["PYTHON=/no/python3", ".venv/bin/python"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[0]) == (
        2,
        "no program /no/python3: make PYTHON=/path/to/python3.11",
    )


LEFT_BEHIND = re.compile(
    r"(^|/)(\.[a-z]+_cache|\.hypothesis|\.schemathesis|\.ipynb_checkpoints|\.coverage[^/]*|\.venv"
    r"|__pycache__|[^/]+\.egg-info|build|dist|htmlcov|results)(/|$)"
    r"|\.(orig|rej|bak|log|tmp|swp|pyc|pid|sock|prof|whl)$|~$|(^|/)\.DS_Store$"
)
"""Paths of what a tool writes beside the project: caches, logs, copies, builds."""


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this copy of the project has no history")
def test_git_tracks_nothing_that_a_tool_leaves_behind() -> None:
    command = ["git", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert not [path for path in listed.split("\0") if LEFT_BEHIND.search(path)]


def test_git_ignores_and_make_clean_removes_what_the_tools_of_the_project_leave_behind() -> None:
    ignored = (ROOT / ".gitignore").read_text().replace("/", "").split()
    removed = (ROOT / "Makefile").read_text().rpartition("rm -rf ")[2].split()
    for name in (".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".schemathesis"):
        assert name in ignored
        assert name in removed


def test_make_wheel_builds_what_readme_installs() -> None:
    command = ["make", "-n", "wheel", "BIN=bin", "TEST="]
    alone = {name: value for name, value in os.environ.items() if "MAKE" not in name}
    done = subprocess.run(command, cwd=ROOT, env=alone, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["bin/uv", "build", "--wheel", "--out-dir", "dist"]
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"'crosscorpus-{version}-py3-none-any.whl[code]'" in (ROOT / "docs/start.md").read_text()


def test_a_ranked_list_is_named_in_its_module_and_in_configurations_alone() -> None:
    config = load_config("default")
    lists = ranked_lists(build_graph(config).graph, config.catalog)
    others = {lists.pooled, lists.passages, "aged_hits", "score_scale"}
    names = {*lists.of_all, *lists.of_corpora, *others} - {"results"}
    assert len(names) == 11
    named = re.compile(rf"""["'.]({"|".join(sorted(names))})["']""")
    rooms = ("dataflow/driver", "dataflow/evaluation", "dataflow/review", "dataflow/service")
    operators = ("operators/explain", "operators/report")
    files = [file for room in (*rooms, *operators) for file in (ROOT / room).rglob("*.py")]
    assert not [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file in files
        for line in file.read_text().splitlines()
        if named.search(line) and not re.search(r'>>>|"variants": ', line)
    ]


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


def test_no_node_of_the_shipped_graph_reads_more_than_twelve_values() -> None:
    nodes = build_graph(load_config("default")).graph.nodes.values()
    assert max(len(node.dependencies) for node in nodes) <= 12


def test_a_release_is_refused_for_a_licence_or_a_changelog_that_does_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = spec_from_file_location("release_check", ROOT / "deploy/release_check.py")
    assert spec is not None
    assert spec.loader is not None
    release = module_from_spec(spec)
    spec.loader.exec_module(release)
    assert [*release.licences()] == []
    assert any("no section `## [9.9.9]" in fault for fault in release.changelog("9.9.9"))
    monkeypatch.setattr(release, "FREE", re.compile("Apache"))
    assert any("numpy" in fault for fault in release.licences())
