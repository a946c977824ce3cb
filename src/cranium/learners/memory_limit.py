"""Whether there is room in memory."""

from __future__ import annotations

import os
from contextlib import suppress

from cranium.errors import SpaceError

__all__ = ["check_memory"]


def check_memory(what: str, size: int, *, fix: str) -> None:
    """Refuse what no memory holds: the machine would be busy with that, not with us.

    Example:
        >>> check_memory("such tables", 2**70, fix="make it smaller")
        Traceback (most recent call last):
        cranium.errors.SpaceError: such tables take 1,099,511,627,776 GB, more than this machine has
          fix: make it smaller
    """
    memory = 2**50
    with suppress(AttributeError, ValueError, OSError):  # not every system tells
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if size > memory:
        raise SpaceError(f"{what} take {size / 2**30:,.0f} GB, more than this machine has", fix=fix)
