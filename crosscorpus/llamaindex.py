"""The retriever of LlamaIndex; it needs the extra ``llamaindex``."""

from dataflow.frameworks.llamaindex import CrosscorpusRetriever

__all__ = ["CrosscorpusRetriever"]
