"""How the model that ships is made: fetched by hash, converted, put into the data directory.

It runs once a machine, by ``crosscorpus models install``; the engine only loads what it made.
"""
