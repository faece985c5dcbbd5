"""A document as one version of something."""

from dataclasses import dataclass
from datetime import datetime

from operators.versions.normalized_names import NormalizedNames
from operators.versions.text_sketches import Hashes
from operators.versions.version_key import VersionKey


@dataclass(frozen=True, eq=False)
class Page:
    """A document as one version of something.

    Attributes:
        key: its document_key.
        repo: what it belongs to.
        names: its path, title and identifier without the version.
        order: what its place among the versions follows from.
        released_at: its date, if that is trusted.
        date_source: where that is from.
        hashes: its sketch.
    """

    key: str
    repo: str
    names: NormalizedNames
    order: tuple[int, VersionKey, float]
    released_at: datetime | None
    date_source: str | None
    hashes: Hashes
