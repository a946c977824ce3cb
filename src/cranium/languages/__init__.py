"""Tasks as formal languages: compile ``A^N B C^N`` to a machine that accepts exactly its words."""

from cranium.languages.compiler.compile import compile_language, language_class
from cranium.languages.describe import describe
from cranium.languages.enumerate_words import near_misses, shortest_words, words
from cranium.languages.examples import EXAMPLES
from cranium.languages.membership import accepts_labels, is_member
from cranium.languages.parser import parse_language
from cranium.languages.syntax import Language

__all__ = [
    "EXAMPLES",
    "Language",
    "accepts_labels",
    "compile_language",
    "describe",
    "is_member",
    "language_class",
    "near_misses",
    "parse_language",
    "shortest_words",
    "words",
]
