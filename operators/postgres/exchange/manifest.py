"""``collection.json``: what an export holds. It is written last: with it, an export is complete."""

from pathlib import Path

from pydantic import BaseModel, Field, NonNegativeInt, PositiveInt, ValidationError

from operators.errors import CrosscorpusError

FORMAT = 1
MANIFEST = "collection.json"


class Manifest(BaseModel):
    """What an export holds; ``rows`` are those of each table, in the file ``TABLE.parquet``."""

    format: int = Field(FORMAT, ge=1, le=FORMAT)
    name: str
    model: str | None
    space: str | None
    dimensions: PositiveInt | None
    migrations: list[str]
    rows: dict[str, NonNegativeInt]


def read_manifest(folder: Path) -> Manifest:
    """The manifest in ``folder``; a CrosscorpusError if it is missing, damaged or newer."""
    try:
        return Manifest.model_validate_json((folder / MANIFEST).read_bytes())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise CrosscorpusError(f"{folder} is no complete export: it has no {MANIFEST}") from error
    except ValidationError as error:
        first = error.errors()[0]
        if first["loc"] == ("format",) and first["type"] == "less_than_equal":
            raise newer(folder, f"format {first['input']}") from error
        why = " ".join(map(str, (*first["loc"], first["msg"])))
        raise CrosscorpusError(f"{folder / MANIFEST} is damaged ({why}): export again") from error


def newer(folder: Path, what: str) -> CrosscorpusError:
    """The error for an export with ``what`` only a newer version makes."""
    return CrosscorpusError(f"{folder} was made by a newer version ({what}): upgrade this one")
