"""How models are made: fetched, compared with hashes, converted, put into the data directory.

It runs once a machine, by ``crosscorpus models install``; the engine only loads what it made.
"""
