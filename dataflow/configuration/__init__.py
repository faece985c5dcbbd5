"""Configurations: what they may say, where they are found, how one is varied."""
