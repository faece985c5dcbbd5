"""The retrieval graph, in the order in which the data flows: queries, corpus, fusion, assembly.

The module ``explanation`` reads them all. A function ``STAGE__NAME`` is a variant of a stage; the
configuration's catalog finds it by its name, and a user's own functions too.
"""
