"""What only maintainers run; it is not part of the wheel."""
