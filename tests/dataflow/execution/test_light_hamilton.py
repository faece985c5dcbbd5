"""A question of the command loads Hamilton without Pandas; a user's own nodes have both."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

SHARED = '''
import pandas as pd
import polars as pl
from hamilton.function_modifiers import extract_columns
from operators.ranking.fusion import comb_sum

@extract_columns("of_pandas")
def pandas_frame(aged_hits: pl.DataFrame) -> pd.DataFrame:
    """A frame of Pandas."""
    return pd.DataFrame({"of_pandas": [2.0, 1.0]})

@extract_columns("of_polars")
def polars_frame(aged_hits: pl.DataFrame) -> pl.DataFrame:
    """A frame of Polars."""
    return pl.DataFrame({"of_polars": [2.0]})

def fused__mine(
    aged_hits: pl.DataFrame, of_pandas: pd.Series, of_polars: pl.Series
) -> pl.DataFrame:
    """The sum, times the larger of two numbers."""
    fused = comb_sum(aged_hits).drop("part", "other_parts")
    return fused.with_columns(score=pl.col("score") * of_pandas.max() * of_polars.max())
'''


def _said(script: str) -> str:
    script = f"import sys; from dataflow.execution import light_hamilton\n{script}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_graph_of_a_question_is_built_without_pandas_and_opentelemetry() -> None:
    script = """light_hamilton.import_hamilton()
from dataflow import build_driver
from dataflow.driver.question_spans import with_spans
assert build_driver and with_spans(lambda *call: call, {}, 1, 2, 3) == (1, 2, 3)
packages = {name.partition(".")[0] for name in sys.modules}
print("hamilton.driver" in sys.modules, {"pandas", "opentelemetry"} & packages)"""
    assert _said(script) == "True set()"


def test_an_own_node_of_a_pandas_frame_answers_a_question_of_the_command(
    crosscorpus: Any, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(SHARED)
    file, config = tmp_path / "documents.jsonl", tmp_path / "mine.yaml"
    file.write_text('{"doc_id": "a", "corpus": "wiki", "text": "flush the cache"}\n')
    own = {"modules": ["./mine.py"], "variants": {"fused": "mine"}}
    config.write_text(yaml.safe_dump({"extends": "default", **own}))
    assert crosscorpus("ingest", "documents", str(file), "-C", "own-pandas").returncode == 0
    asked = ("query", "flush", "-C", "own-pandas", "--config", str(config))
    done = crosscorpus(*asked, own_process=True)
    assert (done.returncode, "flush the cache" in done.stdout) == (0, True), done.stderr
