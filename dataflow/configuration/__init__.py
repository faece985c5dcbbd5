"""Configurations: their schema, their files, their overrides."""
