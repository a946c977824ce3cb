"""The files here that are not tests are what users write; only tests import them, and once.

Some of them register a class when they are imported, which doctest collection would do again.
"""

collect_ignore_glob = ["[!t]*.py"]
