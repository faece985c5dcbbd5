"""Writes an evaluation to files: runs for other tools, tables for programs."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dataflow.configuration.config_model import Config, load_config
from dataflow.evaluation.sweep import Sweep
from operators.errors import CrosscorpusError
from operators.evaluation.evaluation_frames import Evaluation
from operators.evaluation.tables import as_json, per_query
from operators.evaluation.trec import write_run


def named_configs(sources: Sequence[str]) -> dict[str, Config]:
    """The configurations of a command line by name: a shipped name, or a file's stem.

    Raises:
        CrosscorpusError: two have the same name, or a name can't be that of a file.
    """
    configs: dict[str, Config] = {}
    for source in sources:
        name = Path(source).stem if source.endswith((".yaml", ".yml")) else Path(source).name
        if name in configs:
            raise CrosscorpusError(
                f"two configurations are called {name!r}: rename one of the files"
            )
        if not re.fullmatch(r"\w[\w.+-]*", name):
            raise CrosscorpusError(
                f"a run is named after its configuration, and {name!r} is no plain name: use "
                "letters, digits, _, - and ."
            )
        configs[name] = load_config(source)
    return configs


def write_evaluation(evaluation: Evaluation, directory: Path) -> list[Path]:
    """Write all files of an evaluation, replacing those of an earlier one.

    Args:
        evaluation: the results.
        directory: created if missing. Gets ``runs/NAME.trec``, ``per_query.csv``
            and ``evaluation.json``.

    Returns:
        The files, in that order.

    Raises:
        CrosscorpusError: the directory can't be written.
    """
    plain = json.dumps(as_json(evaluation), indent=1, ensure_ascii=False)
    runs = {f"runs/{name}.trec": name for name in evaluation.configs}
    with _writing(directory):
        (directory / "runs").mkdir(parents=True, exist_ok=True)
        for path, name in runs.items():
            write_run(evaluation.runs.filter(config=name), directory / path, tag=name)
        per_query(evaluation).write_csv(directory / "per_query.csv")
        (directory / "evaluation.json").write_text(plain + "\n", encoding="utf-8")
    return [directory / name for name in (*runs, "per_query.csv", "evaluation.json")]


def write_sweep(results: Sweep, directory: Path) -> Path:
    """Write ``sweep.csv`` and return its path.

    Raises:
        CrosscorpusError: the directory can't be written.
    """
    path = directory / "sweep.csv"
    with _writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
        results.table.write_csv(path)
    return path


@contextmanager
def _writing(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CrosscorpusError(f"can't write to {directory}: {error.strerror}") from None
