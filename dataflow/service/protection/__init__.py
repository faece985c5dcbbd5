"""Protection of the server from its callers, and of its callers from each other."""
