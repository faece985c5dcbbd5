"""Judged queries and relevance judgements, read from files that may be handmade.

Queries are JSON, one per line; judgements are TREC qrels. A fault in a line is an error that names
the line, so that no evaluation runs on half of the input.
"""

import gzip
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from operators.errors import CrosscorpusError
from operators.evaluation.evaluation_frames import JUDGED_QUERIES, QRELS
from operators.question.ask import in_utc


class JudgementError(CrosscorpusError):
    """A faulty file of queries, judgements or a run; the message names the line."""


def read_queries(path: Path) -> pl.DataFrame:
    """The queries of a file, in file order.

    Args:
        path: JSON, one object per line, may be gzipped: ``query_id`` (text or a whole number, each
            once), ``text`` or ``texts``; and where known ``kind``, ``trigger`` ("none" is none),
            ``judged_corpora``, ``repos``, ``as_of`` (ISO 8601, UTC if no zone is given) and
            ``group``. Other fields are ignored.

    Returns:
        Columns ``JUDGED_QUERIES``.

    Raises:
        JudgementError: the file is missing or empty, or a line is not such an object.
    """
    rows: list[dict[str, Any]] = []
    seen: dict[str, int] = {}
    for number, line in lines(path):
        where = f"{path} line {number}"
        row = _query(line, where)
        if row["query_id"] in seen:
            first = seen[row["query_id"]]
            raise JudgementError(f"{where}: query {row['query_id']!r} is on line {first} already")
        seen[row["query_id"]] = number
        rows.append({**row, "number": len(rows)})
    if not rows:
        raise JudgementError(f"{path} has no queries: one JSON object a line is needed")
    return pl.DataFrame(rows, schema=JUDGED_QUERIES)


def _query(line: str, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise JudgementError(f"{where}: no JSON ({error})") from None
    if not isinstance(record, dict):
        raise JudgementError(f"{where}: a JSON object is needed, got {type(record).__name__}")
    query_id = record.get("query_id")
    if isinstance(query_id, int) and not isinstance(query_id, bool):
        query_id = str(query_id)
    if not isinstance(query_id, str) or not query_id.strip():
        raise JudgementError(f"{where}: query_id must be a text, got {query_id!r}")
    texts = _texts(record, "texts", where)
    texts = [_text(record, "text", where) or ""] if texts is None else texts
    if not texts or not all(text.strip() for text in texts):
        raise JudgementError(f"{where}: query {query_id!r} has no text")
    trigger = _text(record, "trigger", where)
    return {
        "query_id": query_id,
        "texts": texts,
        "text": texts[0],
        "kind": _text(record, "kind", where),
        "trigger": None if trigger in (None, "", "none") else trigger,
        "corpora": _texts(record, "judged_corpora", where),
        "repos": _texts(record, "repos", where),
        "as_of": _moment(record, where),
        "group": str(record["group"]) if record.get("group") else None,
    }


def _text(record: dict[str, Any], field: str, where: str) -> str | None:
    value = record.get(field)
    if value is not None and not isinstance(value, str):
        raise JudgementError(f"{where}: {field} must be a text, got {value!r}")
    return value


def _texts(record: dict[str, Any], field: str, where: str) -> list[str] | None:
    value = record.get(field)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise JudgementError(f"{where}: {field} must be a list of texts, got {value!r}")
    return value


def _moment(record: dict[str, Any], where: str) -> datetime | None:
    value = _text(record, "as_of", where)
    if value is None:
        return None
    try:
        return in_utc(datetime.fromisoformat(value))
    except (ValueError, CrosscorpusError):
        raise JudgementError(
            f"{where}: as_of must be a time such as 2022-11-23T00:00:00Z, got {value!r}"
        ) from None


def read_qrels(path: Path) -> pl.DataFrame:
    """The judgements of a TREC qrels file, in file order.

    Args:
        path: ``query_id iteration doc_id grade`` per line, may be gzipped. Tabs separate the fields
            (then an id may have spaces) or, in a line without tabs, spaces. ``doc_id`` is a
            document's id, or names one repository's (``acme/api:README.md``) or lines
            (``README.md:10-42``): see :mod:`operators.evaluation.ranked_documents`. A grade is a
            whole number; 0 and less is "not relevant".

    Returns:
        Columns ``QRELS``.

    Raises:
        JudgementError: the file is missing or empty, a line is malformed, or a document is judged
            twice for a query.
    """
    rows: list[tuple[str, str, int]] = []
    seen: dict[tuple[str, str], int] = {}
    for number, line in lines(path):
        where = f"{path} line {number}"
        fields = fields_of(line)
        if len(fields) != 4 or not all(fields):
            raise JudgementError(
                f"{where}: expected `query_id 0 doc_id grade`, got {len(fields)} fields "
                "(an id with spaces needs tabs between the fields)"
            )
        query_id, _, doc_id, grade = fields
        if (query_id, doc_id) in seen:
            first = seen[query_id, doc_id]
            raise JudgementError(
                f"{where}: document {doc_id!r} of query {query_id!r} is judged on line {first} "
                "already"
            )
        seen[query_id, doc_id] = number
        rows.append((query_id, doc_id, _grade(grade, where)))
    if not rows:
        raise JudgementError(
            f"{path} has no judgements: `query_id 0 doc_id grade` a line is needed"
        )
    return pl.DataFrame(rows, schema=QRELS, orient="row")


def _grade(text: str, where: str) -> int:
    try:
        grade = int(text)
    except ValueError:
        raise JudgementError(f"{where}: the grade must be a whole number, got {text!r}") from None
    if abs(grade) > 20:
        raise JudgementError(f"{where}: the grade must be between -20 and 20, got {grade}")
    return grade


def check_judged(queries: pl.DataFrame, qrels: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The ``JUDGED_QUERIES`` that have judgements, and their ``QRELS``.

    Raises:
        JudgementError: the two have no query in common.
    """
    judged = queries.join(qrels, on="query_id", how="semi", maintain_order="left")
    if judged.is_empty():
        some, other = queries["query_id"][0], qrels["query_id"][0]
        raise JudgementError(
            f"no query has a judgement: the queries are like {some!r}, the judgements are of "
            f"queries like {other!r}"
        )
    return judged, qrels.join(queries, on="query_id", how="semi", maintain_order="left")


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The non-blank lines of a file, with their numbers from 1.

    Raises:
        JudgementError: the file can't be read, or is no UTF-8.
    """
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                except UnicodeDecodeError:
                    raise JudgementError(f"{path} line {number}: no UTF-8") from None
                if line.strip():
                    yield number, line
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise JudgementError(f"can't read {path}: {reason}") from None


def fields_of(line: str) -> list[str]:
    """The fields of a TREC line, separated by tabs if it has any, else by white space."""
    return [f.strip() for f in line.split("\t")] if "\t" in line else line.split()
