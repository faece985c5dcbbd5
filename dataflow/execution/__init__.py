"""Runs any Hamilton graph: scheduler, worker pool, memo."""
