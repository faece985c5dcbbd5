"""Sets the rules of who may see what on a collection, and applies them to its documents."""

from collections.abc import Sequence

import polars as pl

from dataflow.ingestion.version_discovery import find_versions
from operators.postgres.document_key import document_key
from operators.postgres.inspect.who_sees import is_open
from operators.postgres.schema.indexes import make_searchable
from operators.postgres.store import Store
from operators.postgres.write.commit_chunks import stored_commits
from operators.postgres.write.document_classes import classify, keep_rules
from operators.postgres.write.document_writer import write_documents
from operators.sources.chunking.chunker import CUT_AGAIN
from operators.sources.git.commit_rights import chunks_by_readers
from operators.sources.rights_rules import Rights, read_rights


def set_rights(store: Store, text: str) -> int:
    """Set the rules of a collection (:mod:`operators.sources.rights_rules`), and apply them.

    They apply to the next query, and to everything that is ingested from now on. Documents whose
    source sets their rights stay unchanged.

    Returns:
        The number of documents whose readers have changed, of the whole or of parts.

    Raises:
        CrosscorpusError: the rules can't be read; nothing has changed.
    """
    rights = read_rights(text)
    was_open, opened = is_open(store), rights.unmarked == "everyone"
    # unmarked documents are opened last, because a rule may match them now
    keep_rules(store, text, unmarked=opened and was_open)

    def decide(corpus: str, repo: str, path: str | None) -> tuple[str, Sequence[str]] | None:
        number = rights.rule_of(corpus, repo, path)
        return None if number is None else (str(number + 1), rights.rules[number].allow)

    changed = classify(store, decide, was_open, opened)
    if opened:
        keep_rules(store, text, unmarked=True)
    changed |= cut_commits(store, rights)
    find_versions(store)  # with other rights, a document belongs to other versions
    make_searchable(store)  # each of its passages was written again
    return len(changed)


def cut_commits(store: Store, rights: Rights) -> set[str]:
    """Cut the stored commits along their files where these have other readers by now.

    New chunks are found by words at once; the next ingestion embeds them. It reads a commit again
    that was cut before: under the new rules some of its chunks may be one.

    Returns:
        The keys of commits whose chunks have changed.
    """
    changed, mark = set[str](), f" {CUT_AGAIN}"
    for documents, chunks in stored_commits(store):
        now = chunks_by_readers(chunks, documents, rights)
        key = ["corpus", "repo", "document_id"]
        other = (
            now.join(chunks, on=["chunk_id", "text", "metadata"], how="anti").select(key).unique()
        )
        if not other.is_empty():
            new, parts = (of.join(other, on=key, how="semi") for of in (documents, now))
            cut = chunks.filter(~pl.col("metadata").str.contains('"files":', literal=True))
            before = pl.struct(key).is_in(cut.select(pl.struct(key)).to_series().implode())
            read_again = pl.col("fingerprint").str.strip_suffix(mark) + mark
            new = new.with_columns(
                fingerprint=pl.when(before).then(read_again).otherwise("fingerprint")
            )
            write_documents(store, new, parts, rights.text)
            changed |= {str(document_key(*of)) for of in other.iter_rows()}
    return changed
