"""Retrievers for other frameworks, each a thin wrapper of one driver; docs/frameworks.md."""
