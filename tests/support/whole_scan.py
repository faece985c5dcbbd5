"""A whole scan of a source, parsed."""

from collections.abc import Iterable

from operators.sources.protocol import Document, Item, LazyDocument, ReadIssue, Source


def read_all(source: Source) -> list[Document | ReadIssue]:
    """Everything that one scan of ``source`` gives, parsed."""
    return parsed(source.scan())


def parsed(items: Iterable[Item]) -> list[Document | ReadIssue]:
    """The items, parsed."""
    return [item.read() if isinstance(item, LazyDocument) else item for item in items]
