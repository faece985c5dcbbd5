"""Documents to ingest, and what a collection holds of them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from operators.postgres.store import Store


def document(number: int, text: str | None = None, **fields: Any) -> dict[str, Any]:
    words = " ".join(f"word{number}x{n}" for n in range(90))
    return {
        "doc_id": f"d{number:03}", "corpus": "docs", "repo": "org/app",
        "title": f"Page {number}", "text": words if text is None else text,
    } | fields  # fmt: skip


def texts(store: Store, corpus: str | None = "docs") -> dict[str, str]:
    """document_id -> its chunks' text, joined; None: in all corpora."""
    with store.transaction() as conn:
        rows = conn.execute(
            "SELECT document_id, string_agg(text, '' ORDER BY ordinal) FROM chunks"
            " WHERE corpus = coalesce(%s, corpus) GROUP BY document_id",
            (corpus,),
        )
        return {str(name): str(text) for name, text in rows}


def git(path: Path, *arguments: str) -> str:
    """Run git as Ann in ``path``; returns what it prints."""
    command = ["git", "-c", "user.name=Ann", "-c", "user.email=a@example.org", *arguments]
    done = subprocess.run(command, cwd=path, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(path: Path, message: str, files: dict[str, str] | None = None, *options: str) -> None:
    """Write ``files``, and commit all that has changed in ``path``, a repository or none yet."""
    for name, text in (files or {}).items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    git(path, "init", "-q", "-b", "main")
    git(path, "add", "-A")
    git(path, "commit", "-q", "--allow-empty", "-m", message, *options)


def lines(numbers: range, suffix: str = "") -> list[dict[str, Any]]:
    """Documents of two corpora by turns."""
    return [
        {
            "doc_id": f"d{n}", "corpus": ("docs", "wiki")[n % 2], "title": f"Page {n}",
            "text": " ".join(f"word{n}x{i}" for i in range(70)) + suffix,
        }
        for n in numbers
    ]  # fmt: skip
