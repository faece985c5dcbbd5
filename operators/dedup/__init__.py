"""Rules that collapse near-duplicates: of each group one representative stays."""
