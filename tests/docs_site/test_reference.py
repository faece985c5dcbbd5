"""The reference names everything that there is, and the pages of people lead nowhere wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

import crosscorpus
from dataflow.configuration.config_model import load_config
from dataflow.driver.config_graphs import describe_config
from dataflow.evaluation.graph import build_evaluation_graph
from dataflow.ingestion.graph_builder import build_ingestion_graph
from dataflow.review.graph import build_review_graph
from docs_site import __main__ as site
from docs_site.check import faults
from docs_site.cli_pages import commands
from docs_site.config_pages import config_keys, schema
from docs_site.frame_pages import schemas
from docs_site.markdown import docstring, table
from docs_site.navigation import navigation, settings
from docs_site.node_pages import STAGES, addresses, stages
from docs_site.nodes import GRAPHS, nodes
from docs_site.own_pages import own_pages
from docs_site.pictures import around, svg


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """Every page that is made from the code, with DOT text for its pictures."""
    return site.reference(str)


def test_every_node_of_the_built_graphs_has_a_place(pages: dict[str, str]) -> None:
    retrieval = describe_config(load_config("default")).nodes.values()
    assert {node.short for node in retrieval} <= addresses("retrieval").keys()
    others = (build_review_graph(), build_ingestion_graph(), build_evaluation_graph())
    for graph, built in zip(("review", "ingestion", "evaluation"), others, strict=True):
        made = {node.name for node in built.graph.nodes.values() if not node.user_defined}
        assert made <= addresses(graph).keys()
    for node in nodes():
        page = pages[f"reference/nodes/{node.graph}_{node.stage}.md"]
        place = page.index(f"{{ #{node.name} }}")
        said = page[place : page.find("\n## ", place)]
        assert '<div class="graph"' in said
        for form in node.forms:
            assert not form.variant or f"`{form.variant}`" in said
            told = [one.of_each or one.name for one in (*form.reads, *form.parameters)]
            assert all(f"`{one}`" in said for one in told)


def test_every_variant_and_parameter_of_a_configuration_is_of_a_node() -> None:
    catalog = load_config("default").catalog
    told = {f.variant for n in nodes() for f in n.forms}
    parameters = {p.name for n in nodes() for f in n.forms for p in f.parameters}
    for layer in (catalog.top, catalog.corpus):
        assert {one for of in layer.variants.values() for one in of} <= told
        assert layer.parameters.keys() <= parameters


def test_every_stage_has_a_sentence() -> None:
    assert STAGES.keys() == {(graph, stage) for graph in GRAPHS for stage in stages(graph)}


def test_every_command_has_its_options(pages: dict[str, str]) -> None:
    found = dict(commands())
    assert {"query", "ingest git", "config schema"} <= found.keys()
    for name, command in found.items():
        page = pages[f"reference/cli/{name.partition(' ')[0] or 'index'}.md"]
        assert name in page
        if name:
            for option in command.params:
                if option.param_type_name == "option" and not option.hidden:
                    assert all(f"`{one}`" in page for one in option.opts if one != "--help")


def test_every_key_of_a_configuration_is_named(pages: dict[str, str]) -> None:
    page, whole = pages["reference/configuration.md"], schema()
    keys = [path for path, _ in config_keys(whole)]
    assert "corpora.CORPUS.filters.repos" in keys
    assert [key for key in keys if f"`{key}`" not in page and "defaults." not in key] == []
    options = whole["$defs"]["StageOptions"]["properties"]
    for home, of in (("", whole["properties"]), ("corpus_defaults.", options)):
        for kind in ("variants", "parameters"):
            for name in of[kind]["properties"]:
                assert f"`{home}{kind}.{name}`" in page


def test_every_public_name_and_every_column_is_there(pages: dict[str, str]) -> None:
    page = pages["reference/python.md"]
    assert [name for name in crosscorpus.__all__ if name not in page] == []
    frames = pages["reference/frames.md"]
    for name, of in schemas().items():
        place = frames.index(f"## {name}\n")
        said = frames[place : frames.find("\n## ", place)]
        assert all(f"| `{column}` |" in said for column in of)
    assert "| `cut` | `String` | a sentence about text that was cut off; null: nothing |" in frames


def test_the_navigation_has_every_page_once() -> None:
    whole = site.all_pages(str)
    listed = re.findall(r"[\w/.-]+\.md", str(navigation(whole)))
    shown = {name for name in whole if name.endswith(".md") and not name.startswith("files/")}
    assert len(listed) == len(set(listed))
    assert set(listed) == shown
    sections = navigation({**whole, "ingest.md": "# Ingest", "novel.md": "# Novel"})
    assert {"Ingest": "ingest.md"} in sections[2]["Guides"]
    assert sections[2]["Guides"][-1] == {"Novel": "novel.md"}
    told = yaml.safe_load(settings(whole, "1.0"))
    assert [next(iter(one)) for one in told["nav"]][:3] == ["Start", "Concepts", "Guides"]


def test_the_links_of_a_written_page_hold_in_the_site(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "run.py").write_text("print(1)\n")
    (tmp_path / "README.md").write_text("[a](docs/a.md#b) [out](https://example.org)\n")
    page = "[home](../README.md) [code](../run.py) [here](#b)\n\n    [no](link.md)\n"
    (tmp_path / "docs/a.md").write_text(page)
    found = own_pages(tmp_path)
    assert found["index.md"] == "[a](a.md#b) [out](https://example.org)\n"
    assert found["a.md"] == page.replace("../README", "index").replace(
        "../run.py", "files/run.py.md"
    )
    assert "print(1)" in str(found["files/run.py.md"])
    (tmp_path / "docs/a.md").write_text("[gone](../gone.md)")
    with pytest.raises(FileNotFoundError, match=r"gone\.md"):
        own_pages(tmp_path)


def test_a_picture_links_the_neighbours_of_a_node() -> None:
    pytest.importorskip("pygraphviz")
    node = next(one for one in nodes() if one.name == "fused")
    drawn = around(node, svg, addresses("retrieval"))
    assert drawn.startswith("<svg")
    assert 'href="retrieval_fusion.html#aged_hits"' in drawn
    assert "weighted" in drawn


def test_a_docstring_becomes_markdown() -> None:
    def add(a: int) -> int:
        """``a`` and one, see :func:`x.y.less`.

        Args:
            a: a number,
                not ``None``.

        >>> add(1)
        2
        """
        return a + 1

    assert docstring(add) == (
        "`a` and one, see `less`.\n\n**Arguments**\n\n| name | what |\n|---|---|\n"
        "| `a` | a number, not `None`. |\n\n```pycon\n>>> add(1)\n2\n```\n"
    )
    assert table(["a"], []) == ""


def test_a_broken_link_and_a_script_from_elsewhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<p id="x"><a href="#x">1</a><a href="b.html">2</a><a href="#y">3</a>'
        '<a href="https://example.org">4</a><script src="https://example.org/a.js"></script>'
    )
    (tmp_path / "a.css").write_text(
        "@import url(//example.org/b.css); a { background: url(a.png) }"
    )
    assert [*faults(tmp_path)] == [
        "a.html fetches https://example.org/a.js",
        "a.html links b.html: no such file",
        "a.html links #y: no such anchor",
        "a.css fetches //example.org/b.css",
    ]
