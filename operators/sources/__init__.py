"""Readers of a team's sources (working trees, histories, exports), and the chunker."""
