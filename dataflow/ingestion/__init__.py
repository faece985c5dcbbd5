"""The ingestion graph and the loop that runs it: read -> chunk -> embed -> store."""

from __future__ import annotations

from dataflow.ingestion.graph import build_ingestion_graph
from dataflow.ingestion.local import ingest_documents, ingest_folder, ingest_git, ingest_wiki
from dataflow.ingestion.loop import ingest
from dataflow.ingestion.report import IngestReport, Progress

__all__ = [
    "IngestReport",
    "Progress",
    "build_ingestion_graph",
    "ingest",
    "ingest_documents",
    "ingest_folder",
    "ingest_git",
    "ingest_wiki",
]
