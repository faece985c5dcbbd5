"""The tool `history`: which commits changed a file, a folder, lines or a definition, and why."""

from typing import Annotated

from pydantic import Field

from dataflow.service import models
from dataflow.service.place_history import place_history
from dataflow.service.tools import Cursor, PathText, Service, page_start

PAGE = 10
"""Commits of one answer: what changed a file is mostly asked of its last changes."""


def history(
    service: Service,
    place: Annotated[
        PathText, Field(description="src/a.py, src/a.py:10-40, a folder, or a name: Lock.release")
    ],
    cursor: Cursor = None,
) -> models.History:
    """The commits that changed a file, a folder, lines or a definition, newest first."""
    start = page_start(cursor)
    told = place_history(service.driver, service.homes, place)
    return models.History(
        place=told.place,
        commits=[
            models.Change(
                commit=one["commit"][:10],
                date=one["created_at"] and f"{one['created_at']:%Y-%m-%d}",
                author=one["author"],
                subject=one["subject"],
                note=one["note"],
            )
            for one in told.commits[start : start + PAGE].iter_rows(named=True)
        ],
        notes=told.notes,
        next_cursor=str(start + PAGE) if start + PAGE < told.commits.height else None,
    )
