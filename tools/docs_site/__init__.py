"""The pages of the documentation site: the written ones, and a reference made from the code.

It stands beside the packages, not in one: it reads all of them, the command line included, and no
wheel needs it. It only writes Markdown, so that a test runs it without the program that makes the
site. ``make docs`` does the rest.
"""
