"""What a Python user holds: the retrieval driver, and what checks its calls."""
