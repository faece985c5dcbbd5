"""Judged queries and runs: read, measured, compared."""
