"""Pages for a person: what an evaluation found, how a result came about; one file each."""
