"""Draws any Hamilton graph: DOT, Mermaid, PNG, and the difference of two."""
