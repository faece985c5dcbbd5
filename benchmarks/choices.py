"""What each choice of the default is worth: every experiment against it, on the judged sets.

    python -m benchmarks.choices SET [SET ...] [--undone-by NAME ...] > tables.md
    # `few_queries`, `learned` go behind

A row undoes one choice, by a shipped experiment or by one setting: the difference it makes to
nDCG@10, with its 95 % bootstrap interval, asked (only judged corpora count) and in all corpora
(every hit counts). The folder ``choices`` of the data directory keeps every measurement, so that an
interrupted run goes on where it was; delete that folder after a change of code or data.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.judged import NDCG, data_folder
from dataflow import load_config
from dataflow.configuration.config_model import Config
from dataflow.configuration.hamilton_config import hamilton_config
from dataflow.configuration.overrides import with_settings
from dataflow.evaluation.graph import evaluate
from dataflow.ingestion.loop import ingest
from operators.embedding.registry import load_embedder
from operators.errors import UnknownName
from operators.evaluation.comparison import comparison
from operators.evaluation.measures import scores
from operators.foundation.data_dir import data_home
from operators.postgres.store import Store, collection_info, open_store
from operators.sources.jsonl import documents_source

BASE = "default"
EXPERIMENTS = {
    "length_weight": "`lexical_margin: 0.27`: words that find as good a match as meaning count",
    "full_text_weight": "`full_weight_terms: 8`: few plain words lean on the vectors",
    "corpus_ranks": "`fused: comb_sum` instead of ranks over corpora",
    "by_list": "`normalized: common_scale` instead of each list by itself",
    "rrf": "`merged: convex`: scores instead of ranks, within and over corpora",
    "min_max": "scores over the best of a list instead of min-max, within and over corpora",
    "missing_score_fraction": "`missing_score_fraction: 0.5` of a list's last for what it lacks",
    "vector_lean": "`vector_weight: 0.5`: meaning and words alike",
    "text_only": "vectors beside the words",
    "vector_only": "words beside the vectors",
    "plain_text_search": "`text_search: bm25` instead of Postgres's own ranking",
    "search_depth_10": "`search_depth: 50` instead of 10",
    "search_depth_200": "`search_depth: 50` instead of 200",
    "no_dedup": "`deduped: guarded`, `unique: guarded`",
    "jaccard_dedup": "copies by what they say instead of by their words alone",
    "cosine_dedup": "copies by what they say instead of by their embeddings alone",
    "newest_dedup": "copies by what they say instead of the newest of near-copies",
    "no_recency": "`aged_hits: step`",
    "whole_questions": "`reduced_queries: long`",
    "passages_as_found": "`whole_passages: section`",
    "no_weights": "`weighted: by_trigger`, `weights` of 1.1",
    "static_model": "`embedding: minilm` instead of the static model",
}
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "`full_weight_terms: 8` instead of fewer": {"full_weight_terms": 5},
    "`full_weight_terms: 8` instead of more": {"full_weight_terms": 12},
    "`vector_weight: 0.5`: no more words than meaning": {"vector_weight": 0.4},
    "`vector_norm: max`": {"vector_norm": "min_max"},
    "`text_norm: max`": {"text_norm": "min_max"},
}
STRONGER = 1.2


def main() -> None:
    rows = configurations()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--undone-by", nargs="+", metavar="NAME", help="these rows alone")
    options = parser.parse_args()
    names = options.undone_by or [name.strip("`") for name in rows]
    if unknown := set(names) - {name.strip("`") for name in rows}:
        parser.error(f"nothing is undone by {sorted(unknown)[0]!r}")
    print(INTRODUCTION)
    for name in options.sets:
        for line in table(name, {n: row for n, row in rows.items() if n.strip("`") in names}):
            print(line, flush=True)


INTRODUCTION = """# What the default's choices are worth

Written by `python -m benchmarks.choices`. Each row undoes one choice, by a shipped experiment or by
one setting: the difference in nDCG@10 to the default and its 95 % bootstrap interval, p by paired
randomisation and Holm's correction over the rows; * where that is below 0.05. A negative number
speaks for the choice. Asked: only the hits of the corpora that a query judges count. All corpora:
every hit counts.

No ranking depends on `on_corpus_error`, `deadline_s` and `workers` (what happens when a search
fails or is slow), `triggers` (the names that weights may be for), `top_k` (where the list ends),
`packed` (what of it goes into a context), `label` and `link`, so that they have no row. `reranked`
has none either: the model is the caller's, and no cross-encoder comes with the project."""


def configurations() -> dict[str, tuple[str, Config]]:
    """By what undoes it: the choice in words, and the configuration without it."""
    base = load_config(BASE)
    made = {f"`{name}`": (choice, load_config(name)) for name, choice in EXPERIMENTS.items()}
    for choice, setting in SETTINGS.items():
        undoing = ", ".join(f"`{name}: {value}`" for name, value in setting.items())
        made[undoing] = choice, with_settings(base, setting)
    stronger = {
        corpus: {"weights": dict.fromkeys(options.weights, STRONGER)}
        for corpus, options in base.corpora.items()
    }
    made[f"`weights` of {STRONGER}"] = "`weights` of 1.1", base.with_changes({"corpora": stronger})
    for rule, weight in base.parameters["signal_weights"].items():
        made[f"`{rule}: 0`"] = f"the rule `{rule}`, `{weight:g}`", with_settings(base, {rule: 0.0})
    return made


def table(name: str, rows: Mapping[str, tuple[str, Config]]) -> Iterator[str]:
    base = load_config(BASE)
    frames = [measured(name, BASE, base)]
    frames += [measured(name, undoing, config) for undoing, (_, config) in rows.items()]
    every = pl.concat(frames)
    modes = every["mode"].unique(maintain_order=True).to_list()
    parts = {mode: every.filter(mode=mode).drop("mode") for mode in modes}
    differences = {mode: comparison(part, BASE) for mode, part in parts.items()}
    yield f"\n## {name}: {every['query_id'].n_unique()} queries\n"
    yield "| choice | undone by | " + " | ".join(modes) + " |"
    yield "|---|---|" + "---|" * len(modes)
    means = [part.filter(config=BASE)["value"].to_numpy().mean() for part in parts.values()]
    yield "| the default | | " + " | ".join(f"{mean:.3f}" for mean in means) + " |"
    for undoing, (choice, _) in rows.items():
        cells = [_cell(one, undoing) for one in differences.values()]
        yield f"| {choice} | {undoing} | " + " | ".join(cells) + " |"


def measured(name: str, label: str, config: Config) -> pl.DataFrame:
    """Columns ``SCORES`` and mode: ``asked``, and ``all corpora`` if there are several."""
    kept = _kept(name, config)
    if kept.exists():
        return pl.read_parquet(kept).with_columns(config=pl.lit(label))
    with opened(name, config.embedding) as store:
        several = len(collection_info(store).corpora) > 1
        evaluation = evaluate(
            store,
            {label: config},
            data_folder() / name / "dev" / "queries.jsonl",
            data_folder() / name / "dev" / "qrels.tsv",
            depth=0,
            measure_names=(NDCG,),
        )
    parts = [evaluation.scores.with_columns(mode=pl.lit("asked"))]
    if several:
        all_corpora = scores(evaluation.runs, evaluation.qrels, [label], measures=(NDCG,))
        parts.append(all_corpora.with_columns(mode=pl.lit("all corpora")))
    values = pl.concat(parts)
    kept.parent.mkdir(parents=True, exist_ok=True)
    values.write_parquet(kept)
    print(f"{name}: {label}", file=sys.stderr, flush=True)
    return values


def opened(name: str, model: str) -> Store:
    """The set's collection; one of another model than the default's has the model in its name."""
    collection = name if model == load_config(BASE).embedding else f"{name}_{model}"
    try:
        return open_store(collection=collection)
    except UnknownName:
        store = open_store(collection=collection, create=True)
        judged = documents_source(data_folder() / name / "documents.jsonl.gz")
        ingest(store, load_embedder(model), judged)
        return store


def _kept(name: str, config: Config) -> Path:
    settings = json.dumps(hamilton_config(config), sort_keys=True, default=str)
    digest = hashlib.sha256(settings.encode()).hexdigest()[:16]
    return data_home() / "choices" / name / f"{digest}.parquet"


def _cell(differences: pl.DataFrame, config: str) -> str:
    row = differences.filter(config=config).row(0, named=True)
    star = " *" if row["p_corrected"] < 0.05 else ""
    return f"{row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]{star}"


if __name__ == "__main__":
    main()
