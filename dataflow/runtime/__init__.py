"""What turns modules and a configuration into a running graph."""
