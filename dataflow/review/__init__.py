"""The context for a change under review: a graph around the retrieval graph."""
