"""What became of a passage: its place in every list, and where its way ended and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from operators.context.packing import SEPARATOR, boundary, entry
from operators.foundation.escape import defused
from operators.frames import DISPOSITIONS

FATES = {
    "context": "in the context",
    "over_budget": "a result, but too long for what was left of the context",
    "below_top_k": "below the last result",
    "copy_across": "a copy of a better-placed passage",
    "copy_within": "a copy of a better-placed passage of its corpus",
    "unread": "found, but its text could not be read",
    "dropped": "left out by a stage that the caller overrode or swapped",
    "below_candidates": "below the last of the searches' lists",
    "not_found": "found by no search",
    "not_searched": "its corpus gave no answer",
    "hidden": "not visible to this question",
}
"""Every fate and what it means, from the best to the worst."""

_KEY = ["query_id", "chunk_id"]
_NAMED = [*_KEY, "corpus", "source_label", "source_url"]
_RANKS = [name for name in DISPOSITIONS if name.endswith("_rank")]


@dataclass(frozen=True)
class Run:
    """The frames of one run, as the nodes of the same names gave them.

    Attributes:
        merged: all corpora's ``MERGED`` with the column ``corpus``.
        deduped: all corpora's ``DEDUPED`` with the column ``corpus``.
    """

    queries: pl.DataFrame
    outcomes: pl.DataFrame
    merged: pl.DataFrame
    deduped: pl.DataFrame
    pooled_hits: pl.DataFrame
    fused: pl.DataFrame
    weighted: pl.DataFrame
    reranked: pl.DataFrame
    unique: pl.DataFrame
    results: pl.DataFrame
    packed: pl.DataFrame
    citations: pl.DataFrame
    explain_targets: pl.DataFrame


@dataclass(frozen=True)
class Limits:
    """What a run cut at.

    Attributes:
        candidates: of each corpus.
        unit: of the budget: "characters" or "tokens".
    """

    candidates: Mapping[str, int]
    top_k: int
    budget: int
    unit: str
    max_citations: int


def of_all(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The frames of the corpora as one, with the column ``corpus``."""
    return pl.concat([one.with_columns(corpus=pl.lit(name)) for name, one in frames.items()])


def dispositions(run: Run, limits: Limits) -> pl.DataFrame:
    """``DISPOSITIONS``: one row a result, by rank, then one a named chunk that is no result."""
    everything = pl.concat(
        [run.results.sort("query_id", "rank").select(_NAMED), run.explain_targets[_NAMED]]
    )
    asked = everything.unique(_KEY, keep="first", maintain_order=True)
    asked = asked.with_row_index("place").sort("query_id", "place", maintain_order=True)
    of_merge = run.merged.select(
        *_KEY, "vector_rank", "text_rank", merged_rank="rank", merged_score="score"
    )
    rows = asked.drop("place").join(_once(of_merge), on=_KEY, how="left", maintain_order="left")
    later = {
        "deduped": run.deduped,
        "fused": run.fused,
        "weighted": run.weighted,
        "reranked": run.reranked,
        "unique": run.unique,
        "result": run.results,
    }
    for stage, frame in later.items():
        own = frame.select(*_KEY, pl.col("rank").alias(f"{stage}_rank"))
        if stage in ("fused", "weighted", "reranked"):
            own = own.with_columns(frame["score"].alias(f"{stage}_score"))
        rows = rows.join(_once(own), on=_KEY, how="left", maintain_order="left")
    for name, frame in (("number", run.packed.drop_nulls("number")), ("citation", run.citations)):
        own = frame.select(*_KEY, pl.col("number").alias(name))
        rows = rows.join(own, on=_KEY, how="left", maintain_order="left")
    copies = run.unique.select(*_KEY, copies="alternate_sources")
    rows = rows.join(_once(copies), on=_KEY, how="left", maintain_order="left")
    score = pl.coalesce("reranked_score", "weighted_score", "fused_score", "merged_score")
    rows = rows.with_columns(score=score)
    looked = _Looked(run, limits)
    said = [_say(row, looked) for row in rows.iter_rows(named=True)]
    told = pl.DataFrame(
        said,
        schema={name: DISPOSITIONS[name] for name in ("fate", "reason", "copy_of")},
        orient="row",
    )
    none = pl.lit([], dtype=DISPOSITIONS["copies"])
    return (
        rows.hstack(told).with_columns(pl.col("copies").fill_null(none)).select(list(DISPOSITIONS))
    )


def _once(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.unique(_KEY, keep="first", maintain_order=True)


class _Looked:
    """What the reasons look up in a run, each worked out when it is first needed."""

    def __init__(self, run: Run, limits: Limits) -> None:
        self.run, self.limits = run, limits

    @cached_property
    def within(self) -> dict[tuple[int, int], tuple[int, str]]:
        """Of each copy within a corpus the survivor and its label."""
        survivors = self.run.deduped.filter(pl.col("duplicates").list.len() > 0)
        labels = self.run.pooled_hits.select("query_id", "chunk_id", "source_label")
        pairs = survivors.join(_once(labels), on=_KEY).select(
            "query_id", "duplicates", "chunk_id", "source_label"
        )
        rows = pairs.explode("duplicates").iter_rows()
        return {(query_id, copy): (other, label) for query_id, copy, other, label in rows}

    @cached_property
    def across(self) -> dict[tuple[int, int], tuple[int, str]]:
        """Of each copy the survivor of all corpora and its label."""
        survivors = self.run.unique.filter(pl.col("alternate_sources").list.len() > 0)
        pairs = survivors.select("query_id", "alternate_sources", "chunk_id", "source_label")
        rows = pairs.explode("alternate_sources").iter_rows()
        return {(query, copy["chunk_id"]): (other, label) for query, copy, other, label in rows}

    @cached_property
    def costs(self) -> dict[int, list[tuple[int, int, int]]]:
        """Of each context its entries: the result's rank (-1: the notes), number and cost."""
        ranks = self.run.results.select(*_KEY, "rank")
        rows = self.run.packed.join(ranks, on=_KEY, how="left")
        found: dict[int, list[tuple[int, int, int]]] = {}
        for query_id, rank, number, cost in rows["query_id", "rank", "number", "cost"].iter_rows():
            entry = (-1, 0, cost) if number is None else (rank, number, cost)
            found.setdefault(query_id, []).append(entry)
        return found

    @cached_property
    def texts(self) -> dict[tuple[int, int], str]:
        """The text of each result, as it is packed."""
        results = self.run.results
        texts = defused(results["text"], self.limits.candidates)
        return dict(zip(results.select(_KEY).iter_rows(), texts, strict=True))

    @cached_property
    def explain_targets(self) -> dict[tuple[int, int], dict[str, Any]]:
        """The named chunks."""
        rows = self.run.explain_targets.iter_rows(named=True)
        return {(row["query_id"], row["chunk_id"]): row for row in rows}

    @cached_property
    def statuses(self) -> dict[str, dict[str, str]]:
        """Of each corpus the status of each of its searches."""
        rows = self.run.outcomes.filter(pl.col("channel") != "chunks")
        found: dict[str, dict[str, str]] = {}
        for corpus, channel, status in rows["corpus", "channel", "status"].iter_rows():
            found.setdefault(corpus, {})[channel] = status
        return found

    @cached_property
    def ends(self) -> dict[tuple[int, str], dict[str, Any]]:
        """How long each list of a question was, and where the vector list ended."""
        ends = self.run.merged.group_by("query_id", "corpus").agg(
            vector=pl.col("vector_rank").count(),
            text=pl.col("text_rank").count(),
            last=pl.col("vector_distance").max(),
        )
        return {(row["query_id"], row["corpus"]): row for row in ends.iter_rows(named=True)}


def _say(row: Mapping[str, Any], looked: _Looked) -> tuple[str, str, int | None]:
    """Fate, reason and the chunk that absorbed it."""
    key = (row["query_id"], row["chunk_id"])
    if row["number"] is not None:
        return "context", _in_context(row, looked), None
    if row["result_rank"] is not None:
        return "over_budget", _too_long(row, looked), None
    if row["unique_rank"] is not None:
        place = f"{ordinal(row['unique_rank'])} without the copies"
        return "below_top_k", f"{place}; the results end after {looked.limits.top_k}", None
    if row["fused_rank"] is not None:
        if key not in looked.across:
            return "dropped", FATES["dropped"], None
        other, label = looked.across[key]
        return "copy_across", f"it says what {label} says, which is better placed", other
    if row["deduped_rank"] is not None:
        return "dropped", FATES["dropped"], None
    if row["merged_rank"] is not None:
        if key not in looked.within:
            return "unread", "a search found it, but its text was gone or not to be seen", None
        other, label = looked.within[key]
        return "copy_within", f"it says what {label} says, which its corpus placed better", other
    return (*_unfound(row, looked), None)


def _in_context(row: Mapping[str, Any], looked: _Looked) -> str:
    limits, number = looked.limits, row["number"]
    cited = (
        "cited" if row["citation"] else f"not cited, as only the first {limits.max_citations} are"
    )
    (cost,) = (cost for _, n, cost in looked.costs[row["query_id"]] if n == number)
    of = f"{cost:,} of {limits.budget:,} {limits.unit}"
    return f"{ordinal(number - 1)} in the context, with {of}; {cited}"


def _too_long(row: Mapping[str, Any], looked: _Looked) -> str:
    """Why it is not in the context; what it costs is known where the unit is characters."""
    limits = looked.limits
    packed = looked.costs.get(row["query_id"], [])
    before = [one for one in packed if one[0] < row["result_rank"]]
    left = limits.budget - sum(cost for *_, cost in before)
    if packed and all(rank < 0 for rank, *_ in packed):  # the notes kept room to be set apart
        left -= len(SEPARATOR)
    if limits.unit != "characters":
        return f"it did not fit into the {left:,} {limits.unit} that were left"
    number = sum(rank >= 0 for rank, *_ in before) + 1
    text = looked.texts[row["query_id"], row["chunk_id"]]
    said = entry(boundary([], []), number, row["source_label"], text)  # all boundaries are as long
    need = len(said) + (len(SEPARATOR) if number > 1 else 0)
    return f"it needs {need:,} {limits.unit}, and {left:,} of {limits.budget:,} were left"


def _unfound(row: Mapping[str, Any], looked: _Looked) -> tuple[str, str]:
    """Fate and reason of what no list has."""
    found = looked.explain_targets.get((row["query_id"], row["chunk_id"]), {})
    if found.get("hidden"):
        return "hidden", found["hidden"]
    statuses = looked.statuses.get(row["corpus"], {})
    wrong = [f"its {c} search {_SPELLED[s]}" for c, s in statuses.items() if s in _SPELLED]
    if statuses and len(wrong) == len(statuses):
        return "not_searched", " and ".join(dict.fromkeys(wrong))
    many = looked.limits.candidates.get(row["corpus"], 0)
    ends = looked.ends.get((row["query_id"], row["corpus"]), {})
    full = [channel for channel in statuses if ends.get(channel, 0) >= many]
    if "vector" in full:
        distance = found.get("vector_distance")
        own = "" if distance is None else f" (its distance is {distance:.3f})"
        last = f", which end at {ends['last']:.3f}" if ends.get("last") is not None else ""
        wrong.append(f"further away{own} than the {many} nearest{last}")
    if "text" in full:
        wrong.append(f"not among the {many} best by words")
    elif statuses.get("text") in ("ok", "empty"):
        wrong.append("without a word of the question")
    return "below_candidates" if full else "not_found", "; ".join(wrong) or FATES["not_found"]


_SPELLED = {
    "absent": "did not run, because nothing has been ingested into it",
    "failed": "failed",
    "timed_out": "timed out",
    "overridden": "did not run, because its results were given",
}


def ordinal(rank: int) -> str:
    """A 0-based rank as a person counts.

    >>> [ordinal(rank) for rank in (0, 1, 2, 3, 10, 20)]
    ['1st', '2nd', '3rd', '4th', '11th', '21st']
    """
    place = rank + 1
    ends: Sequence[str] = ("th", "st", "nd", "rd")
    last = 0 if place % 100 in (11, 12, 13) or place % 10 > 3 else place % 10
    return f"{place}{ends[last]}"
