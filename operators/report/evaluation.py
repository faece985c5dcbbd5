"""The report of an evaluation: one page with the differences and their significance."""

from operators.evaluation.evaluation_frames import Evaluation, measures_of
from operators.evaluation.tables import verdicts
from operators.report import charts
from operators.report.changed_queries import changed_body
from operators.report.comparison import comparison_body
from operators.report.page import Html, Section, element, join, page
from operators.report.scores import MEANINGS, scores_body
from operators.report.timings import timings_body


def report_page(evaluation: Evaluation) -> str:
    """The whole page as HTML; it loads nothing, and without scripts only the charts are missing.

    The first configuration is the baseline.
    """
    configs, measures = evaluation.configs, measures_of(evaluation.scores)
    name = str(evaluation.collection.get("name", ""))
    compared = len(configs) > 1 and evaluation.comparison.height > 0
    sections = [Section("Scores", scores_body(evaluation))]
    if compared:
        differences = comparison_body(evaluation)
        sections.append(Section(f"Against {configs[0]}", differences, "Comparison"))
    if evaluation.changed.height:
        changed = changed_body(evaluation.changed, evaluation.qrels, configs[0], evaluation.titles)
        sections.append(Section("What changed most", changed, "Changes"))
    if evaluation.timings.height:
        count = evaluation.queries.height
        body = timings_body(evaluation.timings, configs, count)
        sections.append(Section("Where the time went", body, "Time"))
    sections.append(Section("How to read this", _method(measures), "Method"))
    return page(
        f"Evaluation of {name}" if name else "Evaluation",
        sections,
        lead=_lead(evaluation, compared=compared),
        scripts=charts.scripts(),
    )


def _lead(evaluation: Evaluation, *, compared: bool) -> Html:
    configs = evaluation.configs
    queries = evaluation.queries.height
    several = f"{len(configs)} configurations" if len(configs) > 1 else configs[0]
    text = f"{queries} judged queries, {several}"
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
