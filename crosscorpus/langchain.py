"""The retriever of LangChain; it needs the extra ``langchain``."""

from dataflow.frameworks.langchain import CrosscorpusRetriever

__all__ = ["CrosscorpusRetriever"]
