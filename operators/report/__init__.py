"""HTML pages: the explanation of an answer, one file."""
