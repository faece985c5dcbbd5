"""The rules of the order, one a file: what speaks for a hit, or against it, beside its score.

A rule is a function of the hits and of what their questions ask for (``INTENT``). It gives one
value a hit, and its decorator says what the value does: :func:`~operators.signals.rule.factor`,
:func:`~operators.signals.rule.gain` or :func:`~operators.signals.rule.lead`. The configuration
gives each rule its weight (``signal_weights``); a rule without a weight does not run.
"""
