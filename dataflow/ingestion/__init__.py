"""Ingestion: the graph read -> chunk -> embed -> store, and the loop that runs it over a source."""
