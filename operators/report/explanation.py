"""The page that explains one answer: why each passage has its rank, or why it is missing."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from operators.errors import counted
from operators.explain.dispositions import DISPOSITION_MEANINGS
from operators.explain.waterfall import spell, waterfall
from operators.question.intent import understood
from operators.report.page import Html, Section, element, join, page, table
from operators.report.passages import Passage, places_table, used_factors

_LONGEST = 600  # shown characters of a passage's text


def explanation_page(answer: Mapping[str, Any]) -> str:
    """The whole page for the first query of a run as HTML.

    It loads nothing and runs nothing. ``answer`` has the outputs
    ``queries``, ``results``, ``explain``, ``dispositions`` and ``provenance`` of a run.
    """
    question = answer["queries"].row(0, named=True)
    results, explained, ends = (
        answer[name].filter(query_id=question["query_id"])
        for name in ("results", "explain", "dispositions")
    )
    passages = _passages(ends, explained)
    texts = dict(results["chunk_id", "text"].iter_rows())
    placed = [one for one in passages if one.place is not None]
    named = [one for one in passages if one.place is None]
    sections = []
    if passages:
        sections.append(Section("What each score is made of", _scores(passages)))
        sections.append(Section("From stage to stage", places_table(passages)))
    if named:
        body = join([_details(one, None, open_=True) for one in named])
        sections.append(Section("Passages asked about", body))
    if placed:
        body = join([_details(one, texts.get(one.row["chunk_id"]), open_=False) for one in placed])
        sections.append(Section("Results", body))
    return page(
        question["texts"][0],
        sections,
        lead=_lead(question, placed, named, answer["provenance"], answer.get("intent")),
    )


def _passages(dispositions: pl.DataFrame, explained: pl.DataFrame) -> list[Passage]:
    """The passages in order: results by rank, then the other requested ones, ?1, ?2, ..."""
    by_chunk = explained.partition_by("chunk_id", as_dict=True, maintain_order=True)
    passages: list[Passage] = []
    numbers = itertools.count(1)
    for row in dispositions.iter_rows(named=True):
        rank = row["result_rank"]
        name = str(rank + 1) if rank is not None else f"?{next(numbers)}"
        rows = by_chunk.get((row["chunk_id"],), explained.clear())
        passages.append(Passage(name, row, waterfall(rows)))
    return passages


def _lead(
    question: Mapping[str, Any],
    results: Sequence[Passage],
    named: Sequence[Passage],
    provenance: Mapping[str, Any],
    intent: pl.DataFrame | None,
) -> Html:
    used = sum(one.row["number"] is not None for one in results)
    corpora = len({one.row["corpus"] for one in results})
    lead = f"{counted(len(results), 'result')} of {counted(corpora, 'corpus', 'corpora')}, "
    lead += f"{used} in the context"
    if named:
        lead += f"; {counted(len(named), 'passage')} asked about"
    facts = [f"also put as: {text}" for text in question["texts"][1:]]
    if question["trigger"]:
        mix = [f"{one['trigger']} {spell(one['share'])}" for one in question["trigger"]]
        single = len(mix) == 1 and question["trigger"][0]["trigger"]
        facts.append(f"trigger: {single or ', '.join(mix)}")
    for name, what in (("repos", "in"), ("corpora", "only")):
        if question[name] is not None:
            facts.append(f"{what} {', '.join(question[name]) or 'nothing'}")
    single_values = [
        name
        for name in ("path_prefix", "language", "state", "symbol", "uses")
        if question[name] is not None
    ]
    facts += [f"{name.replace('_', ' ')} {question[name]}" for name in single_values]
    if question["as_of"] is not None:
        facts.append(f"as of {question['as_of']:%Y-%m-%d %H:%M} UTC")
    if intent is not None:
        facts += understood(
            intent.row(by_predicate=pl.col("query_id") == question["query_id"], named=True)
        )
    parts = [element("p", f"{lead}.", class_="lead")]
    if facts:
        parts.append(element("p", join(facts, "; "), class_="note"))
    if provenance["degraded"]:
        notes = [element("li", note) for note in provenance["degraded"]]
        parts.append(element("ul", *notes, class_="notes"))
    return join(parts)


def _scores(passages: Sequence[Passage]) -> Html:
    scored = [one for one in passages if one.steps]
    named = (f"{name}: {text.rstrip('.')}" for name, text in used_factors(scored).items())
    meanings = "; ".join(named)
    meanings = meanings[:1].upper() + meanings[1:]
    has_others = any(one.place is None for one in passages)
    asked = "?1, ...: passages that were asked about and are no results." if has_others else ""
    note = element("p", f"{meanings}. {asked}".strip(), class_="note") if scored else ""
    rows = [
        [
            one.name,
            _link(one.row),
            "" if one.row["score"] is None else f"{one.row['score']:.4f}",
            DISPOSITION_MEANINGS[one.row["disposition"]],
            str(one.row["number"] or ""),
            str(len(one.row["near_duplicates"]) or ""),
        ]
        for one in passages
    ]
    head = ["", "passage", "score", "what became of it", "in the context", "near-duplicates"]
    listed = table("The passages", head, rows, numeric=(2, 4, 5))
    return join([listed, note])


def _link(source: Mapping[str, Any]) -> Html:
    label, url = source["source_label"], source["source_url"]
    return element("a", label, href=url, rel="noreferrer") if url else join([label])


def _details(one: Passage, text: str | None, *, open_: bool) -> Html:
    """Everything about one passage."""
    row = one.row
    score = "" if row["score"] is None else f"  {row['score']:.4f}"
    heading = [
        element("strong", one.name),
        f" {row['source_label']} ",
        element("span", score, class_="quiet"),
    ]
    sentence = f"{row['reason']}."
    if row["disposition"] != "context":
        sentence = f"{DISPOSITION_MEANINGS[row['disposition']]}: {sentence}"
    parts: list[Html] = [element("p", sentence[:1].upper() + sentence[1:])]
    if row["source_url"]:
        parts.append(element("p", element("a", row["source_url"], href=row["source_url"])))
    if one.steps:
        formulas = [[step.factor, step.formula, spell(step.after)] for step in one.steps]
        head = ["factor", "what it does", "score so far"]
        parts.append(table("Factors", head, formulas, numeric=(2,)))
    if row["near_duplicates"]:
        others = [element("li", _link(other)) for other in row["near_duplicates"]]
        parts += [element("h4", "Also found in"), element("ul", *others)]
    if text:
        shown = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
        parts += [element("h4", "Text"), element("blockquote", shown)]
    return element("details", element("summary", *heading), *parts, open=open_)
