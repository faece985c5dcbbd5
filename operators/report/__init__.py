"""Pages for a person: the results of an evaluation, the explanation of an answer; one file each."""
