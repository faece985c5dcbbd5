"""Pages of several versions, as a lineage is found from."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import polars as pl

from operators.versions.lineage import LINEAGE_DOCUMENTS, lineages
from operators.versions.text_sketches import sketch


def words(seed: int, count: int = 120) -> list[str]:
    chance = random.Random(seed)
    return [f"{chance.choice('abcdefgh')}{chance.randrange(400)}" for _ in range(count)]


def text(seed: int, changed: float = 0.0) -> str:
    kept = words(seed)
    number = round(len(kept) * changed)
    return " ".join(kept[number:] + words(seed + 1000, number))


def page(path: str | None, version: str | None = None, **fields: Any) -> dict[str, Any]:
    body = fields.pop("text", text(1))
    date = fields.pop("date", None)
    row = {
        "document_key": f"{path}|{version}|{fields.get('title')}",
        "repo": "", "document_id": fields.get("document_key", f"{path}|{version}"),
        "path": path, "title": None, "version": version,
        "doc_date": datetime.fromisoformat(date).replace(tzinfo=UTC) if date else None,
        "date_source": "explicit" if date else None,
        "topic": None, "sketch": sketch(body).astype("<u4").tobytes(),
    }  # fmt: skip
    return row | fields


def found(*pages: dict[str, Any]) -> list[list[str]]:
    """The lineages as lists of document keys, oldest first."""
    frame = lineages(pl.DataFrame(list(pages), schema=LINEAGE_DOCUMENTS))
    return [
        of["document_key"].to_list() for _, of in frame.group_by("lineage_id", maintain_order=True)
    ]
