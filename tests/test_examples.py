"""The notebook does what it says, from an empty collection on."""

from __future__ import annotations

import io
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from ingesting import ingest_documents

from operators.embedding.onnx import DirectoryEmbedder
from operators.postgres.store import Store

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "examples" / "experiment.py"


@pytest.fixture(scope="module")
def told(server_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the notebook prints without a browser, beside the beginnings of the files it names."""
    pytest.importorskip("marimo", reason="the notebook needs the extra notebook")
    short = tmp_path_factory.mktemp("project")
    named = re.findall(r'(\w+)"', NOTEBOOK.read_text("utf-8"))
    for pattern in ("operators/*/*.py", "dataflow/*/*.py", "configs/**/*.yaml"):
        for file in (file for file in ROOT.glob(pattern) if file.stem in named):
            copy = short / file.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(file.read_text("utf-8")[:150], "utf-8")
    notebook = short / NOTEBOOK.relative_to(ROOT)
    notebook.parent.mkdir()
    notebook.write_bytes(NOTEBOOK.read_bytes())
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out):
        patch.setenv("CROSSCORPUS_DSN", server_dsn)
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("notebook")))
        runpy.run_path(str(notebook), run_name="__main__")
    return out.getvalue()


def test_the_notebook_compares_explains_sweeps_and_learns(told: str) -> None:
    assert "~ fused: fusion.fused__comb_sum -> fusion.fused__rrf" in told
    assert "p_corrected" in told
    assert "operators/ranking/rec" in told  # the file that was expected and asked for
    assert "vector_weight=0.4" in told
    assert "judged queries of collection experiment" in told


def test_what_if_runs_again_only_what_lies_behind_the_swapped_node(told: str) -> None:
    (line,) = [line for line in told.splitlines() if line.startswith("ran again: ")]
    order = "signals, ranked, reranked, weak_evidence, unique, best_files, relevant_hits, labels"
    assert line == f"ran again: fused, weighted, {order}, results"


OURS_AND_STOCK = """
import sys

sys.path.insert(0, "examples")
import stock_hamilton
from crosscorpus import build_driver

collection, question = sys.argv[1:]
stock = stock_hamilton.answer(collection, question)
with build_driver("default", collection) as driver:
    ours = driver.execute(stock_hamilton.FRAMES, {"query": question, "trigger": "question"})
assert ours["results"].height == 2
for name, frame in stock.items():
    assert frame.equals(ours[name]), name
print("the same")
"""


def test_hamilton_s_own_builder_and_executor_give_the_same_frames(
    store: Store, minilm: DirectoryEmbedder, server_dsn: str, tmp_path: Path
) -> None:
    """In a process that has imported nothing of ours before."""
    texts = {"code": "def flush(cache): flushed twice", "wiki": "why the cache is flushed"}
    lines = [{"doc_id": name, "corpus": name, "text": text} for name, text in texts.items()]
    file = tmp_path / "documents.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ingest_documents(store, minilm, file)
    done = subprocess.run(
        [sys.executable, "-c", OURS_AND_STOCK, store.collection, "why is the cache flushed?"],
        cwd=ROOT,
        env={**os.environ, "CROSSCORPUS_DSN": server_dsn},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == "the same\n", done.stderr
