"""Calls that must not hang."""

from __future__ import annotations

import threading

from cranium.errors import CraniumError


def call_within_a_minute(function, *args, **options):
    """Call a function that must not hang; returns its result, or the error that it raised."""
    found = []

    def call():
        try:
            found.append(function(*args, **options))
        except CraniumError as problem:
            found.append(problem)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(60)
    assert found, "it hangs"
    return found[0]
