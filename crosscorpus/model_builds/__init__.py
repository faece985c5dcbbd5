"""How models are made: fetched, compared with hashes, converted, put into the data directory.

It runs once on each machine, by ``crosscorpus models install``; the engine only loads the result.
"""
