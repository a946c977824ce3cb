"""The machines of the paper, and two that no pushdown automaton could replace.

| name | language or task | in the paper |
|---|---|---|
| ``anbcn`` | A^N B C^N | Figure "ccra", the running example |
| ``anbcdn`` | A^N B C D^N | the Letter experiment, Figure "letter-res" |
| ``office`` | N mail, mail room empty, N coffees, N deliveries | Appendix F |
| ``mail-delivery`` | mail, then a person, never a decoration | Figure "llm", Appendix G |
| ``office-deliver`` | N mail, mail room empty, N deliveries | (the office, our own) |
| ``power-of-two`` | A^(2^N) B | Turing power (Compatible Reward Functions) |
| ``square`` | A^N B^(N·N) | Turing power (Compatible Reward Functions) |
| ``point-visit`` | A, then B | (PointWorld, our own) |
| ``point-deliver`` | N mail, mail room empty, N deliveries | (PointWorld, our own) |
| ``craft-plank`` … ``craft-gem`` | the ten usual crafting tasks | (CraftWorld, Andreas et al.) |
| ``craft-planks`` | N wood, none left, N planks, the workbench | (CraftWorld, our own) |
| ``craft-planks-and-cloths`` | as many planks as wood, cloths as grass | (CraftWorld, our own) |
| ``water-red-green`` | red, then green | (WaterWorld, the literature) |
| ``water-blue-cyan`` | blue, then cyan | (WaterWorld, the literature) |
| ``water-both`` | both of these, in any interleaving | (WaterWorld, the literature) |
| ``water-strict`` | red, green, blue, and no other touch | (WaterWorld, the literature) |
| ``water-balance`` | as many reds as blues, then green | (WaterWorld, our own) |
| ``water-repay`` | red^N yellow blue^N | (WaterWorld, our own) |
"""

from __future__ import annotations

from functools import cache
from importlib import resources

from cranium.automata.automaton import CountingRewardAutomaton
from cranium.errors import UnknownNameError
from cranium.formats.files import loads

__all__ = ["load", "names", "text"]


@cache
def names() -> tuple[str, ...]:
    """Return the names of the shipped machines.

    Example:
        >>> names()[:2]
        ('anbcdn', 'anbcn')
    """
    files = resources.files(__name__).iterdir()
    return tuple(sorted(f.name.removesuffix(".yaml") for f in files if f.name.endswith(".yaml")))


def text(name: str) -> str:
    """Return the file of a shipped machine, with its comments.

    Example:
        >>> text("anbcn").splitlines()[0]
        '# Figure "ccra", the running example of the paper: A^N B C^N in LetterEnv.'
    """
    if name not in names():
        raise UnknownNameError.of("machine in the library", name, names())
    return (resources.files(__name__) / f"{name}.yaml").read_text(encoding="utf-8")


@cache
def load(name: str) -> CountingRewardAutomaton:
    """Load a shipped machine by its name.

    Example:
        >>> load("anbcn").run("A A B C C").accepted
        True
    """
    return loads(text(name), file=f"library:{name}")
