"""The retrieval graph, in the order in which the data flows: queries, corpus, fusion, assembly.

What explains a result reads all of it: explanation.
"""
