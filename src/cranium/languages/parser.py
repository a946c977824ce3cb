"""The parser of the task language: from text to a syntax tree. Errors show where in the text."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import resources
from typing import NoReturn

from lark import Lark, ParseTree, UnexpectedInput
from lark.exceptions import VisitError

from cranium.automata.formula_parser import explain
from cranium.errors import CraniumError, LanguageSyntaxError, shorten
from cranium.languages.syntax import Language
from cranium.languages.tree_builder import MAX_DEPTH, blank_comments, build_language

__all__ = ["as_language", "parse_language"]

MAX_TEXT = 20_000

_TERMINAL_NAMES = {
    "NAME": "a letter",
    "LPAR": "'('",
    "RPAR": "')'",
    "INT": "a number",
    "SCALED": "a factor and a variable such as 2N",
    "STAR": "'*'",
    "PLUS": "'+'",
    "QMARK": "'?'",
    "CIRCUMFLEX": "'^'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "COMMA": "','",
    "VBAR": "'|'",
    "AMPERSAND": "'&'",
    "COMPARISON": "a comparison such as >=",
    "EQUAL": "'='",
    "MINUS": "'-'",
    "BANG": "'!'",
    "WHERE": "where",
    "NEVER": "never",
    "WITH": "with",
    "FINALLY": "finally",
    "$END": "the end",
}


def parse_language(text: str) -> Language:
    """Parse a task that is written as a formal language.

    Example:
        >>> language = parse_language("A^N B C^N never D")
        >>> language.letters, language.variables
        (('A', 'B', 'C', 'D'), ('N',))
        >>> parse_language("A^N ) B")
        Traceback (most recent call last):
        cranium.errors.LanguageSyntaxError: line 1, column 5: a task expects where, never, with,
        finally or the end here, not ')'
          A^N ) B
              ^
    """
    if not isinstance(text, str):
        raise LanguageSyntaxError(f"a language is text, not {shorten(text)}")
    if len(text) > MAX_TEXT:
        raise LanguageSyntaxError(
            f"a language may have {MAX_TEXT:,} characters, this has {len(text):,}"
        )
    try:
        return build_language(_parser()(text), text)
    except UnexpectedInput as problem:
        _raise_syntax_error(problem, text)
    except VisitError as problem:
        if isinstance(problem.orig_exc, CraniumError):
            raise problem.orig_exc from None
        if isinstance(problem.orig_exc, RecursionError):
            raise _too_deep() from None
        raise
    except RecursionError:
        raise _too_deep() from None


def _too_deep() -> LanguageSyntaxError:
    return LanguageSyntaxError(
        f"nested more than {MAX_DEPTH} deep", fix="use fewer parentheses, and fewer of * + ? {} ^"
    )


def as_language(language: str | Language) -> Language:
    """Return a language that is given as text or already parsed.

    Example:
        >>> as_language("A B").letters
        ('A', 'B')
    """
    return language if isinstance(language, Language) else parse_language(language)


@lru_cache(maxsize=1)
def _parser() -> Callable[[str], ParseTree]:
    grammar = (resources.files(__package__) / "grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", propagate_positions=True).parse


def _raise_syntax_error(problem: UnexpectedInput, text: str) -> NoReturn:
    """Raise an error that names the tokens that the grammar allows instead."""
    allowed = getattr(problem, "accepts", None) or getattr(problem, "allowed", None) or set()
    in_exponent = {"NAME": "a variable"} if "INT" in allowed else {}
    expected, offset = explain(problem, text, {**_TERMINAL_NAMES, **in_exponent})
    offset = min(offset, len(blank_comments(text).rstrip()))  # no caret below a final comment
    raise LanguageSyntaxError.pointing(f"a task expects {expected}", text, offset) from None
