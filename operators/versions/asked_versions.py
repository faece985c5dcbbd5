"""The versions of a collection that a query names, and a note if there are none.

A name is a version itself (``1.0`` and ``v1.0.0`` are one) or the beginning of several (``0.18`` of
``0.18.1``): then it means the newest of these in each topic.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

import polars as pl

from operators.errors import CrosscorpusError
from operators.foundation.escape import label_text
from operators.foundation.short_cache import cached_if_short
from operators.options import DATES
from operators.versions.asking import words
from operators.versions.mentions import Mention
from operators.versions.version_key import version_key

MOST_SHOWN = 8
"""The most existing versions that a note names."""
LONGEST_SHOWN = 40

KEPT = 20_000
"""The most topics whose words are cached from one query to the next."""

# A version of one of these, in a query about something else, is only its environment.
_PLATFORMS = words(
    """python cpython pypy java jdk jvm openjdk kotlin scala gcc g++ clang llvm msvc rust rustc
    go golang ruby php perl node npm pip ubuntu debian fedora centos rhel alpine windows macos
    mac osx linux ios android kernel qt gtk cmake make automake autoconf boost glibc openssl
    http https tls ssl json-rpc oauth usb utf unicode posix c++ ecmascript docker kubernetes cuda
    postgres postgresql mysql sqlite chrome firefox safari typescript"""
)
_WITHIN = words("in on under before")
"""A number governed by one of these is a version, whatever product is named."""
MARK = re.compile(r"^(?:versions?|releases?)?\s*(?:v\.?\s*)?", re.IGNORECASE)
"""What may stand before the number of a version."""
_DATE = pl.coalesce("released_at", "listed_at")
_TOKEN = re.compile(r"[a-z0-9]+")


class KnownVersions:
    """The versions of a collection's topics, from columns ``KNOWN_VERSIONS``."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __bool__(self) -> bool:
        """Whether there are any."""
        return not self._frame.is_empty()

    def within(
        self,
        allowed: Mapping[str, Mapping[str, Any]] | None,
        corpora: Sequence[str] | None,
        repos: Sequence[str] | None,
    ) -> KnownVersions:
        """The versions that a query may see; it neither names nor pins another one.

        ``allowed``: the corpora that are searched, each with its filters that are set;
        ``corpora``, ``repos``: those of the query. None: all.
        """
        seen = _is_among("corpus", corpora) & _is_among("repo", repos)
        if allowed is not None:
            visible = ((pl.col("corpus") == c) & _may_be_seen(of) for c, of in allowed.items())
            seen &= pl.any_horizontal(pl.lit(False), *visible)
        return KnownVersions(self._frame.filter(seen))

    def requested(self, version: str, question: str) -> tuple[list[str], str]:
        """The spellings of a ``version`` that a caller requests, and a note.

        If no topic has it, there are none, and the note names versions near to ``question``.
        """
        spellings = self._exact(version) or self._series(version)
        if not spellings:
            return [], self._absent(version, question)
        return spellings, _version_note(version, spellings, "was requested")

    def released(self, version: str) -> tuple[datetime, datetime] | None:
        """The first and the last date of the versions that ``version`` names; None: no date."""
        number = MARK.sub("", version)
        spellings = self._exact(number) or self._series(number)
        named = self._frame.filter(pl.col("version").is_in(spellings))
        dates = named.select(_DATE).to_series().drop_nulls()
        return (min(dates), max(dates)) if len(dates) else None

    def release_date(self, name: str, version: str) -> datetime:
        """The moment of the option ``name`` (``since`` or ``until``) that is given as a version.

        Of several releases ``since`` has the first, and ``until`` the whole day of the last one.

        Raises:
            CrosscorpusError: no date of such a version is known.
        """
        if dates := self.released(version):
            last = dates[1].replace(hour=23, minute=59, second=59, microsecond=999_999)
            return last if name == "until" else dates[0]
        dated = KnownVersions(self._frame.filter(_DATE.is_not_null()))
        why = dated._absent(MARK.sub("", version), "") if dated else "no version here has a date"
        raise CrosscorpusError(
            f"{name} {shown(version)!r}: the date of that release is not known ({why}); give a"
            f" date: {DATES.rpartition(', or')[0]}"
        )

    def understood(
        self, named: Sequence[Mention], texts: Sequence[str]
    ) -> tuple[list[list[str]], datetime | None, list[str]]:
        """The spellings of each version that a query names, its date, and notes."""
        pinned: list[list[str]] = []
        notes: list[str] = []
        until: datetime | None = None
        last = self._frame["released_at"].max()
        for mention in named:
            if mention.until is not None:
                if isinstance(last, datetime) and mention.until <= last:
                    until = min(until or mention.until, mention.until)
                    notes.append(self._dated(mention.written, mention.until))
                continue
            if self._is_a_platform(mention.product):
                continue
            is_named = self._is_named(mention)
            if spellings := self._meant(mention, is_named):
                pinned.append(spellings)
                wording = f"before {mention.written}" if mention.before else mention.written
                notes.append(_version_note(wording, spellings, "the question names"))
            elif is_named and self._must_be_one(mention):
                notes.append(self._absent(mention.written, " ".join(texts)))
        return pinned, until, notes

    def has_origins(self, of: Sequence[str]) -> bool:
        """Whether the words ``of`` a query, which say whose version it is, may mean these."""
        return not any(map(self._is_a_platform, of))

    def has_everywhere(self, pinned: Sequence[Sequence[str]]) -> bool:
        """Whether every topic has a version that is ``pinned``."""
        wanted = {spelling for spellings in pinned for spelling in spellings}
        rows = self._frame["corpus", "lineage_id", "version"].rows()
        return {row[:2] for row in rows} == {row[:2] for row in rows if row[2] in wanted}

    def _meant(self, mention: Mention, is_named: bool) -> list[str]:
        """The spellings that ``mention`` matches; none: no topic has such a version."""
        version = mention.written
        if mention.before:
            index = bisect_left(self._spellings, version_key(version), key=version_key)
            return self._spellings[:index] if is_named and index < len(self._spellings) else []
        exact = self._exact(version) if is_named or version.count(".") >= 2 else []
        return exact or (self._series(version) if is_named else [])

    def _is_named(self, mention: Mention) -> bool:
        """Whether the words around a number mark it as a version of a topic here."""
        has_topic = self._names_a_topic(mention.product)
        if mention.marked or "." not in mention.written:
            return mention.marked or (mention.named and has_topic)
        if not mention.product:
            return mention.governor != ""
        return mention.named or has_topic or mention.governor in _WITHIN

    def _must_be_one(self, mention: Mention) -> bool:
        """Whether a number is a version even if no topic has it: "v9.9", "Spark 9.9", "9.9.9"."""
        has_topic = mention.named and self._names_a_topic(mention.product)
        dots = mention.written.count(".")
        fewest = 1 if mention.marked or has_topic else 2
        return not mention.before and dots >= fewest and len(_numbers(mention.written)) <= 3

    def _is_a_platform(self, product: str) -> bool:
        last = product.lower().split()[-1:]
        return not _PLATFORMS.isdisjoint(last) and not self._names_a_topic(product)

    def _exact(self, version: str) -> list[str]:
        key = version_key(version)
        return [known for known in self._spellings if version_key(known) == key]

    def _series(self, version: str) -> list[str]:
        """The versions that begin with ``version``, its releases if it has any."""
        begins = _numbers(version)
        if not begins:
            return []
        series = [v for v in self._spellings if _numbers(v)[: len(begins)] == begins]
        return [v for v in series if not re.search("[a-z]", v.lstrip("vV").lower())] or series

    def _absent(self, version: str, question: str) -> str:
        """The note that there is no ``version``; it names those of topics near to ``question``."""
        known = self._near(question)
        index = bisect_left(known, version_key(version), key=version_key)
        begin = max(0, min(index - MOST_SHOWN // 2, len(known) - MOST_SHOWN))
        there = ", ".join(map(shown, known[begin : begin + MOST_SHOWN]))
        there = "…, " * (begin > 0) + there + ", …" * (begin + MOST_SHOWN < len(known))
        return f"version {shown(version)} is not here" + (f"; there are {there}" if there else "")

    def _near(self, question: str) -> list[str]:
        """The versions of the topics whose names share the most words with ``question``."""
        wanted = _tokens(question)
        topics = self._frame["lineage_id"].unique(maintain_order=True)
        shared = pl.Series([len(wanted & _topic_tokens(topic)) for topic in topics.to_list()])
        if not len(shared) or not shared.max():
            return self._spellings
        nearest = topics.filter(shared == shared.max()).implode()
        part = self._frame.filter(pl.col("lineage_id").is_in(nearest))["version"]
        return sorted(part.drop_nulls().unique(), key=lambda v: (version_key(v), v))

    def _dated(self, written: str, until: datetime) -> str:
        first = self._frame["released_at"].min()
        if isinstance(first, datetime) and first >= until:
            return f'no version here is of "{written}": the oldest is of {first:%Y-%m-%d}'
        return f'answered for the versions of "{written}"'

    def _names_a_topic(self, product: str) -> bool:
        return not self._topic_words.isdisjoint(_tokens(product))

    @cached_property
    def _spellings(self) -> list[str]:
        versions = self._frame["version"].drop_nulls().unique().to_list()
        return sorted(versions, key=lambda version: (version_key(version), version))

    @cached_property
    def _topic_words(self) -> frozenset[str]:
        names = pl.concat([self._frame["lineage_id"], self._frame["repo"]]).drop_nulls().unique()
        return frozenset().union(*map(_topic_tokens, names.to_list()))


def _is_among(column: str, values: Sequence[str] | None) -> pl.Expr:
    return pl.lit(True) if values is None else pl.col(column).is_in(list(values))


def _may_be_seen(filters: Mapping[str, Any]) -> pl.Expr:
    seen = _is_among("repo", filters.get("repos"))
    for name in ("language", "state"):
        seen &= _is_among(name, [filters[name]] if filters.get(name) else None)
    prefix = filters.get("path_prefix")
    return seen & pl.col("path").str.starts_with(prefix) if prefix else seen


def _version_note(version: str, known: list[str], who: str) -> str:
    if version_key(known[-1]) == version_key(version):
        return f"answered for version {shown(version)}, which {who}"
    return f"answered for version {shown(known[-1])}, the newest of {shown(version)}, which {who}"


def _numbers(version: str) -> list[int]:
    match = re.match(r"\s*v?([0-9]{1,9}(?:\.[0-9]{1,9})*)", version, re.IGNORECASE)
    return [int(part) for part in match[1].split(".")] if match else []


def _tokens(text: str) -> frozenset[str]:
    """The words of ``text``; Node.js and nodejs are also node."""
    lower = text.lower()
    tokens = set(_TOKEN.findall(lower)) | set(_TOKEN.findall(re.sub(r"(?<=\w)\.(?=\w)", "", lower)))
    tokens |= {word.removesuffix("js") for word in tokens}
    return frozenset(word for word in tokens if len(word) > 2 and not word.isdigit())


_topic_tokens = cached_if_short(KEPT)(_tokens)


def shown(version: str) -> str:
    """A version for a note: on one line, not for pages."""
    one_line = label_text(version)
    return one_line if len(one_line) <= LONGEST_SHOWN else one_line[: LONGEST_SHOWN - 1] + "…"
