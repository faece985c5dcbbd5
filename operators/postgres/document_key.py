"""The key of a document in the ledger."""

import hashlib
from uuid import UUID

from operators.foundation.sanitize import clean_text


def document_key(corpus: str, repo: str, document_id: str) -> UUID:
    """The key of a document: a hash, because an id may be too long for an index entry."""
    parts = [clean_text(part).encode() for part in (corpus, repo, document_id)]
    return UUID(bytes=hashlib.blake2b(b"\0".join(parts), digest_size=16).digest())
