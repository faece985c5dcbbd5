"""Rules that order hits: fusion, recency, weighting, reranking; formulas over frames."""
