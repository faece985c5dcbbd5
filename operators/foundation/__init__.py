"""What everybody stands on: text made storable and harmless, the tokenizer, where data lies."""
