"""Pictures: readable, the same for the same graph, and able to tell that they are out of date."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dataflow.visualization import png
from dataflow.visualization.dot import drawn_edges, drawn_nodes, to_dot
from dataflow.visualization.mermaid import to_mermaid
from dataflow.visualization.png import RenderError, fingerprint, read_stamp, stamp
from dataflow.visualization.render import check, describe_config, describe_graph, render
from operators.foundation.extras import installing


@pytest.fixture
def described(small, catalog):
    return describe_config(small(), catalog)


def test_a_description_says_what_runs_and_with_which_numbers(described):
    merged = described.nodes["code.merged"]
    assert merged.implementation == "small_corpus.merged__convex"
    assert (merged.variant, merged.corpus, merged.stage, merged.io) == (
        "convex",
        "code",
        "merge",
        False,
    )
    assert merged.parameters == {"vector_weight": 0.5}
    search = described.nodes["wiki.vector_search"]
    assert (search.io, search.stage, search.inputs) == (True, "search", ("store",))
    assert described.nodes["wiki.vector_lists"].field_of == "wiki.vector_search"
    assert described.nodes["provenance"].parameters["source_weights"]["code"] == {"pr_review": 1.2}
    assert described.corpora == ["code", "wiki"]


def test_the_dot_has_a_cluster_a_corpus_and_the_variant_under_the_name(described):
    dot = to_dot(described)
    assert dot.count("subgraph") == 2
    lines = {line.split('"')[1]: line for line in dot.splitlines() if " [label=<" in line}
    assert "<b>merged</b>" in lines["wiki.merged"]
    assert ">rrf<" in lines["wiki.merged"]
    assert ">convex<" in lines["code.merged"]
    assert dot.count('"_inputs" [') == 1


def test_parts_of_results_and_hand_over_nodes_are_not_drawn(described):
    assert not {"code", "wiki", "code.vector_lists"} & set(drawn_nodes(described))


def test_arrows_run_through_what_is_not_drawn_and_reports_are_bundled(described):
    edges, bundled = drawn_edges(described)
    assert ("code.vector_search", "code.merged") in edges
    assert ("code.unified", "fused") in edges
    assert bundled == [("code", "outcomes"), ("wiki", "outcomes")]


def test_an_arrow_that_a_longer_path_implies_is_left_out(described):
    edges, _ = drawn_edges(described)
    assert ("outcomes", "provenance") in edges
    assert ("results", "provenance") in edges
    assert ("fused", "provenance") not in edges


def test_the_same_graph_gives_the_same_bytes_whatever_the_hash_seed():
    script = (
        "import sys, runpy; sys.path[:0] = sys.argv[1:3]\n"
        "import conftest\n"
        "from dataflow.configuration.catalog import read_catalog\n"
        "from dataflow.configuration.config_model import load_config\n"
        "from dataflow.visualization.dot import to_dot\n"
        "from dataflow.visualization.mermaid import to_mermaid\n"
        "from dataflow.visualization.render import describe_config\n"
        "c = conftest.corpus_module()\n"
        "catalog = read_catalog((conftest.top_module(c),), (c,))\n"
        "d = describe_config(load_config(conftest.CONTENT, catalog=catalog), catalog)\n"
        "sys.stdout.write(to_dot(d) + to_mermaid(d))\n"
    )
    here = Path(__file__).parent
    texts = [
        subprocess.run(
            [sys.executable, "-c", script, str(here.parent), str(here.parents[2])],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "77")
    ]
    assert texts[0] == texts[1]
    assert len(texts[0]) > 1000


def test_a_picture_carries_the_fingerprint_of_its_graph(tmp_path, small, catalog):
    pytest.importorskip("pygraphviz", reason="drawing needs the extra render")
    path = tmp_path / "dag.png"
    mark = render(small(), path, catalog=catalog)
    assert read_stamp(path.read_bytes()) == mark
    assert check(path, small(), catalog)
    assert not check(path, small(variants={"fused": "comb_sum"}), catalog)


def test_a_changed_number_that_no_picture_shows_does_not_make_it_stale(small, catalog):
    one, other = (
        fingerprint(to_dot(describe_config(c, catalog)))
        for c in (small(), small(parameters={"top_k": 3}))
    )
    assert one == other


def test_checking_needs_no_graphviz(tmp_path, small, catalog, monkeypatch):
    path = tmp_path / "dag.png"
    mark = fingerprint(to_dot(describe_config(small(), catalog)))
    path.write_bytes(stamp(_blank_png(), mark))
    monkeypatch.setattr(png, "draw", None)
    assert check(path, small(), catalog)


def test_without_graphviz_drawing_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RenderError, match=re.escape(installing("render"))):
        png.draw("digraph {}")


def test_a_graph_that_is_not_there_is_answered_with_those_that_are_each_once(small):
    with pytest.raises(RenderError) as error:
        describe_graph("nope", small())
    assert str(error.value) == "no graph 'nope'; known: evaluation, ingestion, retrieval"


def test_a_file_that_is_missing_or_no_png_says_so(tmp_path, small, catalog):
    with pytest.raises(RenderError, match="can't read none"):
        check(tmp_path / "none.png", small(), catalog)
    (tmp_path / "text.png").write_text("hello")
    with pytest.raises(RenderError, match="not a PNG"):
        check(tmp_path / "text.png", small(), catalog)


def test_the_format_follows_the_suffix(tmp_path, small, catalog):
    render(small(), tmp_path / "g.dot", catalog=catalog)
    render(small(), tmp_path / "g.mmd", catalog=catalog)
    assert (tmp_path / "g.dot").read_text().startswith("digraph")
    assert (tmp_path / "g.mmd").read_text().startswith("flowchart")
    with pytest.raises(RenderError, match=r"\.png, \.dot"):
        render(small(), tmp_path / "g.txt", catalog=catalog)


def test_mermaid_has_the_same_nodes_and_arrows(described):
    text = to_mermaid(described)
    edges, bundled = drawn_edges(described)
    assert text.count(" --> ") == len(edges)
    assert text.count(" -.-> ") == len(bundled)
    assert all(json.dumps(n.short)[1:-1] in text for n in drawn_nodes(described).values())


def _blank_png():
    import struct

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    body = png._chunk(b"IHDR", head) + png._chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def test_the_graph_of_ingestion_is_drawn_and_checked_like_the_other(small, tmp_path):
    shown = describe_graph("ingestion", small())
    stages = {node.stage for node in shown.nodes.values()}
    assert stages == {"read", "date", "chunk", "embed", "store"}
    picture = tmp_path / "ingestion.png"
    mark = render(shown, tmp_path / "ingestion.dot")
    picture.write_bytes(stamp(png._SIGNATURE + png._chunk(b"IHDR", bytes(13)), mark))
    assert check(picture, shown)
    assert not check(picture, describe_graph("evaluation", small()))


def test_a_graph_that_there_is_not_names_the_nearest(small):
    with pytest.raises(RenderError, match="did you mean 'ingestion'"):
        describe_graph("ingest", small())
