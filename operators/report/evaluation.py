"""The report of an evaluation: one page with the differences and their significance."""

from operators.errors import counted
from operators.evaluation.evaluation_frames import Evaluation, measures_of
from operators.evaluation.tables import (
    SIGNIFICANT,
    comparison_rows,
    slice_meaning,
    slice_rows,
    verdicts,
)
from operators.report.changed_queries import changed_body
from operators.report.page import Html, Section, element, join, page, table

MEANINGS = {
    "nDCG@10": "how good the first ten documents are, the first counting most",
    "R@50": "the share of the relevant documents that are among the first fifty",
    "RR@10": "one over the place of the first relevant document, 0 beyond the tenth",
    "AP": "precision at each relevant document, averaged over all of them",
}


def report_page(evaluation: Evaluation) -> str:
    """The whole page as HTML; it loads nothing and runs nothing.

    The first configuration is the baseline.
    """
    configs, measures = evaluation.configs, measures_of(evaluation.scores)
    compared = len(configs) > 1 and evaluation.comparison.height > 0
    sections = [Section("Scores", _scores(evaluation))]
    if compared:
        sections.append(Section(f"Against {configs[0]}", _comparison(evaluation), "Comparison"))
    if evaluation.changed.height:
        changed = changed_body(evaluation.changed, evaluation.qrels, configs[0], evaluation.titles)
        sections.append(Section("What changed most", changed, "Changes"))
    sections.append(Section("How to read this", _method(measures), "Method"))
    return page(
        f"Evaluation of {evaluation.collection}",
        sections,
        lead=_lead(evaluation, compared=compared),
    )


def _scores(evaluation: Evaluation) -> Html:
    """The means of all slices with their intervals."""
    slices = evaluation.summary.select("slice", "queries").unique(maintain_order=True).iter_rows()
    names = {name: f"{name} ({count})" for name, count in slices}
    measures = measures_of(evaluation.summary)
    numbers = table(
        "Means, with the 95 % interval of the mean",
        ["queries", "configuration", *measures],
        [[names[name], *row] for name in names for row in slice_rows(evaluation, name)],
        numeric=range(2, 2 + len(measures)),
    )
    meanings = [f"{name}: {text}." for name in names if (text := slice_meaning(name))]
    return join([numbers, element("p", " ".join(meanings), class_="note")])


def _comparison(evaluation: Evaluation) -> Html:
    """The differences from the first configuration with their intervals."""
    head = ["configuration", "measure", "difference", "95 % interval", "p", "p, corrected"]
    return table(
        f"Every configuration against {evaluation.configs[0]}, query by query; * corrected p < "
        f"{SIGNIFICANT}",
        [*head, "gained / same / lost"],
        comparison_rows(evaluation),
        numeric=range(2, 7),
    )


def _lead(evaluation: Evaluation, *, compared: bool) -> Html:
    configs = evaluation.configs
    queries = counted(evaluation.queries.height, "judged query", "judged queries")
    several = f"{len(configs)} configurations" if len(configs) > 1 else configs[0]
    text = f"{queries}, {several}"
    if compared:
        text += f", compared with {configs[0]}"
    parts = [element("p", f"{text}.", class_="lead")]
    if compared:
        said = [element("li", verdict) for verdict in verdicts(evaluation)]
        parts.append(element("ul", *said, class_="findings"))
    if evaluation.notes:
        notes = [element("li", note) for note in evaluation.notes]
        parts.append(element("ul", *notes, class_="notes"))
    return join(parts)


def _method(measures: list[str]) -> Html:
    terms = {name: f"{MEANINGS[name]}; from 0 to 1." for name in measures if name in MEANINGS}
    terms |= {
        "95 % interval": "What the mean would be for other queries like these: the middle 95 % of "
        "the means of queries drawn again, with repetition, from the judged ones (bootstrap).",
        "p": "How often chance gives a difference at least as large, if a coin's toss for each "
        "query decides which configuration gets which score (paired randomisation test, "
        "two-sided). Corrected, it allows for the number of comparisons in the table (Holm).",
        "no difference shown": "The corrected p is 0.05 or more. There may still be a difference: "
        "more judged queries could show it.",
        "relevant": "The judgements call it relevant; a document without a judgement counts as not "
        "relevant. A document has the rank of its best chunk.",
    }
    entries = (join([element("dt", term), element("dd", text)]) for term, text in terms.items())
    return element("dl", *entries, class_="terms")
