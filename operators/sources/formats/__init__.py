"""File formats: what a file's bytes say as text, with its headings."""
