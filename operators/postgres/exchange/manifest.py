"""The manifest ``collection.json`` of an export. It is written last: it marks a complete export."""

import stat
from pathlib import Path
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    NonNegativeInt,
    PositiveInt,
    StringConstraints,
    ValidationError,
)

from operators.errors import CrosscorpusError
from operators.foundation.escape import UNSEEN_IN_A_LINE, label_text

FORMAT = 1
MANIFEST = "collection.json"
LARGEST = 16_000
"""Maximum dimensions of a vector on the server."""

LONGEST_REASON = 300
"""Maximum characters of the reason in an error about a file."""

_LONGEST = 1024 * 1024  # bytes of the manifest


def _on_one_line(text: str) -> str:
    if UNSEEN_IN_A_LINE.search(text):
        raise ValueError("has characters that no line shows")
    return text


Line = Annotated[str, StringConstraints(max_length=1000), AfterValidator(_on_one_line)]


class Manifest(BaseModel):
    """The contents of an export; ``rows`` counts each table's, in the file ``TABLE.parquet``."""

    format: int = Field(FORMAT, ge=1, le=FORMAT)
    name: str
    model: Line | None
    space: Line | None
    dimensions: Annotated[PositiveInt, Field(le=LARGEST)] | None
    migrations: list[str]
    rows: dict[str, NonNegativeInt]


def read_manifest(folder: Path) -> Manifest:
    """The manifest in ``folder``; raises CrosscorpusError if it is missing, damaged or newer."""
    path = folder / MANIFEST
    try:
        check_regular(path)
        if path.stat().st_size > _LONGEST:
            raise CrosscorpusError(f"{path} is damaged (over {_LONGEST:,} bytes): export again")
        return Manifest.model_validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise CrosscorpusError(f"{folder} is no complete export: it has no {MANIFEST}") from error
    except ValidationError as error:
        first = error.errors()[0]
        if first["loc"] == ("format",) and first["type"] == "less_than_equal":
            raise newer(folder, f"format {first['input']}") from error
        why = label_text(" ".join(map(str, (*first["loc"], first["msg"]))))[:LONGEST_REASON]
        raise CrosscorpusError(f"{path} is damaged ({why}): export again") from error


def check_regular(path: Path) -> None:
    """Raise CrosscorpusError if ``path`` is a pipe, a device or a folder; no export has one."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise CrosscorpusError(f"{path} is no regular file: export the collection again")


def newer(folder: Path, what: str) -> CrosscorpusError:
    """The error for an export with ``what``, which only a newer version writes."""
    return CrosscorpusError(f"{folder} was made by a newer version ({what}): upgrade this one")
