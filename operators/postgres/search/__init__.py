"""Searching and reading chunks: filters, vector search, text search."""
