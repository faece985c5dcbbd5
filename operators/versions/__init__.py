"""Versions of a topic: which there are, what changed between them, which of them answers."""
