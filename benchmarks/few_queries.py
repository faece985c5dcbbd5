"""How many judged queries it takes to tune a fusion of two lists, and how far the tuning carries.

    python -m benchmarks.few_queries SET [SET ...] [--draws 200] > table.md

Bruch, Gai and Ingber (An Analysis of Fusion Functions for Hybrid Retrieval, TOIS 2023) say that a
convex combination of scores needs few examples, and that reciprocal rank fusion, tuned, does not
carry over. Here both are tuned on random draws of queries and tried on queries that no draw holds,
and tuned on one set and tried on the others. Each query has two lists, by meaning and by words,
over all corpora that it judges; they are fetched once, and each fusion is tried on them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl

from benchmarks.judged import NDCG, set_folder
from dataflow import load_config
from dataflow.driver.retrieval_driver import build_driver
from dataflow.evaluation.answers import (
    BATCH_SIZE,
    embed_judged_queries,
    for_evaluation,
    overrides_of,
    questions,
)
from operators.arrays.segments import Column, Floats, Integers, places
from operators.embedding.registry import load_embedder
from operators.evaluation.judgements import check_judged, read_qrels, read_queries
from operators.evaluation.measures import scores
from operators.evaluation.ranked_documents import IN_JUDGED_CORPUS, judged_names
from operators.evaluation.weight_fitting import halves, shuffled
from operators.postgres.store import open_store
from operators.ranking.normalization import NORMS

SIZES = (5, 10, 20, 40, 80, 160)
KS = (1, 2, 5, 10, 20, 40, 60, 100, 200)
SHARES = tuple(number / 20 for number in range(21))


@dataclass(frozen=True)
class Fusion:
    """A family of rankings: its parameters, untuned and all that are tried."""

    name: str
    untuned: tuple[float, ...]
    grid: tuple[tuple[float, ...], ...]
    score: Callable[..., Floats]  # of the lists and the parameters


@dataclass(frozen=True)
class Lists:
    """Both lists of every query: for each hit rank (NaN: absent) and value on a scale, by query.

    ``names``: query_id, hit (its row) and doc_id, one or more a hit; ``qrels``: columns ``QRELS``.
    """

    names: pl.DataFrame
    qrels: pl.DataFrame
    vector_rank: Floats
    text_rank: Floats
    max_ratio: tuple[Floats, ...]
    min_max: tuple[Floats, ...]


def some(numbers: Integers, groups: list[str], count: int, *, seed: int) -> Integers:
    """``count`` of the queries with these ``numbers``, group by group."""
    names = shuffled([groups[number] for number in numbers], seed)
    taken = sorted(numbers.tolist(), key=lambda number: (names.index(groups[number]), number))
    return np.sort(np.array(taken[: max(count, 1)], np.int64))


def _convex(lists: Lists, share: float) -> Floats:
    return share * lists.max_ratio[0] + (1 - share) * lists.max_ratio[1]


def _convex_min_max(lists: Lists, share: float) -> Floats:
    return share * lists.min_max[0] + (1 - share) * lists.min_max[1]


def _reciprocal(rank: Floats, k: float) -> Floats:
    """``1 / (k + rank)``; 0 where the list lacks the hit."""
    return np.nan_to_num(1 / (k + rank))


def _rrf(lists: Lists, vector_k: float, text_k: float) -> Floats:
    return _reciprocal(lists.vector_rank, vector_k) + _reciprocal(lists.text_rank, text_k)


def _weighted_rrf(lists: Lists, share: float, k: float) -> Floats:
    vector, text = _reciprocal(lists.vector_rank, k), _reciprocal(lists.text_rank, k)
    return share * vector + (1 - share) * text


FUSIONS = (
    Fusion("convex, share", (0.5,), tuple((share,) for share in SHARES), _convex),
    Fusion("convex, min-max, share", (0.5,), tuple((s,) for s in SHARES), _convex_min_max),
    Fusion("RRF, a k for each list", (60, 60), tuple(product(KS, KS)), _rrf),
    Fusion("RRF, share and k", (0.5, 60), tuple(product(SHARES, KS)), _weighted_rrf),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--draws", type=int, default=200)
    options = parser.parse_args()
    print(INTRODUCTION.format(draws=options.draws))
    sets = {name: found(name) for name in options.sets}
    values = {
        (name, fusion.name): every_value(fusion, lists)
        for name, (lists, _) in sets.items()
        for fusion in FUSIONS
    }
    for name, (_, groups) in sets.items():
        for line in tuned_on_few(name, groups, values, options.draws):
            print(line, flush=True)
    if len(sets) > 1:
        for line in tuned_elsewhere(list(sets), values):
            print(line)


INTRODUCTION = """
# Tuning a fusion on few judged queries

Written by `python -m benchmarks.few_queries`. Two lists a query, by meaning and by words, of all
corpora that it judges. On n queries the best of the grid is taken; gain: nDCG@10 over the untuned
fusion (shares of 0.5, k = 60), on the n queries / on the half that no draw holds, mean of {draws}
draws, in brackets where 95 % of the draws lie on that half, then the share of draws that lost."""


def found(name: str) -> tuple[Lists, list[str]]:
    """The default's lists of all queries, and the group of each query, by its id."""
    folder = set_folder(name) / "dev"
    queries, qrels = check_judged(
        read_queries(folder / "queries.jsonl"), read_qrels(folder / "qrels.tsv")
    )
    config = load_config("default")
    embedder = load_embedder(config.embedding)
    vectors, parts = embed_judged_queries(queries, embedder), []
    with (
        open_store(collection=name) as store,
        build_driver(for_evaluation(config), store=store, embedder=embedder) as driver,
    ):
        for batch in questions(queries).iter_slices(BATCH_SIZE):
            known = overrides_of(driver, batch, vectors)
            parts.append(driver.execute(["unified"], overrides=known)["unified"])
    named = queries.select("corpora", "number", name="query_id")
    hits = pl.concat(parts).join(named, left_on="query_id", right_on="number")
    hits = hits.filter(IN_JUDGED_CORPUS).with_row_index("hit")
    queries = queries.sort("query_id")
    return both_lists(hits, qrels), queries["group"].fill_null(queries["query_id"]).to_list()


def both_lists(hits: pl.DataFrame, qrels: pl.DataFrame) -> Lists:
    """Ranks and scaled scores over all judged corpora of a query together."""
    query = hits["query_id"].to_numpy()
    similarity = 1 - pl.col("vector_distance")
    scored = hits.select("query_id", vector=similarity, text="text_score", corpus=pl.lit(""))
    norms = {
        name: NORMS[name](pl.col("vector", "text")).fill_null(0) for name in ("max", "min_max")
    }
    scaled = {
        name: tuple(column.to_numpy() for column in scored.select(norm))
        for name, norm in norms.items()
    }
    ranks = [_ranks(scored[name].to_numpy(), query) for name in ("vector", "text")]
    hits = hits.with_columns(query_id="name")
    judged = judged_names(qrels, hits)
    names = hits.join(judged, on=["query_id", "chunk_id"], how="left", maintain_order="left")
    names = names.select("query_id", "hit", doc_id=pl.coalesce("doc_id", "document_id"))
    return Lists(names, qrels, ranks[0], ranks[1], scaled["max"], scaled["min_max"])


def _ranks(values: Floats, query: Column) -> Floats:
    order = np.lexsort((-values, query))  # NaN comes last
    ranks = np.empty(len(values))
    ranks[order] = places(query[order])
    return np.where(np.isnan(values), np.nan, ranks)


def every_value(fusion: Fusion, lists: Lists) -> dict[tuple[float, ...], Floats]:
    """nDCG@10 of every query, by its id, with every parameter of the grid."""
    grid = {fusion.untuned: None} | dict.fromkeys(fusion.grid)
    return {point: ndcg(lists, fusion.score(lists, *point)) for point in grid}


def ndcg(lists: Lists, score: Floats) -> Floats:
    """nDCG@10 of every query, by its id; a document counts at its best hit."""
    of_hits = lists.names.with_columns(score=score[lists.names["hit"].to_numpy()])
    documents = of_hits.group_by("query_id", "doc_id").agg(pl.col("score").max())
    best = documents.sort("score", "doc_id", descending=True).group_by("query_id").head(10)
    run = best.with_columns(config=pl.lit(""))
    return scores(run, lists.qrels, [""], measures=[NDCG])["value"].to_numpy()


Values = dict[tuple[str, str], dict[tuple[float, ...], Floats]]


def tuned_on_few(name: str, groups: list[str], values: Values, draws: int) -> Iterator[str]:
    sizes = [size for size in SIZES if size <= len(groups) // 2]
    yield f"\n## {name}: {len(groups)} queries\n"
    yield "| fusion | untuned | " + " | ".join(f"n = {size}" for size in sizes) + " |"
    yield "|---|---|" + "---|" * len(sizes)
    splits = [halves(groups, seed=seed) for seed in range(draws)]
    for fusion in FUSIONS:
        points = values[name, fusion.name]
        untuned = points[fusion.untuned]
        cells = []
        for size in sizes:
            gains = []
            for seed, (training, test) in enumerate(splits):
                few = some(training, groups, size, seed=seed)
                chosen = best_point(points, few)
                gained = points[chosen] - untuned
                gains.append((gained[few].mean(), gained[test].mean()))
            seen, unseen = np.array(gains).T
            low, high = np.quantile(unseen, (0.025, 0.975))
            worse = np.mean(unseen < -1e-9)
            cells.append(
                f"{seen.mean():+.3f} / {unseen.mean():+.3f} [{low:+.3f}, {high:+.3f}] {worse:.0%}"
            )
        yield f"| {fusion.name} | {untuned.mean():.3f} | " + " | ".join(cells) + " |"


def best_point(
    points: dict[tuple[float, ...], Floats], queries: Integers | slice = slice(None)
) -> tuple[float, ...]:
    """The best parameters on these queries; of equal ones the untuned, then the first."""
    means = {point: float(value[queries].mean()) for point, value in points.items()}
    highest = max(means.values())
    return next(point for point, mean in means.items() if mean >= highest - 1e-12)


def tuned_elsewhere(names: list[str], values: Values) -> Iterator[str]:
    yield "\n## Tuned on all queries of one set, tried on another: gain over untuned\n"
    yield "| fusion | tuned on | chosen | " + " | ".join(names) + " |"
    yield "|---|---|---|" + "---|" * len(names)
    for fusion in FUSIONS:
        for source in names:
            chosen = best_point(values[source, fusion.name])
            cells = []
            for target in names:
                points = values[target, fusion.name]
                gain = float((points[chosen] - points[fusion.untuned]).mean())
                cells.append(f"({gain:+.3f})" if target == source else f"{gain:+.3f}")
            chose = ", ".join(f"{number:g}" for number in chosen)
            yield f"| {fusion.name} | {source} | {chose} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
