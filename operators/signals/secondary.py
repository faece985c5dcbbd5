"""Tests, examples and files that only re-export names mostly show what another file does.

Commits that only raise the version of a dependency say its name and nothing of it.
"""

import re

import numpy as np
import polars as pl

from operators.foundation.short_cache import cached_if_short
from operators.frames import DEFINES, SIGNATURES
from operators.signals.rule import Questions, Values, gain

_TESTS = re.compile(
    r"(?:^|/)(?:test_[^/]*|conftest|[^/]*_(?:test|spec)|[^/]*(?:Tests?|Spec|Suite)"
    r"|[^/]*\.(?:test|spec))\.\w+$"
    r"|(?:^|/)(?:tests?|testing|__tests__|spec|testdata|fixtures)/"
)
_MODULE = re.compile(r"tests?::|tests\Z")  # of Rust, in the file that it tests
_SAMPLES = re.compile(
    r"(?:^|/)(?:_?compat|legacy|deprecated|_?examples?|docs?_src|samples?|benchmarks?|bench)/"
)
_RAISES = re.compile(
    r"(?:\w+(?:\([^)]*\))?!?: *)?(?:bump|update|upgrade)s? "
    r"(?:(?:\S+ ){1,4}(?:(?:from|to) v?\d+\.\d|group)|\S+/\S+ (?:from|to) v?\d)",
    re.IGNORECASE,
)
_VERSION_WORDS = frozenset(("bump", "updat", "upgrad", "version", "releas", "depend"))
_RE_EXPORTS = frozenset(("__init__.py", "package-info.java", "mod.ts", "index.ts", "index.js"))


@gain
def secondary(hits: pl.DataFrame, questions: Questions) -> Values:
    """Minus its own share of the best score, for a test, an example, or a file of re-exports.

    Likewise for a commit that raises the version of a dependency. 0 if the question is about such.
    A package's file that defines something is an ordinary file.
    """
    names = ("query_id", "corpus", "repo", "path", "metadata", "of_file", "title", "anchor")
    columns = hits[names].rows()
    defining = {
        (query, corpus, repo, path)
        for query, corpus, repo, path, metadata, of_file, *_ in columns
        if of_file and metadata and (f'"{DEFINES}"' in metadata or f'"{SIGNATURES}"' in metadata)
    }
    is_one = [
        not questions[query]["about_secondary"]
        and (
            of_tests(path, anchor)
            or _is_sample(path)
            or (_re_exports(path) and (query, corpus, repo, path) not in defining)
        )
        if of_file
        else raises_a_version(title, metadata)
        and _VERSION_WORDS.isdisjoint(questions[query]["vocabulary"])
        for query, corpus, repo, path, metadata, of_file, title, anchor in columns
    ]
    share = hits["score"].to_numpy() / np.maximum(hits["best"].to_numpy(), 1e-12)
    return np.where(is_one, -share, 0.0)


def is_secondary(path: str) -> bool:
    """Whether ``path`` is a test, an example, old code, or a file that only re-exports names.

    >>> is_secondary("src/cache_test.go"), is_secondary("pkg/__init__.py"), is_secondary("a/b.py")
    (True, True, False)
    """
    return is_test(path) or _is_sample(path) or _re_exports(path)


def of_tests(path: str | None, anchor: str | None) -> bool:
    """Whether a passage is of a test: by its file, or by the module in it.

    >>> of_tests("src/a.rs", "tests::reads"), of_tests("src/a.rs", "testing")
    (True, False)
    """
    in_module = anchor is not None and _MODULE.match(anchor) is not None
    return in_module or (path is not None and is_test(path))


@cached_if_short(65_536)
def is_test(path: str) -> bool:
    """Whether ``path`` is a test, or a file of tests.

    >>> [is_test(path) for path in ("tests/a.py", "src/cache_test.go", "a/b.spec.ts", "src/test.c")]
    [True, True, True, False]
    """
    return _TESTS.search(path) is not None


@cached_if_short(65_536)
def _is_sample(path: str) -> bool:
    return _SAMPLES.search(path) is not None


def raises_a_version(title: str | None, metadata: str | None) -> bool:
    """Whether it is a commit whose ``title`` says that it raises the version of a dependency.

    >>> commit = '{"commit": "0123abc"}'
    >>> raises_a_version("build(deps): bump globset from 0.4.17 to 0.4.18", commit)
    True
    >>> raises_a_version("Update the timeout from 3 to 5", commit), raises_a_version(None, commit)
    (False, False)
    """
    is_commit = metadata is not None and '"commit": ' in metadata
    return is_commit and title is not None and _RAISES.match(title) is not None


def _re_exports(path: str) -> bool:
    return path.rpartition("/")[2] in _RE_EXPORTS
