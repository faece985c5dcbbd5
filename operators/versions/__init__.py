"""Versions of a topic: finding them, their differences, and the version to search."""
