"""The `crosscorpus` command: thin functions over what a Python user calls."""
