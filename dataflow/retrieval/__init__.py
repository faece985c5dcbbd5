"""The retrieval graph, in the order in which the data flows.

``queries`` and ``versions``, ``corpus`` (the searches, once a corpus), ``score``, ``fusion`` and
``assembly`` (once over all corpora). A function ``STAGE__NAME`` is a variant of a stage; the
configuration's catalog finds it by its name, and a user's own functions too.
"""
