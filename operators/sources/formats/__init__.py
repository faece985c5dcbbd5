"""File formats: a file's bytes to text, with its headings."""
