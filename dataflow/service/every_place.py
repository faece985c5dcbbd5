"""Every place of an exact text or a regular expression, with their number: what grep answers."""

import re
from typing import Any, NamedTuple

import polars as pl

from dataflow.driver.retrieval_driver import RetrievalDriver
from operators.errors import CrosscorpusError, counted
from operators.frames import SHOWN, empty
from operators.postgres.search.occurrences import occurrences
from operators.postgres.store import collection_info

MOST = 2_000
"""Lines of one corpus."""

SECONDS = 20.0


class EveryPlace(NamedTuple):
    """The lines (``OCCURRENCES``, under the corpora's names in the configuration), and how many."""

    lines: pl.DataFrame
    said: str


def every_place(
    driver: RetrievalDriver, text: str, *, regex: bool = False, **options: Any
) -> EveryPlace:
    """The lines that have ``text``, or that it matches, in what the filters of ``options`` allow.

    Raises:
        CrosscorpusError: the text has several lines or no letter, or is no regular expression.
    """
    if "\n" in text or not text.strip():
        raise CrosscorpusError("give one line of text: places are found line by line")
    pattern = text if regex else re.escape(text)
    inputs = driver.question_inputs(text, must_exist=True, pattern=pattern, **options)
    (requests,) = driver.execute(["search_requests"], inputs).values()
    parts = []
    for request in requests.values():
        home = request.home
        held = collection_info(home.store).corpora
        if home.corpus in held and not request.queries.is_empty():
            how: dict[str, Any] = {"most": MOST + 1, "timeout_s": SECONDS}
            found = occurrences(home.store, home.corpus, request.queries, **how)
            parts.append(found.with_columns(corpus=pl.lit(request.corpus)))
    lines = pl.concat(parts) if parts else pl.DataFrame()
    cut = any(part.height > MOST for part in parts)
    files = lines.select("corpus", "repo", "document_id").n_unique() if parts else 0
    how_many = f"{counted(lines.height, 'place')} in {counted(files, 'file')}"
    said = f"{how_many} and more: narrow it" if cut else f"{how_many}, all"
    bar = r"; \| is the character |, alternatives are a|b" if regex and r"\|" in text else ""
    if lines.is_empty():
        unmet = driver.execute(["unmet_filters"], inputs, {"results": empty(SHOWN)})
        said = "; ".join([said + bar, *unmet["unmet_filters"]["note"]])
    return EveryPlace(lines, said)
