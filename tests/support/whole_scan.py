"""A whole scan of a source, parsed."""

from operators.sources.protocol import Document, LazyDocument, ReadIssue, Source


def read_all(source: Source) -> list[Document | ReadIssue]:
    """Everything that one scan of ``source`` gives, parsed."""
    return [item.read() if isinstance(item, LazyDocument) else item for item in source.scan()]
