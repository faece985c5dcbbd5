"""What protects the server from its callers, and its callers from each other."""
