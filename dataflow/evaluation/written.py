"""An evaluation as files: runs for other tools, tables for people and programs, one page."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from dataflow.runtime.config import Config, load_config
from operators.errors import CrosscorpusError
from operators.evaluation.frames import Evaluation
from operators.evaluation.tables import as_json, as_markdown, per_query
from operators.evaluation.trec import write_run


def named_configs(sources: Sequence[str]) -> dict[str, Config]:
    """The configurations of a command line by their names: a shipped name, or a file's stem.

    Raises:
        CrosscorpusError: two have the same name, or a name can't be that of a file.
    """
    found: dict[str, Config] = {}
    for source in sources:
        name = Path(source).stem if source.endswith((".yaml", ".yml")) else Path(source).name
        if name in found:
            raise CrosscorpusError(
                f"two configurations are called {name!r}: rename one of the files"
            )
        if not re.fullmatch(r"\w[\w.+-]*", name):
            raise CrosscorpusError(
                f"a run is named after its configuration, and {name!r} is no plain name: use "
                "letters, digits, _, - and ."
            )
        found[name] = load_config(source)
    return found


def write_evaluation(
    evaluation: Evaluation, configs: Mapping[str, Config], directory: Path
) -> list[Path]:
    """Write all files of an evaluation, replacing those of an earlier one.

    Args:
        evaluation: what was found.
        configs: its configurations, for the pictures of their graphs.
        directory: made if need be. Gets ``runs/NAME.trec``, ``per_query.csv``, ``tables.md``,
            ``evaluation.json`` and ``report.html``.

    Returns:
        The files, in that order.

    Raises:
        CrosscorpusError: the directory can't be written.
    """
    try:
        (directory / "runs").mkdir(parents=True, exist_ok=True)
        paths = []
        for name in evaluation.configs:
            paths.append(directory / "runs" / f"{name}.trec")
            run = evaluation.runs.filter(pl.col("config") == name)
            write_run(run, paths[-1], tag=name)
        paths.append(directory / "per_query.csv")
        per_query(evaluation).write_csv(paths[-1])
        paths.append(directory / "tables.md")
        paths[-1].write_text(as_markdown(evaluation), encoding="utf-8")
        paths.append(directory / "evaluation.json")
        plain = json.dumps(as_json(evaluation), indent=1, ensure_ascii=False)
        paths[-1].write_text(plain + "\n", encoding="utf-8")
    except OSError as error:
        raise CrosscorpusError(f"can't write to {directory}: {error.strerror}") from None
    return paths
