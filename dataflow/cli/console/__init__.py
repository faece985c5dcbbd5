"""What the commands print: for a person on a terminal, as JSON for a program."""
