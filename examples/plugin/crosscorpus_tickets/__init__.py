"""What a package may bring to crosscorpus: its pyproject.toml says under which names."""
