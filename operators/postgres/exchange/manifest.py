"""``collection.json``: what an export holds. It is written last: with it, an export is complete."""

import json
from pathlib import Path

from pydantic import BaseModel, NonNegativeInt, PositiveInt, ValidationError

from operators.errors import CrosscorpusError

FORMAT = 1
MANIFEST = "collection.json"


class Manifest(BaseModel, frozen=True):
    """What an export holds.

    Attributes:
        format: the version of the format.
        name: of the collection that was exported.
        model: the name of its embedding model; None before one was set, as the next two.
        space: the fingerprint of its vector space.
        dimensions: of its vectors.
        migrations: the migrations of its schema.
        rows: the rows of each table, which is in the file ``TABLE.parquet``.
    """

    format: PositiveInt
    name: str
    model: str | None
    space: str | None
    dimensions: PositiveInt | None
    migrations: list[str]
    rows: dict[str, NonNegativeInt]


def read_manifest(folder: Path) -> Manifest:
    """The manifest of the export in ``folder``.

    Raises:
        CrosscorpusError: there is none, it is damaged, or its format is newer than ``FORMAT``.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise CrosscorpusError(f"{folder} has no complete export: there is no {MANIFEST} in it")
    try:
        data = json.loads(path.read_bytes())
        version = data.get("format") if isinstance(data, dict) else None
        if isinstance(version, int) and version > FORMAT:
            raise newer(folder, f"format {version}; this one reads {FORMAT}")
        return Manifest.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        why = f"{'.'.join(map(str, first['loc'])) or MANIFEST}: {first['msg']}"
    except ValueError as error:
        why = str(error)
    raise CrosscorpusError(f"{path} is damaged ({why}): export the collection again")


def newer(folder: Path, what: str) -> CrosscorpusError:
    """The error for an export that a newer version has made, as ``what`` shows."""
    return CrosscorpusError(f"{folder} was made by a newer version ({what}): upgrade this one")
