"""Ranks passages first that contain an exact phrase of the query: a user who quotes wants it.

A text in double quotes is a phrase. A line that is clearly an error message is one as well: the
whole line, and the line up to its first quoted or listed value, which a message fills in when it is
raised. For a query that is only a name, or asks where it is or what it does, the passage that
defines it comes first; if it asks who uses the name, those that do. A file with its line, a commit
or an issue that the query names comes first as well (see :mod:`operators.ranking.named_places`).
"""

import re
from itertools import chain
from pathlib import PurePosixPath

import numpy as np
import polars as pl

from operators.foundation.escape import label_text
from operators.foundation.tokenizer import is_name
from operators.frames import NOTES
from operators.ranking.bm25 import authors_of
from operators.ranking.definitions import defines, flat_name
from operators.ranking.named_places import PLACED, asks_author, is_author, leaders, named_places
from operators.ranking.total_order import ranked

MOST_PHRASES = 8
"""The most phrases of one query."""

LONGEST = 300
"""The longest phrase, in characters."""

FEWEST_WORDS = 3
"""The fewest words of an error message; shorter ones are too common."""

_QUOTED = re.compile(rf'(?<!\S)(?:"([^"]{{1,{LONGEST}}})"|“([^”]{{1,{LONGEST}}})”)(?!\w)')
_PREFIX = re.compile(r"^(?:[\w.]*(?:error|exception|warning|panic|fatal)(?:\[\w+\])?:\s+)+", re.I)
_OPENS = re.compile(
    r"(?:attempted to|cannot|can't|could not|couldn't|failed to|got (?:an )?unexpected|invalid|"
    r"missing|no such|unable to|unexpected|unknown|unsupported|was not able) ",
    re.I,
)
_ASKS = re.compile(r"(?:how|what|when|where|which|who|why)\b|.*\?$", re.I)
_FILLED = re.compile(r":(?:\s|$)|(?<!\w)['\"`“{(]")
_NAME = re.compile(
    r"\s*(?i:where is |what does |how (?:does|is) |explain )?(?:the )?"
    r"((?:class|def|fn|func|function|method|struct) )?`?"
    r"(?:\w+(?:\.|::|->))*([^\W\d]\w{2,})(\(\))?`?"
    r"(?: defined| implemented| do| mean| return| work)?\??\s*"
)
_CODE_BREAK = re.compile(r"""["'][ \t]*\\?\n[ \t]*\w{0,2}["']""")


def quoted(text: str) -> list[str]:
    """The phrases in double quotes; a ``text`` of several lines is pasted and has none.

    >>> quoted('where is "not a number" raised?')
    ['not a number']
    """
    phrases = [] if "\n" in text.strip() else map("".join, _QUOTED.findall(text))
    return [flat for flat in map(_flat, phrases) if re.search(r"\w", flat)][:MOST_PHRASES]


def message_phrases(text: str) -> list[str]:
    """The lines of ``text`` that are clearly error messages, and each one's part before its values.

    >>> message_phrases("ValueError: No such option: --nmae"), message_phrases("parse a date")
    (['no such option: --nmae', 'no such option'], [])
    """
    phrases: dict[str, None] = {}
    lines = text.strip().splitlines()
    for line in lines:
        line = line.strip()[:LONGEST]
        body = _PREFIX.sub("", line)
        fixed = _FILLED.split(body, maxsplit=1)[0]
        named = body != line or _OPENS.match(body)
        alone = len(lines) == 1 and body[:1].isupper() and body[-1:] in ".!"  # prose has many such
        if not _ASKS.match(body) and (named or alone):
            fewest = FEWEST_WORDS - (body != line)  # the text behind "Error:" is a message
            phrases |= {_flat(p): None for p in (body, fixed) if len(p.split()) >= fewest}
    return list(phrases)[:MOST_PHRASES]


def phrases_first(hits: pl.DataFrame, queries: pl.DataFrame) -> pl.DataFrame:
    """``hits`` (``FUSED``) with passages first that contain a phrase of their query.

    If the query is a name, or asks where it is or what it does, the passages that define it come
    first, those in a file of that name before others. A passage with more phrases comes earlier;
    ties keep their order. Their scores are just above the best of the query. A phrase must match
    exactly, except for case and white space. The best passage of each place that the query names
    counts as one that has a phrase, and so does each with ``uses`` above 0
    (:func:`~operators.ranking.file_evidence.users`).
    """
    score, top = hits["score"].to_numpy().copy(), dict[int, float]()
    lead = [*_pointed(hits, queries), *_users(hits)]
    texts_of = queries["query_id", "texts"].iter_rows()
    by_query = {query: (_phrases(texts), _named(texts)) for query, texts in texts_of}
    wanted = any(map(any, by_query.values()))
    passages = hits["query_id", "text", "metadata", "path"].iter_rows() if wanted or lead else ()
    for row, (query, text, metadata, path) in enumerate(passages):
        top.setdefault(query, score[row])
        phrases, name = by_query.get(query, ([], None))
        if phrases:
            passage = _flat(_CODE_BREAK.sub("", text))
            if count := sum(_stands(phrase, passage) for phrase in phrases):
                lead.append((count, -row, query))
        elif name and defines(name, text, metadata):
            so_called = flat_name(PurePosixPath(path or "").stem) == flat_name(name)
            lead.append((1 + so_called, -row, query))
    for _, row, query in sorted(lead):
        score[-row] = top[query] = np.nextafter(top[query], np.inf)
    return ranked(hits, pl.Series(score)) if lead else hits


def _pointed(hits: pl.DataFrame, queries: pl.DataFrame) -> list[tuple[int, int, int]]:
    """The rows that a query names: 1, the row's number negated, the query.

    The best of each place, and all of an author that the query asks for.
    """
    rows = hits.select("query_id", *PLACED, "metadata").with_row_index("row")
    lead = set()
    for query, texts in queries["query_id", "texts"].iter_rows():
        query_texts = [text for text in texts or () if text]
        places = list(chain.from_iterable(map(named_places, query_texts)))
        of_author = [text for text in query_texts if asks_author(text)]
        if not places and not of_author:
            continue
        own = rows.filter(pl.col("query_id") == query)
        for place in places:
            lead |= {(1, -own["row"][at], query) for at in leaders(place, own)[:1]}
        for row, metadata in own["row", "metadata"].iter_rows() if of_author else ():
            if any(is_author(text, authors_of(metadata)) for text in of_author):
                lead.add((1, -row, query))
    return sorted(lead)


def _users(hits: pl.DataFrame) -> list[tuple[int, int, int]]:
    """The rows that use a name whose users the query asks for, as :func:`_pointed` gives them."""
    if "uses" not in hits.columns:
        return []
    rows = np.flatnonzero(hits["uses"].to_numpy() > 0)
    return [
        (1, -row, query) for row, query in zip(rows.tolist(), hits["query_id"][rows], strict=True)
    ]


def notes(hits: pl.DataFrame, queries: pl.DataFrame) -> pl.DataFrame:
    """``NOTES``: the phrases in double quotes that no passage of ``hits`` contains."""
    rows = []
    for query, texts in queries["query_id", "texts"].iter_rows():
        phrases = [phrase for text in texts or () for phrase in quoted(text)]
        contents = hits.filter(pl.col("query_id") == query)["text"] if phrases else ()
        passages = [_flat(_CODE_BREAK.sub("", text)) for text in contents]
        rows += [
            (query, f'no passage found has "{label_text(phrase)}" as it stands')
            for phrase in phrases
            if not any(_stands(phrase, passage) for passage in passages)
        ]
    return pl.DataFrame(rows, schema=NOTES, orient="row")


def _named(texts: list[str] | None) -> str | None:
    match = _NAME.fullmatch(texts[0]) if texts and len(texts) == 1 else None
    if not match:
        return None
    keyword, name, call = match.groups()  # a plain word alone is a topic, not a name
    return name if keyword or call or is_name(name) or name.lower() != name else None


def _phrases(texts: list[str] | None) -> list[str]:
    kept: list[str] = []
    for text in texts or ():
        quotes = quoted(text)
        kept += [*quotes, *(phrase for one in (text, *quotes) for phrase in message_phrases(one))]
    return list(dict.fromkeys(kept))[:MOST_PHRASES]


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold()


def _stands(phrase: str, passage: str) -> bool:
    whole = rf"(?:(?<!\w)|(?=\W)){re.escape(phrase)}(?:(?!\w)|(?<=\W))"
    return phrase in passage and re.search(whole, passage) is not None
