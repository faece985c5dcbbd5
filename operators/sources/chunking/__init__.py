"""Documents to chunks: the cuts of a text, and the position of each chunk in it."""
