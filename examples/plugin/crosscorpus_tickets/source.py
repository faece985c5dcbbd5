"""A reader: a CSV of tickets becomes documents of the corpus `issue`."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Tickets:
    """The tickets of a file with the columns number, opened, title and text.

    It fills `issue` of its project alone: a ticket that leaves the file leaves the collection.
    """

    def __init__(self, path: str, project: str = "support") -> None:
        self.path, self.project = Path(path), project
        self.scopes = [("issue", project)]

    def scan(self) -> Iterator[dict[str, Any]]:
        """One mapping a ticket."""
        with self.path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                yield {
                    "corpus": "issue",
                    "repo": self.project,
                    "doc_id": row["number"],
                    "title": row["title"],
                    "text": f"{row['title']}\n\n{row['text']}",
                    "created_at": row["opened"],
                    "url": f"https://tickets.example.com/{row['number']}",
                }
