"""The schema of every frame that crosses a node boundary.

Every frame is keyed by ``query_id``: one question is a batch of one, so that thousands of judged
queries run through the same nodes in one pass. Hits are narrow (no text travels in a hit); the text
of a chunk is fetched once, after the lists of its corpus are merged.

Shared meanings: ranks are 0-based, times are UTC, ``chunk_id`` is a 64-bit hash of the chunk's
corpus, repo, document and ordinal (see :func:`operators.sources.chunking.chunker.chunk_id`).
"""

from collections.abc import Iterable
from functools import cache

import polars as pl

from operators.options import FILTERS

UTC = pl.Datetime("us", "UTC")

_NAME = dict.fromkeys(("source_label", "source_url"), pl.String())  # null: no safe link
SOURCE = pl.Struct({"chunk_id": pl.Int64, "corpus": pl.String, "repo": pl.String})
"""A near-duplicate, as the chunk that represents it names it."""
SHOWN_SOURCE = pl.Struct({**SOURCE.to_schema(), **_NAME})
"""A near-duplicate with its label and link."""

DEFINES = "defines"
"""In the metadata of a chunk of code: the qualified names whose definitions begin in it."""

FILES = "Files:"
"""The line of a commit's text above the list of its files."""

CHANGED_PATHS = "changed_paths"
"""In the metadata of a commit: the files that it changed, as they are called today; absent where
they are many."""

IN_CHANGELOG = "in_changelog"
"""In the metadata of a chunk of a changelog: it belongs to a release."""

CLOSES = "closes"
"""In the metadata of a pull request's passages: the numbers of the issues that it closes."""

KINDS, LINES = "kinds", "lines"
"""Beside those names, in their order: the grammar's word for each definition, such as ``class``,
and its first and last line, from 1, with its comments."""

USES = "uses"
"""There too: the names that the chunk uses by its syntax tree, sorted; absent if not known or too
many."""

SIGNATURES = "signatures_above"
"""There too: the signatures of the definitions that the chunk begins in the middle of."""

TRIGGER_SHARE = pl.Struct({"trigger": pl.String, "share": pl.Float64})

_FILTER = {"names": pl.List(pl.String), "text": pl.String(), "moment": UTC, "date": UTC}

QUERIES = pl.Schema(
    {
        "query_id": pl.UInt32(),
        "texts": pl.List(pl.String),  # one question, one or more ways to put it; each is searched
        "cut": pl.String(),  # a sentence about text that was cut off; null: nothing
        "trigger": pl.List(TRIGGER_SHARE),  # empty: no trigger
        # repos, path_prefix, ..., corpora: null is no filter, an empty list none of them
        **{of.column: _FILTER[of.kind] for of in FILTERS if of.kind in _FILTER},
        "version_policy": pl.String(),  # newest | all | pinned | as_of; null: not asked for
        "versions": pl.List(pl.String),  # as a caller wrote them; null: none
    }
)

_SCOPE = {
    # the asked versions, as the collection spells them; the newest of them in each topic counts
    "pinned": pl.List(pl.List(pl.String)),
    "versions_as_of": UTC,  # as ``as_of``, but only where topics have versions
}
_TIMES = {"since": UTC, "until": UTC}
SCOPED_QUERIES = pl.Schema({**QUERIES, **_SCOPE})

VERSION_SCOPE = pl.Schema(
    {
        "query_id": pl.UInt32(),
        "version_policy": pl.String(),  # newest | all | pinned | as_of
        **_SCOPE,
        **_TIMES,  # which the question names
        "basis": pl.String(),  # what decided: input | question | config
        "notes": pl.List(pl.String),
    }
)

_NAMES = pl.List(pl.String)
INTENT = pl.Schema(
    {
        "query_id": pl.UInt32(),
        "name": pl.String(),  # the question is this name and nothing else; null: it is not
        "names": _NAMES,  # written as code has them, or marked as code
        "capitalised": _NAMES,  # words within a sentence that may be names
        "sought": pl.String(),  # the name that it asks where it is or what it does
        "words": _NAMES,  # stems
        "word_parts": _NAMES,  # stems of the parts of its words: max and size of max_size
        "vocabulary": _NAMES,  # index terms
        "plain_words": pl.UInt32(),  # how many; null: it looks up a name or a word
        "quoted": _NAMES,  # in quotation marks
        "phrases": _NAMES,  # these, and the lines that are messages
        "literal": _NAMES,  # the words of a line in their order, apart where values may be
        "places": pl.List(
            pl.Struct(
                {
                    "path": _NAMES,  # from the outermost folder; empty: a commit, a number or a key
                    "line": pl.Int64,
                    "commit": pl.String,
                    "number": pl.Int64,
                    "last": pl.Int64,
                    "key": pl.String,
                }
            )
        ),
        "versions": pl.List(  # see operators.versions.mentions
            pl.Struct(
                {
                    **{"written": pl.String, "marked": pl.Boolean, "governor": pl.String},
                    **{"product": pl.String, "before": pl.Boolean, "until": UTC},
                }
            )
        ),
        "limits": pl.Struct(  # the times that it asks about; null: none
            {"written": pl.String, **_TIMES, "version": pl.String}
        ),
        "origins": pl.List(_NAMES),  # the words that say of what it asks the version of a change
        "asks_why": pl.Boolean(),  # for the reason, or since when
        "asks_users": pl.Boolean(),  # who uses its names
        "asks_tests": pl.Boolean(),  # which tests are of its names
        "about_secondary": pl.Boolean(),  # it speaks of tests or examples
    }
)
"""What each question asks for, read from its text once."""

# ``embedding`` is Array(Float32, dimensions of the model); schemas name it as a list of Float32.
EMBEDDING = pl.List(pl.Float32)

# The weight of a question's words beside its meaning, 0..1.
LEXICAL_WEIGHT = pl.Schema({"query_id": pl.UInt32(), "lexical_weight": pl.Float64()})

TRIGGER_WEIGHTS = pl.Schema(
    {"query_id": pl.UInt32(), "corpus": pl.String(), "weight": pl.Float64()}
)
"""The weight of each corpus for the trigger of a question."""

_TEXT = {"query_id": pl.UInt32(), "text_no": pl.UInt32()}
QUERY_EMBEDDINGS = pl.Schema({**_TEXT, "text": pl.String(), "embedding": EMBEDDING})

# One list a query text, as a search returns it, best first.
# ``distance``: cosine distance, 0..2; ``score``: higher is better, comparable within one list only.
_PLACE = {"chunk_id": pl.Int64(), "rank": pl.UInt32()}
VECTOR_LISTS = pl.Schema({**_TEXT, **_PLACE, "distance": pl.Float64()})
TEXT_LISTS = pl.Schema({**_TEXT, **_PLACE, "score": pl.Float64()})
"""A search that knows it adds ``coverage``: the score over that of a passage full of all words."""

LINK_SOURCES = pl.Schema(
    {
        "query_id": pl.UInt32(),
        "corpus": pl.String(),
        "chunk_id": pl.Int64(),
        "vote": pl.Float64(),  # by the hit's ranks in the lists of its corpus
    }
)
"""The best hits of each corpus, which may link to files."""

CORPORA = pl.Schema(
    {
        "corpus": pl.String(),  # its name in the configuration
        "label": pl.String(),  # template of source_label
        "link": pl.String(),  # template of source_url
        "space": pl.String(),  # its vector space; null: that of the driver's own model
        "search_depth": pl.Int64(),  # the length at which its lists are cut
        "vector_weight": pl.Float64(),  # of its vector list in the merge; the rest is the text's
        "linked_files": pl.Int64(),  # files that no search found, but hits link to
    }
)
"""What differs between the corpora, one row each, by name."""

_IN_CORPUS = {"query_id": pl.UInt32(), "corpus": pl.String(), "chunk_id": pl.Int64()}
"""The key of a hit: before the fusion, two corpora may have the same chunk."""

# One list a query and corpus. Several texts are fused: their distance or score is made of theirs.
VECTOR_HITS = pl.Schema({**_IN_CORPUS, "rank": pl.UInt32(), "distance": pl.Float64()})
TEXT_HITS = pl.Schema({**_IN_CORPUS, "rank": pl.UInt32(), "score": pl.Float64()})

LINKED_HITS = pl.Schema({**_IN_CORPUS, "distance": pl.Float64()})
"""Hits that links led to; they are in neither list, so that they have no rank."""

_BEST = {
    "space": pl.String(),  # the vector space; null: that of the driver's own model
    "similarity": pl.Float64(),  # of the nearest passage; null: not searched by meaning
    "score": pl.Float64(),  # of the best text hit; null: not searched by words
    "coverage": pl.Float64(),  # the share of the question that a passage covers; null: unknown
}
SCORE_SCALE = pl.Schema(
    {
        "query_id": pl.UInt32(),
        "corpus": pl.String(),
        **_BEST,
        "best_similarity": pl.Float64(),  # of all corpora of that space
        "best_score": pl.Float64(),  # of all corpora
    }
)
"""The best of each corpus's lists, one row a question and corpus that they answer."""

NORMALIZED = pl.Schema(
    {
        **_IN_CORPUS,
        "vector_rank": pl.UInt32(),  # null: not in that list
        "vector_distance": pl.Float64(),
        "vector_value": pl.Float64(),  # 0 to 1; null: the corpus has no such list
        "text_rank": pl.UInt32(),
        "text_score": pl.Float64(),
        "text_value": pl.Float64(),
    }
)
"""Both lists of each corpus side by side, one row a question, corpus and chunk."""

SCORE_PARTS = {"vector_part": pl.Float64(), "text_part": pl.Float64()}
"""What a merge may tell of its scores, each a column beside those of ``MERGED``: ``score`` is
their sum."""

PART = pl.Struct(
    {
        "corpus": pl.String(),
        "corpus_rank": pl.UInt32(),
        "part": pl.Float64(),  # the share of this corpus in the score
        "recency": pl.Float64(),
    }
)
"""What a fusion may tell of its scores: of each row a ``part``, and the list ``other_parts`` of the
other corpora that found the chunk. ``FUSED.score`` is the sum of a chunk's parts, in the order of
their corpora, times its own ``recency``."""

_PARTS = (*SCORE_PARTS, "part", "other_parts", "coverage", "weight", "language_weight")
EXTRA_COLUMNS = frozenset((*_PARTS, *_NAME, "more_of_file"))
"""Columns that a frame may have beside those of its schema: what made its scores, a caller's own
labels and links, and ``more_of_file``."""

SIGNALS = pl.Schema(
    {
        "query_id": pl.UInt32(),
        "chunk_id": pl.Int64(),
        "signal": pl.String(),  # the name of the rule
        "kind": pl.String(),  # factor, gain or lead
        "value": pl.Float64(),  # what the rule says of the hit; 0: nothing, and there is no row
        "weight": pl.Float64(),  # of the rule, by the configuration
        "source": pl.Int64(),  # the chunk of the other hit that it comes from; null: none
    }
)
"""What the rules say of the hits, one row a hit and rule that says something: it makes the order,
explains it, and is what weights are learned from (:mod:`operators.signals.order`)."""

MERGED = pl.Schema(
    {
        **_IN_CORPUS,
        "rank": pl.UInt32(),  # within its corpus
        "score": pl.Float64(),
        "vector_rank": pl.UInt32(),  # null: not in that list
        "vector_distance": pl.Float64(),
        "text_rank": pl.UInt32(),
        "text_score": pl.Float64(),
    }
)

DEDUPED = pl.Schema({**MERGED, "duplicates": pl.List(pl.Int64)})

_OF_DOCUMENT = {
    "language": pl.String(),
    "state": pl.String(),
    "created_at": UTC,
    "doc_date": UTC,
    "date_source": pl.String(),
    "version": pl.String(),
    "lineage_id": pl.String(),  # of a file or a page itself, until its versions are detected
    "metadata": pl.String(),  # a JSON object
}

CHUNKS = pl.Schema(
    {
        "chunk_id": pl.Int64(),
        "document_id": pl.String(),
        "corpus": pl.String(),
        "repo": pl.String(),  # "" where the document belongs to none
        "ordinal": pl.UInt32(),
        "text": pl.String(),
        "title": pl.String(),
        "path": pl.String(),
        "uri": pl.String(),
        "anchor": pl.String(),  # section heading, or null
        "start_line": pl.UInt32(),
        "end_line": pl.UInt32(),
        **_OF_DOCUMENT,
        "embedding": EMBEDDING,
    }
)

_LIFE = {
    "last_version": pl.String(),  # the last version that has the passage; null: the newest does
    "superseded_at": UTC,  # the date of the first version that lacks it; null also: unknown
    "removed": pl.Boolean(),  # its topic ended with last_version, and the text stands nowhere later
}
READ_CHUNKS = pl.Schema({**CHUNKS, **_LIFE, "token_sketch": pl.Binary()})
"""``CHUNKS`` as a store gives them: ``lineage_id`` and ``version`` are a topic's versions'.
``token_sketch`` (:mod:`operators.dedup.token_index`): null if the chunk is older than it."""

UNIFIED = pl.Schema(
    {
        "query_id": pl.UInt32(),
        "chunk_id": pl.Int64(),
        "corpus": pl.String(),
        "rank": pl.UInt32(),  # within its corpus, after dedup
        "document_id": pl.String(),
        "repo": pl.String(),
        "title": pl.String(),
        "path": pl.String(),
        "start_line": pl.UInt32(),  # from 1; null where the text has no lines of a file
        "end_line": pl.UInt32(),
        "language": pl.String(),
        "text": pl.String(),
        "vector_rank": pl.UInt32(),  # null: not in that list
        "text_rank": pl.UInt32(),
        "vector_distance": pl.Float64(),
        "text_score": pl.Float64(),
        "corpus_score": pl.Float64(),  # the corpus's merged score, whatever variant made it
        "created_at": UTC,
        "doc_date": UTC,
        "version": pl.String(),
        "lineage_id": pl.String(),  # what all versions of a topic share
        "anchor": pl.String(),
        **_LIFE,
        "metadata": pl.String(),
        "alternate_sources": pl.List(SOURCE),
    }
)

AGED = pl.Schema({**UNIFIED, "recency": pl.Float64()})
"""``UNIFIED`` and the factor of a hit's score for its age: above 1 if it is new."""

FUSED = pl.Schema({**UNIFIED, "score": pl.Float64()})
"""A list of all corpora, from the fused one to the results; ``rank`` is the place in that stage's
own order, ``score`` the value that gives the order."""

_PASSAGE = {"start_line": pl.UInt32, "end_line": pl.UInt32, "score": pl.Float64}
PASSAGE_OF_FILE = pl.Struct({"chunk_id": pl.Int64, "document_id": pl.String, **_PASSAGE})
SHOWN_PASSAGE = pl.Struct({**PASSAGE_OF_FILE.to_schema(), **_NAME})
"""A further passage of a result's file: one of ``more_of_file``, which only the results have."""

LABELS = pl.Schema(
    {"query_id": pl.UInt32(), "corpus": pl.String(), "chunk_id": pl.Int64(), **_NAME}
)
"""The labels and links of the chunks that an answer shows; no two of a query have one label."""

SHOWN = pl.Schema({**FUSED, **_NAME, "alternate_sources": pl.List(SHOWN_SOURCE)})
"""``FUSED`` with labels and links: what an answer shows."""

OUTCOMES = pl.Schema(
    {
        "corpus": pl.String(),
        "channel": pl.String(),  # vector | text
        "status": pl.String(),  # ok | empty | absent | failed | timed_out | overridden
        "rows": pl.UInt32(),
        "elapsed_ms": pl.Float64(),
        "error": pl.String(),
    }
)

_LABELLED = {"chunk_id": pl.Int64(), "corpus": pl.String(), **_NAME}

SURROUNDINGS = pl.Schema(
    {
        "corpus": pl.String(),
        "document_key": pl.String(),
        "ordinal": pl.UInt32(),
        "chunk_id": pl.Int64(),
        "start_line": pl.UInt32(),
        "end_line": pl.UInt32(),
        "anchor": pl.String(),
        "version": pl.String(),
        "text": pl.String(),
        "signatures": pl.String(),  # of what the chunk begins in the middle of; null: nothing
    }
)
"""Chunks of the documents of a list, those around its hits: see the node ``surroundings``."""

PACKED = pl.Schema(
    {
        "query_id": pl.UInt32(),
        "number": pl.UInt32(),  # place in the context, from 1; null: the notes
        **_LABELLED,
        "alternate_sources": pl.List(SHOWN_SOURCE),
        "boundary": pl.String(),  # begins every header of the query's context, and no other line
        "entry": pl.String(),  # header and text, as they stand in the context
        "cost": pl.UInt32(),  # of the budget, with the separator
    }
)

CONTEXT = pl.Schema(
    {
        "query_id": pl.UInt32(),
        "text": pl.String(),
        "used": pl.UInt32(),
        "budget": pl.UInt32(),
        "boundary": pl.String(),  # null where the context is empty
    }
)

CITATIONS = pl.Schema(
    {
        "query_id": pl.UInt32(),
        "number": pl.UInt32(),  # place in the context, from 1
        **_LABELLED,
        "citation": pl.String(),  # Markdown: link, and where else it was found
    }
)

NOTES = pl.Schema({"query_id": pl.UInt32(), "note": pl.String()})
EVIDENCE = pl.Schema(
    {
        "query_id": pl.UInt32(),
        "sureness": pl.Float64(),  # null: too few hits
        "evidence": pl.String(),  # strong, partial or weak; null: no threshold is known
    }
)

# The documents of a source before chunking, one a row.
_TEXTS = ("document_id", "corpus", "repo", "title", "text", "path", "uri")
DOCUMENTS = pl.Schema({**dict.fromkeys(_TEXTS, pl.String()), **_OF_DOCUMENT})

# The explanation of results, see operators/explain.
_LABELLED_CHUNK = {"query_id": pl.UInt32(), **_LABELLED}
EXPLAIN_TARGETS = pl.Schema(
    {
        **_LABELLED_CHUNK,
        "vector_distance": pl.Float64(),  # to the nearest text of the question; null: unknown
        "hidden": pl.String(),  # why the question can't see it; null: it can
        "documents": pl.UInt32(),  # how many the caller's name fits
        "passages": pl.UInt32(),  # likewise
    }
)
"""Chunks that a caller names, found or not."""

DISPOSITIONS = pl.Schema(
    {
        **_LABELLED_CHUNK,
        "disposition": pl.String(),  # a key of operators.explain.dispositions.DISPOSITION_MEANINGS
        "reason": pl.String(),  # a sentence
        "near_duplicate_of": pl.Int64(),  # the chunk that represents it
        # its place in each list that has it, from the searches to the results
        "ranks": pl.List(pl.Struct({"list": pl.String, "rank": pl.UInt32})),
        "result_rank": pl.UInt32(),  # null: it is no result
        "number": pl.UInt32(),  # place in the context, from 1
        "citation": pl.UInt32(),  # place among the citations, from 1
        "score": pl.Float64(),  # its last
        "near_duplicates": pl.List(SHOWN_SOURCE),  # the chunks that it represents
    }
)

EXPLAIN = pl.Schema(
    {
        "query_id": pl.UInt32(),
        "chunk_id": pl.Int64(),
        "stage": pl.String(),
        "quantity": pl.String(),
        "value": pl.Float64(),
        "rank": pl.UInt32(),  # the chunk's place in the stage's list
        "other": pl.Int64(),  # the other chunk of near-duplicates
        "detail": pl.String(),
    }
)
"""One row a chunk and number; see :func:`operators.explain.steps.explain`."""


class FrameError(TypeError):
    """A frame does not have the columns or types that its node promises."""


def empty(schema: pl.Schema) -> pl.DataFrame:
    """A frame of no rows with ``schema``'s columns."""
    return _empty(tuple(schema.items())).clone()


@cache
def _empty(columns: tuple[tuple[str, pl.DataType], ...]) -> pl.DataFrame:
    """Cached: the making costs as much as a stage of the graph."""
    return pl.DataFrame(schema=dict(columns))


def frame_of(columns: Iterable[pl.Series], schema: pl.Schema | None = None) -> pl.DataFrame:
    """A frame of ``columns`` (at least one), in ``schema``'s order if given.

    With a schema, the last column of a name counts. It costs a quarter of ``pl.DataFrame``.
    """
    if schema is not None:
        named = {column.name: column for column in columns}
        columns = [named[name] for name in schema]
    first, *rest = columns
    return first.to_frame().hstack(rest)


def stacked(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """``frames`` (at least one) of the same columns, one after the other, in one piece of memory.

    For small frames it costs half of ``pl.concat``: as structs, all columns are joined at once.
    """
    every = list(frames)
    first, *rest = [frame for frame in every if frame.height] or every[:1]
    if not rest:
        return first
    joined = first.to_struct().clone()
    for frame in rest:
        joined.append(frame.to_struct())
    return joined.rechunk().struct.unnest()


def check(frame: pl.DataFrame, schema: pl.Schema, name: str) -> pl.DataFrame:
    """``frame``, if it has exactly ``schema``'s columns and types, in any order.

    It may have those of ``EXTRA_COLUMNS`` too. An embedding column may be an ``Array(Float32, n)``
    of any width ``n``.

    Raises:
        FrameError: a column is missing, unexpected or of another type.
    """
    faults = [f"missing column {c!r}" for c in schema if c not in frame.columns]
    for column, dtype in frame.schema.items():
        if column in EXTRA_COLUMNS and column not in schema:
            continue
        if column not in schema:
            faults.append(f"unexpected column {column!r}")
        elif not _same(dtype, schema[column]):
            faults.append(f"column {column!r} is {dtype}, expected {schema[column]}")
    if faults:
        raise FrameError(f"{name}: " + "; ".join(faults))
    return frame


def _same(actual: pl.DataType, expected: pl.DataType) -> bool:
    if expected == EMBEDDING and isinstance(actual, pl.Array):
        return bool(actual.inner == pl.Float32)
    return bool(actual == expected)
