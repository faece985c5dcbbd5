"""A collection's tables, partitions and indexes, and how they are brought up to date."""
