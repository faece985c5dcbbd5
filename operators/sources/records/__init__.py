"""Records of services, as documents: a map in YAML says which field is what."""
