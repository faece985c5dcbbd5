"""A change under review: its files and lines, read from a patch."""
