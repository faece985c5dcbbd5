"""Git working trees: repository, tracked files, commits."""
