"""A whole scan of a source, parsed."""

from operators.sources.protocol import Document, ReadIssue, Source, parsed


def read_all(source: Source) -> list[Document | ReadIssue]:
    """Everything that one scan of ``source`` gives, parsed."""
    return list(parsed(source.scan()))
