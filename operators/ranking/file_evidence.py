"""File-level evidence for a passage, beside its own text.

A passage is ranked by its own text. Its file adds evidence: several of its passages are good, its
name has words of the query, it defines what the query names; and tests, examples and files that
only re-export names mostly show what another file does. Each signal is small, and none is a filter.
The sum of a file's passages is after Callan (SIGIR 1994) and the peer semble, which weighs
names, definitions and tests likewise; the numbers are in benchmarks/README.md.
"""

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from operators.arrays.rows import by_rank, replaced, take
from operators.foundation.short_cache import cached_if_short
from operators.foundation.tokenizer import STOP_WORDS, name_parts, stem
from operators.frames import DEFINES, SIGNATURES
from operators.ranking.definitions import defines, flat_name, uses
from operators.ranking.total_order import ranked

MOST_NAMES = 16
"""The most names of one query whose definitions are looked up."""

MOST_DEFINING = 3
"""A capitalised word that more files define, such as a namespace, is no name of a query."""

FEW_NAMES = 8
"""A file that defines this many names of a query counts as defining all of them."""

_WORD = re.compile(r"[^\W\d]\w*")
_JOINED = r"(?:::|\\|->|\.)"
_BARE = re.compile(
    rf"\s*(?:[^\W\d]\w*(?:{_JOINED}[^\W\d]\w*)+|_\w*|[A-Za-z][A-Za-z0-9]*[A-Z_]\w*|[A-Z][A-Za-z0-9]*)\s*"
)
_NAME = re.compile(
    r"[A-Z][a-z][A-Za-z0-9]*[A-Z]\w*|[a-z][A-Za-z0-9]*[A-Z]\w+|_*[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+"
)
_MARKED = re.compile(r"`([^`\n]{1,80})`|\b([^\W\d]\w{0,60}(?:\.[^\W\d]\w{0,60}){1,8})")
_CALLED = re.compile(r"\b([^\W\d]\w{2,60})\(")
_CAPITALISED = re.compile(r"(?:^|(?<=[a-z,] ))[A-Z][a-z]\w+")
_TESTS = re.compile(
    r"(?:^|/)(?:test_[^/]*|[^/]*_(?:test|spec)|[^/]*(?:Tests?|Spec|Suite)|[^/]*\.(?:test|spec))\.\w+$"
    r"|(?:^|/)(?:tests?|testing|__tests__|spec|testdata|fixtures|_?compat|legacy|deprecated|_?examples?|"
    r"docs?_src|samples?|benchmarks?|bench)/"
)
_ABOUT_THEM = re.compile(r"\b(?:tests?|testing|spec|examples?|fixtures?|benchmarks?)\b", re.I)
_ABOUT_USES = re.compile(
    r"\b(?:who|what)(?:\s+else)?\s+"
    r"(?:(?:call|use|import|invoke|reference|extend|implement)(?:s|d|ed)|depends\s+on)\b"
    r"|\bwhich(?:\s+\w+){1,2}\s+"
    r"(?:calls?|uses?|imports?|invokes?|references?|extends?|implements?|depends?\s+on)\b"
    r"|\b(?:where|when|how|why)\s+(?:is|are|was)\b.{0,80}?\b(?:called|used|imported|invoked)\b"
    r"|\bwhere\s+(?:do|does)\b.{0,80}?\b(?:call|use|import)\b"
    r"|^\W*(?:(?:all|are|find|list|show|the|what|where|which)\s+){0,4}"
    r"(?:callers?|usages?|uses|references|call\s+sites?|subclasses|implementations)\s+(?:of|to)\b",
    re.IGNORECASE,
)
"""A question about the places that use a name, not about the place that defines it."""
_ABOUT_TESTS = re.compile(
    r"\b(?:which|what|where\s+are(?:\s+the)?)\s+tests?\b|\btests?\s+(?:of|for|that\s+cover)\b"
    r"|\bhow\s+(?:is|are)\b.{0,80}?\btested\b",
    re.IGNORECASE,
)
"""A question about the tests of a name."""
_SHORT = 150  # characters of either
_TITLE = 200  # characters of the first line of a long query
_LONG = 400
_RE_EXPORTS = frozenset(("__init__.py", "package-info.java", "mod.ts", "index.ts", "index.js"))

_Scores: TypeAlias = NDArray[np.float64]


def file_evidence(
    hits: pl.DataFrame,
    queries: pl.DataFrame,
    *,
    corpora: Collection[str],
    file_share: float,
    file_name: float,
    name_cover: float,
    definition: float,
    use: float,
    secondary: float,
) -> pl.DataFrame:
    """``hits`` (``FUSED``) with those of each of ``corpora`` reordered by file-level evidence.

    With the best score of the corpus as unit, a hit gains ``file_share``, ``file_name``,
    ``name_cover`` and ``definition`` times the values of :func:`shares_of_files`,
    :func:`shared_names` and :func:`definitions`, and is then multiplied by its :func:`factors`. If
    the query asks who uses a name and some do, ``use`` and :func:`users` replace the definitions. A
    corpus's hits exchange their scores: its best hit has the best score as before, so that other
    corpora keep their ranks. A hit without a path keeps its rank.

    The columns ``share_of_file``, ``shared_name``, ``defines``, ``uses`` and ``secondary`` contain
    the gains and the factor.
    """
    score = hits["score"].to_numpy().copy()
    gains = np.zeros((hits.height, 4))
    factor = np.ones(hits.height)
    texts = dict(queries.select("query_id", pl.col("texts").list.join("\n")).iter_rows())
    groups: dict[tuple[int, str], list[int]] = defaultdict(list)
    for row, (query, corpus, path) in enumerate(hits["query_id", "corpus", "path"].iter_rows()):
        if path and corpus in corpora:
            groups[query, corpus].append(row)
    repos, paths = hits["repo"].to_list(), hits["path"].to_list()
    passages = hits["text", "metadata"].rows()
    for (query, _), rows in groups.items():
        text, at = texts.get(query) or "", np.array(rows)
        own, unit = score[at], float(score[at].max())
        if unit <= 0 or len(rows) < 2:
            continue
        files = [(repos[row], paths[row]) for row in rows]
        gains[at, 0] = file_share * shares_of_files(own, files)
        gains[at, 1] = shared_names(text, files, file_name, name_cover)
        of_group = [passages[row] for row in rows]
        if asks_for_users(text):
            gains[at, 3] = use * users(text, files, of_group)
        if not gains[at, 3].any():
            gains[at, 2] = definition * definitions(text, files, of_group)
        factor[at] = factors(text, files, [metadata for _, metadata in of_group], secondary)
        order = np.lexsort((at, -own, -(own + unit * gains[at].sum(axis=1)) * factor[at]))
        score[at[order]] = np.sort(own)[::-1]
    names = ("share_of_file", "shared_name", "defines", "uses")
    columns = [pl.Series(name, gains[:, n]) for n, name in enumerate(names)]
    return ranked(hits.with_columns(*columns, pl.Series("secondary", factor)), pl.Series(score))


def shares_of_files(scores: _Scores, files: Sequence[tuple[str, str]]) -> _Scores:
    """The gain of each file's best passage: its file's summed scores over the highest sum.

    >>> shares_of_files(np.array([1.0, 0.5, 1.0]), [("", "a"), ("", "a"), ("", "b")]).round(2)
    array([1.  , 0.  , 0.67])
    """
    sums: dict[tuple[str, str], float] = defaultdict(float)
    best: dict[tuple[str, str], int] = {}
    for row, file in enumerate(files):
        sums[file] += scores[row]
        if file not in best or scores[row] > scores[best[file]]:
            best[file] = row
    shares, most = np.zeros(len(scores)), max(sums.values())
    for file, row in best.items():
        shares[row] = sums[file] / most
    return shares


def shared_names(
    text: str, files: Sequence[tuple[str, str]], file_name: float, name_cover: float
) -> _Scores:
    """How well the names of ``files`` match the query ``text``; rare words count more.

    ``file_name`` times the share of the query's words that are in the name of the file or its
    folder, and ``name_cover`` times the share of the file's own name that the query has. A word
    counts ``log(1 + (N - n + .5) / (n + .5))`` over its value for no file, with ``n`` of the ``N``
    files that have it: a word that most files have selects none. A query that is itself a name gets
    no gain from file names.
    """
    words = {word for one in _WORD.findall(text) if (word := one.lower()) not in STOP_WORDS}
    words = {stem(word) for word in words if len(word) > 2}
    if not words or _BARE.fullmatch(text):
        return np.zeros(len(files))
    parts = {
        stem(part)
        for one in _WORD.findall(text)
        for part in map(str.lower, name_parts(one))
        if len(part) > 2 and part not in STOP_WORDS
    }
    distinct = dict.fromkeys(files)
    index, known = _by_start(words), _by_start(parts)
    matched = {
        file: {w for part in _around(file[1]) for w in _alike(part, index)} for file in distinct
    }
    counts: dict[str, int] = defaultdict(int)
    for common in matched.values():
        for word in common:
            counts[word] += 1
    n = len(distinct)
    rare = {
        word: math.log(1 + (n - count + 0.5) / (count + 0.5)) / math.log(1 + (n + 0.5) / 0.5)
        for word, count in counts.items()
    }
    gains = {}
    for file, common in matched.items():
        own = _parts(PurePosixPath(file[1]).stem)
        covered = sum(part in parts or any(True for _ in _alike(part, known)) for part in own)
        cover = covered / len(own) if own else 0.0
        # fsum: the order of a set differs between processes, and with it the last bit of a sum
        share = math.fsum(rare[word] for word in common) / len(words)
        rarest = max((rare[word] for word in common), default=0.0)
        gains[file] = file_name * share + name_cover * cover * rarest
    return np.array([gains[file] for file in files])


def definitions(
    text: str,
    files: Sequence[tuple[str, str]],
    passages: Sequence[tuple[str | None, str | None]],
) -> _Scores:
    """How many of the names in the query ``text`` each file defines, at one passage of it.

    ``passages`` are texts and metadata, the best first. A query that is a name gives 1 to each
    passage that defines it, and .4 to other passages of a file of that name. Otherwise a file gets
    the share of the names (of up to ``FEW_NAMES``) that its passages define: at a passage that
    defines one of them if the query has one or two names, at its best passage if it has more. In a
    file with one of the names, all values are multiplied by 1.5. A capitalised word is a name if
    one to ``MOST_DEFINING`` of the files define it, but for the project's own name.
    """
    bare = _BARE.fullmatch(text) is not None
    names = [re.split(_JOINED, text.strip())[-1]] if bare else names_said(text)
    words = [] if bare else _capitalised(text, files)
    every = dict.fromkeys([*names, *words])
    of_passages = [{name for name in every if defines(name, *passage)} for passage in passages]
    of_files: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for file, own in zip(files, of_passages, strict=True):
        for name in own:
            of_files[name].add(file)
    few = [word for word in words if 0 < len(of_files[word]) <= MOST_DEFINING]
    names = list(dict.fromkeys([*names, *few]))[:MOST_NAMES]
    gains = np.zeros(len(files))
    if not names:
        return gains
    flat = {flat_name(name) for name in names}
    best: dict[tuple[str, str], int] = {}
    defined: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row, (file, every_own) in enumerate(zip(files, of_passages, strict=True)):
        so_called = flat_name(PurePosixPath(file[1]).stem) in flat
        own = every_own.intersection(names)
        if bare:
            gains[row] = (1.5 if so_called else 1.0) if own else 0.4 * so_called
            continue
        if not defined[file] and (own or len(names) > 2):
            best.setdefault(file, row)
        defined[file] |= own
    for file, row in best.items():
        share = len(defined[file]) / min(len(names), FEW_NAMES)
        so_called = flat_name(PurePosixPath(file[1]).stem) in flat
        gains[row] = min(share, 1.0) * (1.5 if so_called else 1.0)
    return gains


def asks_for_users(text: str) -> bool:
    """Whether a short question is about the places that use something, or about its tests.

    >>> asks_for_users("Who calls `flush`?"), asks_for_users("Where is MAX_SIZE used?")
    (True, True)
    >>> asks_for_users("Which tests cover `flush`?")
    True
    >>> asks_for_users("How do I use `flush`?"), asks_for_users("What does `flush` call?")
    (False, False)
    """
    about = _ABOUT_USES.search(text) or _ABOUT_TESTS.search(text) if len(text) <= _SHORT else None
    return about is not None


def users(
    text: str,
    files: Sequence[tuple[str, str]],
    passages: Sequence[tuple[str | None, str | None]],
) -> _Scores:
    """1 for each passage that uses a name in the query ``text``, 0 for others.

    ``passages`` are texts and metadata. A capitalised word is a name too. A query about tests gives
    1 to those in tests only.
    """
    names = [*names_said(text), *_capitalised(text, files)]
    only_tests = _ABOUT_TESTS.search(text) is not None
    return np.array(
        [
            float((_is_test(file[1]) or not only_tests) and any(uses(name, *one) for name in names))
            for file, one in zip(files, passages, strict=True)
        ]
    )


def _capitalised(text: str, files: Sequence[tuple[str, str]]) -> list[str]:
    """The capitalised words within the sentences of ``text``, but for the projects' own names."""
    projects = {repo.rpartition("/")[2].casefold() for repo, _ in set(files)}
    words = list(dict.fromkeys(_CAPITALISED.findall(text)))[:MOST_NAMES]
    return [word for word in words if word.casefold() not in projects]


def factors(
    text: str,
    files: Sequence[tuple[str, str]],
    metadata: Sequence[str | None],
    secondary: float,
) -> list[float]:
    """What the scores of passages of ``files`` are multiplied by, ``metadata`` of each passage.

    ``secondary`` for a test, an example or a file that only re-exports names, unless the query
    ``text`` is about such; 1 for others. A package's file that defines something is an ordinary
    file. Of a long query its title says what it is about: nearly every report of a bug speaks of a
    test or an example somewhere.

    >>> factors("How is it sent?", [("", "a/__init__.py"), ("", "tests/a.py")], [None, None], 0.7)
    [0.7, 0.7]
    """
    title = text if len(text) < _LONG else text.partition("\n")[0][:_TITLE]
    if _ABOUT_THEM.search(title) or _ABOUT_TESTS.search(title):
        return [1.0] * len(files)
    defining = {
        file
        for file, one in zip(files, metadata, strict=True)
        if one and (f'"{DEFINES}"' in one or f'"{SIGNATURES}"' in one)
    }
    return [
        secondary if _is_test(f[1]) or (_re_exports(f[1]) and f not in defining) else 1.0
        for f in files
    ]


def names_said(text: str) -> list[str]:
    """The code names in ``text``, the first ``MOST_NAMES``.

    A code name is written like one, or stands in back-ticks, between dots or before a parenthesis.

    >>> names_said("`retry` of app.Client is not called by send(), see max_size")
    ['max_size', 'retry', 'Client', 'send']
    """
    names = [word for word in _WORD.findall(text) if _NAME.fullmatch(word)]
    for marked in map("".join, _MARKED.findall(text)):
        names += [word for word in _WORD.findall(marked) if len(word) > 3]
    names += _CALLED.findall(text)
    return list(dict.fromkeys(names))[:MOST_NAMES]


def is_secondary(path: str) -> bool:
    """Whether ``path`` is a test, an example, old code, or a file that only re-exports names.

    >>> is_secondary("src/cache_test.go"), is_secondary("pkg/__init__.py"), is_secondary("a/b.py")
    (True, True, False)
    """
    return _is_test(path) or _re_exports(path)


@cached_if_short(65_536)
def _is_test(path: str) -> bool:
    return _TESTS.search(path) is not None


def _re_exports(path: str) -> bool:
    return path.rpartition("/")[2] in _RE_EXPORTS


def one_of_each_file(hits: pl.DataFrame, top_k: int) -> pl.DataFrame:
    """The ``top_k`` best of each query: first one passage per file, then others of these files.

    ``hits`` is ``FUSED``; a document without a path counts as a file. The order is unchanged.
    """
    kept = by_rank(hits)
    places = kept.select("query_id", "corpus", "repo", pl.coalesce("path", "document_id")).rows()
    firsts, others = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    known = set[tuple[object, ...]]()
    for row, place in enumerate(places):
        (others if place in known else firsts)[place[0]].append(row)
        known.add(place)
    chosen = [sorted((rows + others[query])[:top_k]) for query, rows in firsts.items()]
    ranks = [place for rows in chosen for place in range(len(rows))]
    shown = take(kept, np.array([row for rows in chosen for row in rows], dtype=np.int64))
    return replaced(shown, pl.Series("rank", ranks, pl.UInt32))


@cached_if_short(65_536)
def _parts(name: str) -> tuple[str, ...]:
    return tuple(stem(part.lower()) for part in name_parts(name))


@cached_if_short(65_536)
def _around(path: str) -> frozenset[str]:
    """The words of a file's own name and of its folder."""
    file = PurePosixPath(path)
    names = [name for name in (file.stem, file.parent.name) if name]
    return frozenset(part for name in names for part in (stem(name.lower()), *_parts(name)))


def _by_start(words: Iterable[str]) -> dict[str, list[str]]:
    """``words`` by their first three letters, for :func:`_alike`."""
    by_start = defaultdict[str, list[str]](list)
    for word in words:
        by_start[word[:3]].append(word)
    return by_start


def _alike(part: str, words: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Those of ``words`` that are a prefix of ``part`` or the reverse; ``words`` by start."""
    return (w for w in words.get(part[:3], ()) if part.startswith(w) or w.startswith(part))
