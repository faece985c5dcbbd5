"""The rules of a collection, and the update of its documents' classes when the rules change."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from operators.foundation.principals import EVERYONE, RESTRICTED, UNMARKED, access_class
from operators.foundation.sanitize import clean_text
from operators.postgres.document_key import document_key
from operators.postgres.schema.partitions import lock, lock_writers
from operators.postgres.store import Connection, Store
from operators.postgres.write import document_writer
from operators.postgres.write.document_writer import RulesChanged, keep_classes
from operators.postgres.write.source_ownership import source_kind
from operators.postgres.write.term_statistics import Deltas, apply_deltas

AT_ONCE = 5_000
"""Documents whose rights are decided in one batch."""

SHARES_READERS = f"(c.metadata::json->>'{RESTRICTED}') IS NULL"
"""The condition that all who see a chunk's document may see the chunk ``c``."""

Decide = Callable[[str, str, str | None], tuple[str, Sequence[str]] | None]
"""Corpus, repo and path of a document -> the rule and who may see it; None: no rule applies."""


def rules_of(store: Store) -> str:
    """The text of the current rules file; empty if no rules are set."""
    return store.run(document_writer.rules_of)


def keep_rules(store: Store, text: str, *, unmarked: bool) -> None:
    """Set the rules; :func:`classify` applies them to the stored documents.

    Args:
        text: the text of the rules file.
        unmarked: whether everyone may see documents that no rule and no source marks.
    """
    keep_classes(store, {})

    def work(conn: Connection) -> None:
        lock(conn, document_writer.RULES)  # wait for writers that use the old rules
        conn.execute(
            "INSERT INTO rights (rules, unmarked) VALUES (%s, %s) ON CONFLICT (one)"
            " DO UPDATE SET rules = excluded.rules, unmarked = excluded.unmarked",
            (text, unmarked),
        )

    store.run(work)


def classify(store: Store, decide: Decide, was_open: bool, opened: bool) -> set[str]:
    """Give each document the class from ``decide``, except those whose source sets the rights.

    Returns:
        The keys of documents whose readers have changed; all saw unmarked ones if ``was_open``.
    """
    moved, everyone = set[str](), access_class([EVERYONE])
    changed: dict[str, dict[str, tuple[int, str | None]]] = {}
    classes: dict[int, Sequence[str]] = {}
    after = "00000000-0000-0000-0000-000000000000"
    while rows := store.rows(
        "SELECT document_key::text, corpus, repo, path, access, allowed_by FROM documents"
        " WHERE document_key > %s AND allowed_by IS DISTINCT FROM 'source'"
        " ORDER BY document_key LIMIT %s",
        (after, AT_ONCE),
    ):
        for key, corpus, repo, path, access, by in rows:
            rule, allowed = decide(corpus, repo, path) or (None, None)
            now = access_class(allowed)
            if allowed is not None:
                classes[now] = allowed
            if (now, rule) != (access, by):
                changed.setdefault(corpus, {})[key] = (now, rule)
            if (access or was_open * everyone) != (now or opened * everyone):
                moved.add(key)
        after = rows[-1][0]
    if classes:
        keep_classes(store, classes)
    for corpus, of in sorted(changed.items()):
        store.run(partial(move_documents, corpus=corpus, places=of))
    store.forget_info()
    store.cache.callers.clear()
    return moved


def allow_source(
    store: Store, reader: str, scopes: Iterable[tuple[str, str]], allowed: Sequence[str]
) -> int:
    """Let only ``allowed`` see what ``reader`` read into ``scopes``, (corpus, repo) pairs.

    Returns:
        How many documents have changed their class.
    """
    now, kind = access_class(allowed), f"{source_kind(reader)}/"
    keep_classes(store, {now: allowed})
    changed = 0
    for corpus, repo in sorted(scopes):
        rows = store.rows(
            "SELECT document_key::text FROM documents WHERE corpus = %s AND repo = %s"
            " AND starts_with(fingerprint, %s) AND access <> %s",
            (corpus, repo, kind, now),
        )
        places = {key: (now, "source") for (key,) in rows}
        if places:
            store.run(partial(move_documents, corpus=corpus, places=places))
        changed += len(places)
    store.forget_info()
    store.cache.callers.clear()
    return changed


def allow_document(
    store: Store, document: tuple[str, str, str], allowed: Sequence[str] | None, by: str | None,
    rules: str,
) -> None:  # fmt: skip
    """Let only ``allowed`` see the stored version of a document whose newer one was not stored.

    It is written again as soon as its source has a version that can be stored.

    Args:
        store: the open collection.
        document: its corpus, repo and id.
        allowed, by: as of :func:`operators.sources.rights_rules.with_rights`.
        rules: the text of the rules file that they come from.

    Raises:
        RulesChanged: the rules have changed meanwhile; nothing is written.
    """
    now, key = access_class(allowed), str(document_key(*document))
    if allowed is not None:
        keep_classes(store, {now: allowed})

    def work(conn: Connection) -> None:
        lock(conn, document_writer.RULES, alone=False)
        if document_writer.rules_of(conn) != rules:
            raise RulesChanged("the rights of the collection have changed meanwhile")
        of = "documents WHERE document_key = %s"
        if conn.execute(f"SELECT access FROM {of}", (key,)).fetchone() not in (None, (now,)):
            move_documents(conn, corpus=document[0], places={key: (now, by)})
            conn.execute("UPDATE documents SET content_hash = '' WHERE document_key = %s", (key,))

    store.run(work)


def move_documents(
    conn: Connection, *, corpus: str, places: Mapping[str, tuple[int, str | None]]
) -> None:
    """Change the classes of documents of a corpus, with their passages and the counts.

    ``places``: a document's key -> its class, and what sets it: the number of a rule, ``source``,
    or None.
    """
    lock_writers(conn, [corpus], alone=True)
    keys, numbers = list(places), [f"{access}" for access, _ in places.values()]
    rules = [clean_text(rule) if rule else None for _, rule in places.values()]
    values = {"corpus": corpus, "keys": keys, "access": numbers, "rules": rules}
    of = "unnest(%(keys)s::uuid[], %(access)s::bigint[], %(rules)s::text[]) AS n(key, access, rule)"
    conn.execute(
        "UPDATE documents d SET access = n.access, allowed_by = n.rule, indexed_at = now()"
        f" FROM {of} WHERE d.document_key = n.key",
        values,
    )
    conn.execute(
        f"UPDATE chunks c SET access = n.access FROM {of}"
        " WHERE c.corpus = %(corpus)s AND c.document_key = n.key AND c.access <> n.access"
        f" AND {SHARES_READERS}",
        values,
    )
    chunks = f"chunks c JOIN {of} ON c.document_key = n.key AND {SHARES_READERS}"
    same = "p.corpus = %(corpus)s AND c.corpus = p.corpus AND c.chunk_id = p.chunk_id"
    delta = Deltas()
    with conn.cursor(name="moved", binary=True) as cursor:
        cursor.execute(
            "SELECT p.repo, p.length, p.terms, p.access, n.access"
            f" FROM postings p, {chunks} WHERE {same}",
            values,
        )
        for repo, length, terms, before, now in cursor:
            for access, sign in ((before, -1), (now, 1)):
                if access != UNMARKED:
                    delta.classes.setdefault(access, Deltas()).count(repo, length, terms, sign)
    conn.execute(f"UPDATE postings p SET access = n.access FROM {chunks} WHERE {same}", values)
    apply_deltas(conn, {corpus: delta})
