"""The retriever of DSPy; it needs the extra ``dspy``."""

from dataflow.frameworks.dspy import CrosscorpusRetriever

__all__ = ["CrosscorpusRetriever"]
