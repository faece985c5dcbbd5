"""The context for the review of a change: a graph around the retrieval graph."""
