"""GitHub: exports and the live API, review threads and issues."""
