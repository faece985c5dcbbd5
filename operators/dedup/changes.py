"""Treats a commit, its pull request and the issue that they close as one change: one result.

The best ranked stays and represents the others. Only the first passage of each counts: the commit's
message, the request's title and description, the issue's opening. A thread, a review, a later
comment, a diff and another commit are separate results: a change has one document of each kind.
"""

import re

import numpy as np
import polars as pl

from operators.arrays.segments import Integers
from operators.foundation.closed_issues import closed_issues

_REQUESTS = re.compile(
    r"\A[^\n]*\([#!](\d+)\)$|^Merge pull request #(\d+) |^See merge request \S*!(\d+)$", re.M
)
_CONVERSATION = re.compile(r"(pull|issues)/(\d+)")
_CORPORA = {"review": "pull", "history": "commit", "issue": "issues"}
"""The kind of document that each corpus may have; a request comes first, it names both others."""


def change_representatives(hits: pl.DataFrame) -> Integers:
    """For each row the row that represents it: itself, or the best ranked of its change.

    Args:
        hits: columns ``FUSED``, sorted by query and rank.
    """
    known: dict[tuple[object, ...], list[dict[str, int]]] = {}  # a name -> changes: kind -> row
    columns = hits["query_id", "repo", "document_id", "text"]
    first = hits["start_line"].eq(1).fill_null(value=False)
    representative = np.arange(hits.height)
    for corpus, kind in _CORPORA.items():
        for row in np.flatnonzero((first & (hits["corpus"] == corpus)).to_numpy()).tolist():
            query_id, repo, document_id, text = columns.row(row)
            own = repo.lower()
            named = [(query_id, own, *name) for name in _names(kind, document_id, text, own)]
            near = [change for name in named for change in known.get(name, ())]
            change = next((one for one in near if kind not in one), {})
            change[kind] = row
            for name in named:
                known.setdefault(name, []).append(change)
            representative[list(change.values())] = min(change.values())
    return representative


def _names(kind: str, document_id: str, text: str, repo: str) -> set[tuple[str, str]]:
    """The pull requests and issues of a document's change, as kind and number.

    >>> sorted(_names("commit", "1c9a", "Take less memory (#12)\\n\\nFixes #7, see #3.", "app"))
    [('issues', '7'), ('pull', '12')]
    """
    numbers, _ = ([], False) if kind == "issues" else closed_issues(text, [repo])
    closed = {("issues", str(number)) for number in numbers}
    if kind == "commit":
        return closed | {("pull", "".join(numbers)) for numbers in _REQUESTS.findall(text)}
    named = _CONVERSATION.fullmatch(document_id)  # not a thread on a line, nor a review
    return closed | {(kind, named[2])} if named and named[1] == kind else set()
