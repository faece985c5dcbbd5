"""Judged runs: read, scored, compared."""
