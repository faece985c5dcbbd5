"""Shared functions: storable and harmless text, dates, the tokenizer, the data directory."""
