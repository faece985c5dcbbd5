"""The text that the embedding model reads for a chunk."""

MAX_HEADING = 120
"""Characters of title and section heading that are put before a chunk's text for embedding."""


def embedded_text(title: str | None, anchor: str | None, text: str) -> str:
    """The text that the model reads for a chunk: its heading, then its own text."""
    heading = chunk_heading(title, anchor)
    return f"{heading}\n{text}" if heading else text


def chunk_heading(title: str | None, anchor: str | None) -> str:
    """The title and section before a chunk's text, truncated at ``MAX_HEADING``."""
    return " > ".join(part for part in (title, anchor) if part)[:MAX_HEADING]
