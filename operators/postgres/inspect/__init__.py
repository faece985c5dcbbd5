"""Inspects a collection: its state, its consistency, its versions."""
