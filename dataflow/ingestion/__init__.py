"""Ingestion: the graph read -> chunk -> embed -> store, and the loop that runs it over a source."""

from dataflow.ingestion.graph_builder import build_ingestion_graph
from dataflow.ingestion.loop import ingest
from dataflow.ingestion.report import IngestReport, Progress
from dataflow.ingestion.sources import (
    ingest_documents,
    ingest_folder,
    ingest_git,
    ingest_issues,
    ingest_memory,
    ingest_reviews,
    ingest_wiki,
    sync_github,
)

__all__ = [
    "IngestReport",
    "Progress",
    "build_ingestion_graph",
    "ingest",
    "ingest_documents",
    "ingest_folder",
    "ingest_git",
    "ingest_issues",
    "ingest_memory",
    "ingest_reviews",
    "ingest_wiki",
    "sync_github",
]
