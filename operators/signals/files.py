"""The hits of a question that are passages of files of code, by corpus and by file."""

from collections import defaultdict
from typing import TypeAlias

import polars as pl

from operators.ranking.linked_files import File

Corpus: TypeAlias = tuple[int, str]
"""A question and a corpus."""


def rows_by_file(hits: pl.DataFrame) -> dict[Corpus, dict[File, list[int]]]:
    """The rows of each file of each corpus of a question, best first; only rows ``of_file``."""
    grouped: dict[Corpus, dict[File, list[int]]] = defaultdict(lambda: defaultdict(list))
    columns = hits["query_id", "corpus", "repo", "path", "of_file"]
    for row, (query, corpus, repo, path, of_file) in enumerate(columns.iter_rows()):
        if of_file:
            grouped[query, corpus][repo, path].append(row)
    return grouped
