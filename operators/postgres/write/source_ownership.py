"""The source that fills a corpus and repo: another one would delete its documents."""

import json
from collections.abc import Sequence

from operators.errors import CrosscorpusError
from operators.foundation.sanitize import clean_text
from operators.postgres.store import Connection, Store

_NAME = "addresses"
"""The name in ``sync_state``; its ``source`` is the kind of source, the corpus and the repo."""


def owner_key(reader: str, corpus: str, repo: str) -> str:
    """The key in ``sync_state`` for the source that ``reader`` reads into a corpus and repo."""
    return clean_text(f"{reader.partition('/')[0]} {corpus} {repo}")


def take_ownership(
    store: Store,
    reader: str,
    scopes: Sequence[tuple[str, str]],
    addresses: Sequence[str],
    *,
    relocated: bool = False,
) -> None:
    """Record that the source at ``addresses`` fills ``scopes``.

    Args:
        store: the open collection.
        reader: of the source. Sources of different kinds leave each other's documents alone.
        scopes: the (corpus, repo) pairs.
        addresses: the places of the source. It is the same source if it shares one with the last
            run. Empty: nothing is checked.
        relocated: the source has moved: documents from another place are its own.

    Raises:
        CrosscorpusError: documents there belong to another source.
    """
    if addresses:
        store.run(lambda conn: _take(conn, reader, sorted(scopes), addresses, relocated))


def _take(
    conn: Connection,
    reader: str,
    scopes: Sequence[tuple[str, str]],
    addresses: Sequence[str],
    relocated: bool,
) -> None:
    value = json.dumps(list(addresses))
    for corpus, repo in scopes:
        source = owner_key(reader, corpus, repo)
        held = conn.execute(
            "SELECT value FROM sync_state WHERE source = %s AND name = %s FOR UPDATE",
            (source, _NAME),
        ).fetchone()
        if held is None:  # the first run, or the first with addresses
            conn.execute(
                "INSERT INTO sync_state (source, name, value) VALUES (%s, %s, %s)"
                " ON CONFLICT DO NOTHING",
                (source, _NAME, value),
            )
        elif held[0] != value:
            before: list[str] = json.loads(held[0])
            same = relocated or not set(before).isdisjoint(addresses)
            if not same and _has_documents(conn, reader, corpus, repo):
                raise CrosscorpusError(
                    f"{repo!r} in {corpus} is taken: it was read from {_shown(before)}, and this "
                    f"is {_shown(addresses)}; give this one another name (--repo), or, if it is "
                    "the same at a new place, say so (--relocated)"
                )
            conn.execute(
                "UPDATE sync_state SET value = %s WHERE source = %s AND name = %s",
                (value, source, _NAME),
            )


def _has_documents(conn: Connection, reader: str, corpus: str, repo: str) -> bool:
    row = conn.execute(
        "SELECT 1 FROM documents"
        " WHERE corpus = %s AND repo = %s AND starts_with(fingerprint, %s) LIMIT 1",
        (clean_text(corpus), clean_text(repo), reader.partition("/")[0] + "/"),
    ).fetchone()
    return row is not None


def _shown(addresses: Sequence[str]) -> str:
    first, *others = addresses
    return f"{first} ({', '.join(others)})" if others else first
