"""The embedded server: its programs, its processes, its settings."""
