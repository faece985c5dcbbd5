"""The longest texts of a query's options, the same for every interface.

A name becomes regular expressions, and one of a qualified name grows with the square of its parts:
a name of 5,000 parts made one of 87 MB.
"""

from operators.errors import CrosscorpusError

NAME = 500
PATTERN = 1_000
PATH = 4_096
"""The longest path of Linux; also for what may contain one, such as a label."""

LONGEST = {
    **dict.fromkeys(("symbol", "uses", "language", "state", "trigger"), NAME),
    **dict.fromkeys(("version", "versions", "older", "newer", "cursor", "lines"), NAME),
    **dict.fromkeys(("path", "path_prefix", "document", "repos", "corpora", "only_corpora"), PATH),
    **dict.fromkeys(("passages", "explain_chunks"), PATH),
    "pattern": PATTERN,
}
"""The most characters of each text of an option."""

MOST_PARTS = 32
"""The most parts of a qualified name."""


def check_texts(name: str, value: object) -> None:
    """Check the texts of the option ``name``: one, or those of a list.

    >>> check_texts("symbol", "a" * 501)
    Traceback (most recent call last):
    operators.errors.CrosscorpusError: symbol has 501 characters: give at most 500

    Raises:
        CrosscorpusError: a text, or the number of its parts, is over its limit.
    """
    from operators.ranking.definitions import qualified_parts  # the command starts without Polars

    if isinstance(value, list | tuple | set | frozenset):
        for one in value:
            check_texts(name, one)
    if not isinstance(value, str) or name not in LONGEST:
        return
    if len(value) > LONGEST[name]:
        raise CrosscorpusError(
            f"{name} has {len(value):,} characters: give at most {LONGEST[name]:,}"
        )
    if name in ("symbol", "uses") and (parts := len(qualified_parts(value))) > MOST_PARTS:
        raise CrosscorpusError(f"{name} has {parts} parts: give at most {MOST_PARTS}")
