"""HTML pages: the results of an evaluation, the explanation of an answer; one file each."""
