"""The outcome of each search, and the notes about it.

A search that failed or timed out leaves an empty list and an outcome. So the others can answer, and
the reader knows which search failed. A corpus without a hit gets no note.
The channels are ``vector`` and ``text``; ``linked`` and ``chunks`` appear only if the search of
linked files or the reading of the chunks failed.
"""

import re
from collections.abc import Mapping, Sequence

import polars as pl

from operators.errors import SearchError, first_of, plain_text
from operators.foundation.escape import label_text
from operators.foundation.stop_word_names import only_stop_words
from operators.frames import NOTES, OUTCOMES, empty, stacked

NOT_INGESTED = "not ingested: "

_CREDENTIALS = re.compile(r"(?<=://)[^\s/@]+@|(?i:password|passwd|token|secret)\s*[=:]\s*\S+")
_LONGEST = 160
_NAMED = 8  # corpora of one note
_FAILED = ("failed", "timed_out")
_WHAT = {"chunks": "reading of its chunks", "linked": "search of linked files"}
_ANSWERED = ("ok", "empty", "overridden")


def outcome(
    corpus: str,
    channel: str,
    status: str,
    rows: int = 0,
    elapsed_ms: float = 0.0,
    error: str | None = None,
) -> pl.DataFrame:
    """One row of ``OUTCOMES``; ``error`` becomes one line without credentials."""
    if error is not None:
        line = label_text(_CREDENTIALS.sub("...", error.strip().partition("\n")[0]))
        error = line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
    row = (corpus, channel, status, rows, elapsed_ms, error)
    return pl.DataFrame([row], schema=OUTCOMES, orient="row")


def searched(corpus: str, channel: str, rows: int, elapsed_ms: float) -> pl.DataFrame:
    """The outcome of a search that succeeded: ``ok``, or ``empty`` without a row."""
    return outcome(corpus, channel, "ok" if rows else "empty", rows, elapsed_ms)


def unsuccessful(corpus: str, channel: str, error: Exception, elapsed_ms: float) -> pl.DataFrame:
    """The outcome of a search that raised: ``timed_out`` for a TimeoutError, else ``failed``."""
    status = "timed_out" if isinstance(error, TimeoutError) else "failed"
    return outcome(corpus, channel, status, 0, elapsed_ms, plain_text(error))


def collect(outcomes: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """All outcomes as one frame.

    Raises:
        SearchError: there were searches, and all of them failed.
    """
    everything = stacked(outcomes) if outcomes else empty(OUTCOMES)
    rows = everything.rows()
    if bad := [row for row in rows if row[2] in _FAILED]:
        unread = {row[0] for row in bad if row[1] == "chunks"}
        if not {row[0] for row in rows if row[2] in _ANSWERED} - unread:
            by_fault = dict[str, list[str]]()
            for row in bad:
                by_fault.setdefault(row[5] or row[2], []).append(f"{row[0]} {row[1]}")
            faults = "; ".join(f"{', '.join(names)}: {why}" for why, names in by_fault.items())
            raise SearchError(f"every search failed, so there is no answer: {faults}")
    return everything


def notes(faults: Sequence[tuple[str, str]], queries: pl.DataFrame) -> pl.DataFrame:
    """``NOTES``: for each query the :func:`faults` of its corpora, and what was cut of its text."""
    rows = []
    for query_id, corpora, cut in queries["query_id", "corpora", "cut"].iter_rows():
        rows += [(query_id, cut)] if cut else []
        rows += [(query_id, n) for corpus, n in faults if corpora is None or corpus in corpora]
    return pl.DataFrame(rows, schema=NOTES, orient="row") if rows else empty(NOTES)


def stop_word_notes(queries: pl.DataFrame) -> pl.DataFrame:
    """``NOTES``: a sentence for each query of only stop words, which keyword search leaves out."""
    sentence = (
        "all words of this query are stop words: keyword search leaves them out, but for"
        " IT and WHO in capitals"
    )
    rows = []
    for query_id, texts in queries["query_id", "texts"].iter_rows():
        query_texts = [text for text in texts or () if text and text.strip()]
        if query_texts and all(map(only_stop_words, query_texts)):
            rows.append((query_id, sentence))
    return pl.DataFrame(rows, schema=NOTES, orient="row") if rows else empty(NOTES)


def options_read(queries: pl.DataFrame, sentences: Sequence[str]) -> pl.DataFrame:
    """``NOTES``: for each query, how its options were read."""
    rows = [(query_id, sentence) for query_id in queries["query_id"] for sentence in sentences]
    return pl.DataFrame(rows, schema=NOTES, orient="row") if rows else empty(NOTES)


def not_ingested(outcomes: pl.DataFrame, queries: pl.DataFrame) -> pl.DataFrame:
    """``NOTES``: one line per query that names its corpora without documents."""
    absent = outcomes.filter(pl.col("status") == "absent")["corpus"].unique().sort().to_list()
    rows = []
    for query_id, corpora in queries["query_id", "corpora"].iter_rows():
        if named := [corpus for corpus in absent if corpora is None or corpus in corpora]:
            rows.append((query_id, f"{NOT_INGESTED}{', '.join(named)}"))
    return pl.DataFrame(rows, schema=NOTES, orient="row")


def not_searched(chunks: Mapping[str, int], queries: pl.DataFrame) -> pl.DataFrame:
    """``NOTES``: for a query of all corpora, those that no corpus of the configuration searches.

    ``chunks``: how many each has.
    """
    every = sorted(chunks)
    names = first_of([f"{name} ({chunks[name]:,} chunks)" for name in every], _NAMED)
    add = "; ".join(f'{name}: {{label: "{{title}}", link: "{{uri}}"}}' for name in every[:_NAMED])
    note = f"not searched: {names}; in a configuration that extends yours, corpora has {add}"
    everywhere = queries.filter(pl.col("corpora").is_null())["query_id"] if chunks else ()
    return pl.DataFrame([(query, note) for query in everywhere], schema=NOTES, orient="row")


def incomplete(
    progress: Mapping[str, tuple[int, int, bool]], queries: pl.DataFrame, most: int
) -> pl.DataFrame:
    """``NOTES``: the missing documents or vectors of the corpora of each query.

    ``progress``: by corpus the chunks without a vector, all chunks, and whether an ingestion has
    not ended; over ``most`` chunks without a vector are not counted.
    """
    rows = []
    for query_id, names in queries["query_id", "corpora"].iter_rows():
        here = {name: state for name, state in progress.items() if names is None or name in names}
        if begun := ", ".join(sorted(name for name, state in here.items() if state[2])):
            note = f"{begun}: the last ingestion has not ended, so that documents may be missing"
            rows.append((query_id, note))
        waiting, chunks = (sum(state[index] for state in here.values()) for index in (0, 1))
        if waiting:
            number = f"{waiting:,}" if waiting <= most else f"over {most:,}"
            has = "has" if waiting == 1 else "have"
            note = f"{number} of {chunks:,} chunks {has} no vector yet: keyword search only"
            rows.append((query_id, note))
    return pl.DataFrame(rows, schema=NOTES, orient="row")


def faults(outcomes: pl.DataFrame) -> list[tuple[str, str]]:
    """A corpus and a sentence for each search that failed or timed out."""
    columns = outcomes["corpus", "channel", "status", "elapsed_ms", "error"]
    sentences = []
    for corpus, rows in columns.rows_by_key("corpus").items():
        bad = [row for row in rows if row[1] in _FAILED]
        is_read = all(row[0] != "chunks" for row in bad)
        good = [row[0] for row in rows if is_read and row[1] in ("ok", "empty")]
        sentences += [(corpus, _sentence(corpus, good, *row)) for row in bad]
    return sentences


def channels(outcomes: pl.DataFrame) -> dict[str, dict[str, str]]:
    """The status of each channel of each corpus."""
    statuses: dict[str, dict[str, str]] = {}
    for corpus, channel, status in outcomes["corpus", "channel", "status"].iter_rows():
        statuses.setdefault(corpus, {})[channel] = status
    return statuses


def silent_corpora(outcomes: pl.DataFrame) -> dict[str, list[str]]:
    """For ``vector`` and ``text``: the corpora where only the other search succeeded."""
    silent: dict[str, list[str]] = {"vector": [], "text": []}
    for corpus, statuses in channels(outcomes).items():
        answered = [channel for channel in silent if statuses.get(channel) in _ANSWERED]
        if len(answered) == 1:
            silent["text" if answered == ["vector"] else "vector"].append(corpus)
    return silent


def unreached(outcomes: pl.DataFrame) -> set[str]:
    """The corpora none of whose searches came to an end."""
    ends = {"failed", "timed_out"}
    return {corpus for corpus, of in channels(outcomes).items() if ends >= set(of.values())}


def _sentence(
    corpus: str, good: list[str], channel: str, status: str, elapsed_ms: float, error: str | None
) -> str:
    what = _WHAT.get(channel, f"{channel} search")
    fault = f"timed out after {elapsed_ms / 1000:.2f} s" if status == "timed_out" else "failed"
    detail = f" ({error})" if error and status != "timed_out" else ""
    rest = f"the results are of its {good[0]} search alone" if good else "it has no results here"
    if channel == "linked" and good:
        rest = "the results lack files that only links lead to"
    return f"{corpus}: the {what} {fault}{detail}; {rest}"
