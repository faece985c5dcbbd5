"""The Python API: the retrieval driver and the checks of its calls."""
