"""Readers of what a team has: working trees, histories, exports; and the chunker."""
