"""When a document was written, and which version it describes."""
