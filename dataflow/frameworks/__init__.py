"""Retrievers in the terms of other frameworks, each thin over one driver; docs/frameworks.md."""
