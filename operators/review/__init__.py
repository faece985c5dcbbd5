"""A change that somebody reviews: its files and lines, read from a patch."""
