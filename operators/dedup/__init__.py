"""Rules that collapse copies."""
