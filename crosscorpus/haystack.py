"""The retriever of Haystack; it needs the extra ``haystack``."""

from dataflow.frameworks.haystack import CrosscorpusRetriever

__all__ = ["CrosscorpusRetriever"]
