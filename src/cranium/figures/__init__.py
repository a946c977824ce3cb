"""Pictures of what was learned."""

from cranium.figures.curves import draw_curves

__all__ = ["draw_curves"]
