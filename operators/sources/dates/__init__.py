"""The date of a document, and the version that it describes."""
