"""Draws any Hamilton graph: DOT, PNG, and the difference of two."""
