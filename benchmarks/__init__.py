"""Measurements against peers and floors; run by hand or by `make bench`, never as tests."""
