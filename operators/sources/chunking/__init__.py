"""Documents to chunks: where a text is cut, and where in it a chunk stands."""
