"""The rules of who may see what, set on a collection and applied to what it holds."""

from collections.abc import Sequence

from dataflow.ingestion.version_discovery import find_versions
from operators.postgres.inspect.who_sees import is_open
from operators.postgres.schema.indexes import make_searchable
from operators.postgres.store import Store
from operators.postgres.write.document_classes import classify, keep_rules
from operators.sources.rights_rules import read_rights


def set_rights(store: Store, text: str) -> int:
    """Set the rules of a collection (:mod:`operators.sources.rights_rules`), and apply them.

    They hold for the next question, and for all that is ingested from now on. Documents whose
    source says who may see them stay as they are.

    Returns:
        How many documents are seen by others than before.

    Raises:
        CrosscorpusError: the rules can't be read; nothing has changed.
    """
    rights = read_rights(text)
    opened = rights.unmarked == "everyone"
    # what no rule spoke of is opened last: rules may speak of it now
    keep_rules(store, text, unmarked=opened and is_open(store))

    def decide(corpus: str, repo: str, path: str | None) -> tuple[str, Sequence[str]] | None:
        number = rights.rule_of(corpus, repo, path)
        return None if number is None else (str(number + 1), rights.rules[number].allow)

    changed = classify(store, decide)
    if opened:
        keep_rules(store, text, unmarked=True)
    if changed:
        find_versions(store)  # a document that is seen by others is no version of what it was
        make_searchable(store)  # each passage of it was written again
    return changed
