"""Writing: documents with their chunks, the ledger, the state of live sources."""
