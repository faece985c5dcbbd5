"""The retrieval graph, in the order in which the data flows: queries, corpus, fusion, assembly.

What explains a result reads all of it: explanation. A function ``STAGE__NAME`` is a variant of a
stage: the configuration's catalog reads that from its name, as from the name of a user's own.
"""
