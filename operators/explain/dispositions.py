"""The disposition of a passage: its rank in every list, where it was dropped, and why."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from operators.arrays.rows import by_rank
from operators.context.search_outcomes import channels
from operators.dedup.changes import change_representatives
from operators.foundation.cancellation import checked
from operators.frames import DISPOSITIONS, SIGNALS, empty

DISPOSITION_MEANINGS = {
    "context": "in the context",
    "below_floor": "a result, but too weak beside the best for the context",
    "over_budget": "a result, but too long for what was left of the context",
    "with_its_file": "named beside a better passage of its file",
    "below_top_k": "below the last result",
    "near_duplicate_across": "a near-duplicate of a better-placed passage, or of its change",
    "near_duplicate_within": "a near-duplicate of a better-placed passage of its corpus",
    "unread": "found, but its text could not be read",
    "dropped": "left out by a stage that the caller overrode or swapped",
    "below_search_depth": "below the last of the searches' lists",
    "not_found": "found by no search",
    "not_searched": "its corpus gave no answer",
    "hidden": "not visible to this question",
}
"""Every disposition and its meaning, from the best to the worst."""

_KEY = ["query_id", "chunk_id"]
_NAMED = [*_KEY, "corpus", "source_label", "source_url"]


@dataclass(frozen=True)
class Run:
    """The frames of one run.

    Attributes:
        corpus_lists: the lists within the corpora by node name, from the first with a score to the
            last, whose ``duplicates`` are the near-duplicates.
        lists: the lists of all corpora by node name, from the fused one to the
            results; the one before the results has the near-duplicates, with their labels.
        labels: of all hits, and of what is shown.
        passages: the list that the context is packed from.
        packed: the passages that the context has room for.
        meanings: what each of ``lists`` is, in a sentence.
        signals: what the rules say of the hits.
        ordered: the name of the list whose order they make.
    """

    queries: pl.DataFrame
    outcomes: pl.DataFrame
    corpus_lists: Mapping[str, pl.DataFrame]
    labels: pl.DataFrame
    lists: Mapping[str, pl.DataFrame]
    passages: pl.DataFrame
    packed: pl.DataFrame
    citations: pl.DataFrame
    explain_targets: pl.DataFrame
    meanings: Mapping[str, str] = field(default_factory=dict)
    signals: pl.DataFrame = field(default_factory=lambda: empty(SIGNALS))
    ordered: str = ""

    @property
    def scored(self) -> str:
        """The name of the first list within a corpus, in which a hit gets its score."""
        return next(iter(self.corpus_lists))

    @property
    def kept(self) -> str:
        """The name of the last list within a corpus, without near-duplicates."""
        return list(self.corpus_lists)[-1]

    @property
    def first(self) -> str:
        """The name of the first list of all corpora."""
        return next(iter(self.lists))

    @property
    def last(self) -> str:
        """The name of the last list before the results."""
        return list(self.lists)[-2]

    @property
    def results(self) -> pl.DataFrame:
        """The results."""
        return list(self.lists.values())[-1]


@dataclass(frozen=True)
class Limits:
    """The limits of a run."""

    search_depths: Mapping[str, int]  # of each corpus
    top_k: int
    context_depth: int
    budget: int
    unit: str  # the unit of the budget: "characters" or "tokens"
    one_a_file: bool = True  # a file has one place among the results


def dispositions(run: Run, limits: Limits) -> pl.DataFrame:
    """``DISPOSITIONS``: one row per result, by rank, then one per named chunk that is no result."""
    rows = _with_ranks(_explained(run), run)
    duplicates = run.lists[run.last].select(*_KEY, near_duplicates="alternate_sources")
    rows = rows.join(_once(duplicates), on=_KEY, how="left", maintain_order="left")
    lists = ["vector", "text", *_ranked(run)]
    placed = [pl.struct(list=pl.lit(name), rank=f"{name}_rank") for name in lists]
    has_it = pl.element().struct.field("rank").is_not_null()
    rows = rows.with_columns(
        pl.col("near_duplicates").fill_null(pl.lit([], DISPOSITIONS["near_duplicates"])),
        ranks=pl.concat_list(placed).list.eval(pl.element().filter(has_it)),
        result_rank=pl.col(f"{lists[-1]}_rank"),
        score=pl.coalesce(f"{name}_score" for name in reversed([*_ranked(run)])),
    )
    lookups = _Lookups(run, limits)
    names = ("disposition", "reason", "near_duplicate_of")
    ends = pl.DataFrame(
        [_disposition(row, lookups) for row in checked(rows.iter_rows(named=True))],
        schema={name: DISPOSITIONS[name] for name in names},
        orient="row",
    )
    return rows.hstack(ends).select(list(DISPOSITIONS))


def _ranked(run: Run) -> dict[str, pl.DataFrame]:
    """Every list with a rank and a score, by its name, in the order of the run."""
    return {**run.corpus_lists, **run.lists}


def _explained(run: Run) -> pl.DataFrame:
    """The results by rank, then the named chunks; each chunk of a query once."""
    results = run.results.sort("query_id", "rank").select(_NAMED)
    both = _once(pl.concat([results, run.explain_targets[_NAMED]]))
    return both.sort("query_id", maintain_order=True)


def _with_ranks(rows: pl.DataFrame, run: Run) -> pl.DataFrame:
    """``rows`` with each chunk's rank and score in every list, and its number in the context."""
    ranked = pl.col("rank", "score").name
    ranks = [_once(run.corpus_lists[run.scored]).select(*_KEY, "vector_rank", "text_rank")]
    ranks += [
        _once(of).select(*_KEY, ranked.prefix(f"{name}_")) for name, of in _ranked(run).items()
    ]
    parts = run.passages.select(*_KEY, "parts")
    for cited in (
        run.packed.drop_nulls("number").select(*_KEY, "number"),
        run.citations.select(*_KEY, citation="number"),
    ):
        with_parts = cited.join(parts, on=_KEY, how="left", maintain_order="left").with_columns(
            chunk_id=pl.coalesce("parts", pl.concat_list("chunk_id"))
        )
        ranks.append(_once(with_parts.drop("parts").explode("chunk_id")))
    for own in ranks:
        rows = rows.join(own, on=_KEY, how="left", maintain_order="left")
    return rows


def _once(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.unique(_KEY, keep="first", maintain_order=True)


@dataclass(frozen=True)
class _Lookups:
    """Tables of a run for finding the reasons; each is made at its first use."""

    run: Run
    limits: Limits

    @cached_property
    def within(self) -> dict[tuple[int, int], tuple[int, str]]:
        """For each near-duplicate within a corpus, the representative and its label."""
        kept = self.run.corpus_lists[self.run.kept]
        pairs = kept.filter(pl.col("duplicates").list.len() > 0).explode("duplicates")
        labels = _once(self.run.labels.select(*_KEY, "source_label"))
        pairs = pairs.select(*_KEY, "duplicates").join(labels, on=_KEY, maintain_order="left")
        return {(query, gone): (other, label) for query, other, gone, label in pairs.iter_rows()}

    @cached_property
    def across(self) -> dict[tuple[int, int], tuple[int, str]]:
        """For each near-duplicate across corpora, the representative and its label."""
        pairs = self.run.lists[self.run.last][
            "query_id", "alternate_sources", "chunk_id", "source_label"
        ]
        rows = pairs.explode("alternate_sources", empty_as_null=False, keep_nulls=False).iter_rows()
        return {(query, gone["chunk_id"]): (other, label) for query, gone, other, label in rows}

    @cached_property
    def named_beside(self) -> dict[tuple[int, int], str]:
        """For each passage that a result names beside it, the label of that result."""
        if "more_of_file" not in self.run.results.columns:
            return {}
        rows = self.run.results["query_id", "more_of_file", "source_label"].iter_rows()
        return {(query, one["chunk_id"]): label for query, named, label in rows for one in named}

    @cached_property
    def files(self) -> dict[tuple[int, int], str]:
        """For each passage of a result's file, the label of the file's best result."""
        if not self.limits.one_a_file:
            return {}
        key, file = ["query_id", "corpus", "repo", "file"], pl.coalesce("path", "document_id")
        best = self.run.results.sort("query_id", "rank").with_columns(file=file)
        best = best.select(*key, "source_label").unique(key, keep="first", maintain_order=True)
        rows = self.run.lists[self.run.last].with_columns(file=file).select(*key, "chunk_id")
        rows = rows.join(best, on=key, nulls_equal=True)
        return {
            (query, chunk): label
            for query, chunk, label in rows["query_id", "chunk_id", "source_label"].iter_rows()
        }

    @cached_property
    def same_change(self) -> set[tuple[int, int]]:
        """The hits that a better hit of the same change represents."""
        lists = list(self.run.lists.values())
        whole = [one for one in lists if one.height == lists[0].height][-1]
        keys = (hits := by_rank(whole)).select(_KEY).rows()
        return {keys[row] for row, of in enumerate(change_representatives(hits)) if row != of}

    @cached_property
    def costs(self) -> dict[int, list[tuple[int, int, int]]]:
        """The entries of each context: the passage's rank (-1: the notes), number and cost."""
        ranks = self.run.passages.select(*_KEY, "rank")
        rows = self.run.packed.join(ranks, on=_KEY, how="left")
        entries: dict[int, list[tuple[int, int, int]]] = {}
        for query_id, rank, number, cost in rows["query_id", "rank", "number", "cost"].iter_rows():
            entry = (-1, 0, cost) if number is None else (rank, number, cost)
            entries.setdefault(query_id, []).append(entry)
        return entries

    @cached_property
    def passages(self) -> dict[tuple[int, int], int]:
        """For each candidate chunk of a context, the rank of its passage."""
        rows = self.run.passages["query_id", "parts", "rank"].iter_rows()
        return {(query, part): rank for query, parts, rank in rows for part in parts}

    @cached_property
    def explain_targets(self) -> dict[tuple[int, int], dict[str, Any]]:
        """The named chunks."""
        rows = self.run.explain_targets.iter_rows(named=True)
        return {(row["query_id"], row["chunk_id"]): row for row in rows}

    @cached_property
    def statuses(self) -> dict[str, dict[str, str]]:
        """For each corpus, the status of each of its searches."""
        return channels(self.run.outcomes.filter(pl.col("channel").is_in(["vector", "text"])))

    @cached_property
    def ends(self) -> dict[tuple[int, str], dict[str, Any]]:
        """The length of each list of a query, and the last distance of the vector list."""
        ends = (
            self.run.corpus_lists[self.run.scored]
            .group_by("query_id", "corpus")
            .agg(
                vector=pl.col("vector_rank").count(),
                text=pl.col("text_rank").count(),
                last=pl.col("vector_distance").filter(pl.col("vector_rank").is_not_null()).max(),
            )
        )
        return {(row["query_id"], row["corpus"]): row for row in ends.iter_rows(named=True)}


def _disposition(row: Mapping[str, Any], lookups: _Lookups) -> tuple[str, str, int | None]:
    """Disposition, reason and representative of a passage."""
    key = (row["query_id"], row["chunk_id"])
    if row["number"] is not None:
        return "context", _in_context(row, lookups), None
    if row["result_rank"] is not None:
        return *_left_out(row, lookups), None
    if key in lookups.named_beside:
        reason = f"its file has one place among the results: {lookups.named_beside[key]}"
        return "with_its_file", reason, None
    if row[f"{lookups.run.last}_rank"] is not None:
        position = f"{ordinal(row[f'{lookups.run.last}_rank'])} without the near-duplicates"
        ends = f"the results end after {lookups.limits.top_k}"
        if key in lookups.files:
            ends = f"its file has its place by {lookups.files[key]}, which names its best others"
        return "below_top_k", f"{position}; {ends}", None
    if row[f"{lookups.run.first}_rank"] is not None and key in lookups.across:
        other, label = lookups.across[key]
        one = "is of one change with {}" if key in lookups.same_change else "says what {} says"
        return "near_duplicate_across", f"it {one.format(label)}, which is better placed", other
    first, kept, scored = lookups.run.first, lookups.run.kept, lookups.run.scored
    if row[f"{first}_rank"] is not None or row[f"{kept}_rank"] is not None:
        return "dropped", DISPOSITION_MEANINGS["dropped"], None
    if row[f"{scored}_rank"] is not None:
        if key not in lookups.within:
            return "unread", "a search found it, but its text was gone or not to be seen", None
        other, label = lookups.within[key]
        reason = f"it says what {label} says, which its corpus placed better"
        return "near_duplicate_within", reason, other
    return (*_unfound(row, lookups), None)


def _in_context(row: Mapping[str, Any], lookups: _Lookups) -> str:
    limits, number = lookups.limits, row["number"]
    (cost,) = (cost for _, n, cost in lookups.costs[row["query_id"]] if n == number)
    of = f"{cost:,} of {limits.budget:,} {limits.unit}"
    return f"{ordinal(number - 1)} in the context, with {of}; cited"


def _left_out(row: Mapping[str, Any], lookups: _Lookups) -> tuple[str, str]:
    """Disposition and reason of a result that is not in the context."""
    limits, rank = lookups.limits, lookups.passages.get((row["query_id"], row["chunk_id"]))
    if rank is not None:
        entries = lookups.costs.get(row["query_id"], [])
        left = limits.budget - sum(cost for before, _, cost in entries if before < rank)
        return "over_budget", f"it did not fit into the {left:,} {limits.unit} that were left"
    depth = limits.context_depth
    if row[f"{lookups.run.last}_rank"] >= depth:
        return "over_budget", f"the context is filled from the first {depth} alone"
    floors = "`context_floor`, or `weak_context_floor` where the evidence is weak"
    return "below_floor", f"its score is too small a share of the best ({floors})"


def _unfound(row: Mapping[str, Any], lookups: _Lookups) -> tuple[str, str]:
    """Disposition and reason of a passage that is in no list."""
    target = lookups.explain_targets.get((row["query_id"], row["chunk_id"]), {})
    if target.get("hidden"):
        return "hidden", target["hidden"]
    statuses = lookups.statuses.get(row["corpus"], {})
    wrong = [f"its {c} search {_SPELLED[s]}" for c, s in statuses.items() if s in _SPELLED]
    if statuses and len(wrong) == len(statuses):
        return "not_searched", " and ".join(dict.fromkeys(wrong))
    many = lookups.limits.search_depths.get(row["corpus"], 0)
    ends = lookups.ends.get((row["query_id"], row["corpus"]), {})
    full = [channel for channel in statuses if ends.get(channel, 0) >= many]
    if "vector" in full:
        distance = target.get("vector_distance")
        own = "" if distance is None else f" (its distance is {distance:.3f})"
        last = f", which end at {ends['last']:.3f}" if ends.get("last") is not None else ""
        wrong.append(f"further away{own} than the {many} nearest{last}")
    if "text" in full:
        wrong.append(f"not among the {many} best of keyword search")
    elif statuses.get("text") in ("ok", "empty"):
        wrong.append("without a word of the question")
    disposition = "below_search_depth" if full else "not_found"
    return disposition, "; ".join(wrong) or DISPOSITION_MEANINGS["not_found"]


_SPELLED = {
    "absent": "did not run, because nothing has been ingested into it",
    "failed": "failed",
    "timed_out": "timed out",
    "overridden": "did not run, because its results were given",
}


def ordinal(rank: int) -> str:
    """A 0-based rank as an ordinal number.

    >>> [ordinal(rank) for rank in (0, 1, 2, 3, 10, 20)]
    ['1st', '2nd', '3rd', '4th', '11th', '21st']
    """
    number = rank + 1
    last = 0 if number % 100 in (11, 12, 13) or number % 10 > 3 else number % 10
    return f"{number}{('th', 'st', 'nd', 'rd')[last]}"
