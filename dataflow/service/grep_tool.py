"""The tool `grep`: every place of an exact text."""

from typing import Annotated, Any

from pydantic import Field

from dataflow.service import models
from dataflow.service.arguments import takes_filters
from dataflow.service.every_place import every_place
from dataflow.service.tools import PAGE, Cursor, Name, Service, page_start
from operators.explain.named_documents import file_of

_LINES, _OF_ONE_FILE = 10, 40
"""Lines of a file of several, and of the only one; a number says how many more there are."""


@takes_filters("repos", "path")
def grep(
    service: Service,
    text: Annotated[Name, Field(description="an exact text of one line, case counts")],
    regex: Annotated[bool, Field(description="it is a regular expression of Postgres")] = False,
    cursor: Cursor = None,
    **options: Any,
) -> models.Places:
    """Every place of an exact text, with their number: nothing else is mixed in."""
    start = page_start(cursor)
    told = every_place(service.driver, text, regex=regex, **options)
    keys = ["corpus", "repo", "document_id"]
    files = told.lines.partition_by(keys, maintain_order=True) if told.lines.height else []
    most = _LINES if len(files) > 1 else _OF_ONE_FILE
    return models.Places(
        total=told.said,
        files=[
            models.File(
                file=file_of(first),
                lines=[f"{one['line'] or ''}: {one['text'].strip()}" for one in rows[:most]],
                more=len(rows) - most if len(rows) > most else None,
            )
            for rows in (file.to_dicts() for file in files[start : start + PAGE])
            for first in rows[:1]
        ],
        next_cursor=str(start + PAGE) if start + PAGE < len(files) else None,
    )
