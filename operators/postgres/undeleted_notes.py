"""The notes that documents of an answer's corpora may be gone from their source."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from operators.foundation.escape import label_text
from operators.frames import NOTES
from operators.postgres.undeleted import Undeleted

_CREDENTIALS = re.compile(r"(?<=://)[^\s/@]+@")


def sentences(name: str, held: Sequence[Undeleted], home: tuple[str, str]) -> list[str]:
    """A sentence for each source of the corpus ``name``; ``home`` is its collection and corpus."""
    return [label_text(f"{name}: {_sentence(one, *home)}") for one in held]


def unnamed(name: str) -> list[str]:
    """The sentence for a caller who may see only a part of the corpus ``name``."""
    return [f"{name}: some documents may be gone from their source"]


def notes(said: Mapping[str, Iterable[str]], queries: pl.DataFrame) -> pl.DataFrame:
    """``NOTES``: for each query the sentences of the corpora that it searches."""
    rows = [
        (query_id, sentence)
        for query_id, corpora in queries["query_id", "corpora"].iter_rows()
        for corpus in sorted(said)
        if corpora is None or corpus in corpora
        for sentence in said[corpus]
    ]
    return pl.DataFrame(rows, schema=NOTES, orient="row")


def _sentence(one: Undeleted, collection: str, corpus: str) -> str:
    of = f"{one.documents} of {one.of} documents{f' of {one.repo}' if one.repo else ''}"
    if one.why == "many":
        how = _command(one, "--allow-mass-delete")
        return f"{of} are gone from their source and still answer; to delete them, {how}"
    if one.why == "unread":
        return f"{of} may be gone: their source was read in part; to read it again, {_command(one)}"
    # without a repository each document is named: the corpus may hold other sources' documents
    which = ("--repo", one.repo) if one.repo else ("--document", "ID")
    how = _shown("drop", "-C", collection, "--corpus", corpus, *which)
    return f"{of} may be gone: their source was empty; if they are, delete them: {how}"


def _command(one: Undeleted, *options: str) -> str:
    if one.command is None:
        return " ".join(["run its ingestion again", *(f"with {name}" for name in options)])
    return f"run {_shown(*one.command, *options)}"


def _shown(*arguments: str) -> str:
    return f"`{_CREDENTIALS.sub('...@', shlex.join(['crosscorpus', *arguments]))}`"
