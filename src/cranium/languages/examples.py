"""The languages of the paper, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["EXAMPLES"]

EXAMPLES: Mapping[str, str] = MappingProxyType(
    {
        "counter-machine": "A^N B^N",  # Appendix A
        "running-example": "A^N B C^N",  # Figure "ccra"
        "letter": "A^N B C D^N",  # the Letter experiment
        "context-sensitive": "A^N B^N C^N",
        "natural-language": "(M P)^1 never D",  # Appendix G
        "office": "mail^N empty coffee^N person^N never decoration",  # Appendix F
    }
)
"""Name → language."""
