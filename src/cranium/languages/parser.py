"""The parser of the task language, whose errors point at the text."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from importlib import resources
from typing import Any, NoReturn

from lark import Lark, Token, Transformer, UnexpectedInput
from lark.exceptions import VisitError
from lark.tree import Meta
from lark.visitors import v_args

from cranium.automata.alphabet import RESERVED, check_identifier
from cranium.automata.formula import Formula
from cranium.automata.formula_parser import explain, parse_formula
from cranium.errors import CraniumError, FormulaSyntaxError, LanguageSyntaxError, shorten
from cranium.languages.syntax import (
    Both,
    Choice,
    Constraint,
    Expression,
    Language,
    Letter,
    Linear,
    Power,
    Repeat,
    Sequence,
    Shuffle,
    children,
    letters_of,
    variables_of,
    walk,
)

__all__ = ["as_language", "parse_language"]

MAX_TEXT = 20_000
MAX_DEPTH = 60
MAX_LETTERS = 200
MAX_VARIABLES = 100
MAX_POWERS = 300
MAX_NUMBER = 10_000
KEYWORDS = RESERVED | {"where", "never", "with", "finally", "shuffle"}

_SAID = {
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

_NO_COMPARISONS = {
    "=": "write == for equal",
    "!=": "write the smaller and the greater values as alternatives",
    "≠": "write the smaller and the greater values as alternatives",
}


def parse_language(text: str) -> Language:
    """Read a task that is written as a formal language.

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
        language: Language = _Builder(text).transform(_parser()(text))
    except UnexpectedInput as problem:
        _refuse(problem, text)
    except VisitError as problem:
        if isinstance(problem.orig_exc, CraniumError):
            raise problem.orig_exc from None
        if isinstance(problem.orig_exc, RecursionError):
            raise _too_deep() from None
        raise
    except RecursionError:
        raise _too_deep() from None
    return language


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
def _parser() -> Callable[[str], Any]:
    grammar = (resources.files(__package__) / "grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", propagate_positions=True).parse


def _refuse(problem: UnexpectedInput, text: str) -> NoReturn:
    wanted = getattr(problem, "accepts", None) or getattr(problem, "allowed", None) or set()
    numbers = {"NAME": "a variable"} if "INT" in wanted else {}
    said, offset = explain(problem, text, {**_SAID, **numbers})
    offset = min(offset, len(_without_comments(text).rstrip()))  # the end is where the task ends
    raise LanguageSyntaxError.pointing(f"a task expects {said}", text, offset) from None


@v_args(meta=True)
class _Builder(Transformer[Token, Any]):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.code = _without_comments(text)

    def refuse(self, meta: Meta | Token, message: str, fix: str | None = None) -> NoReturn:
        offset = getattr(meta, "start_pos", 0) or 0
        raise LanguageSyntaxError.pointing(message, self.text, offset, fix=fix)

    def number(self, token: Token) -> int:
        if len(token) > 9 or int(token) > MAX_NUMBER:
            self.refuse(token, f"a number is at most {MAX_NUMBER:,}, not {shorten(str(token))}")
        return int(token)

    def name(self, token: Token, kind: str) -> str:
        if token.lower() in KEYWORDS:
            self.refuse(token, f"{str(token)!r} is a word of the language, and cannot be a {kind}")
        try:
            check_identifier(kind, str(token))
        except CraniumError as problem:
            self.refuse(token, problem.message)
        return str(token)

    # Expressions

    def letter(self, meta: Meta, parts: list[Token]) -> Expression:
        return Letter(self.name(parts[0], "letter"))

    def sequence(self, meta: Meta, parts: list[Expression]) -> Expression:
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def choice(self, meta: Meta, parts: list[Expression]) -> Expression:
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def both(self, meta: Meta, parts: list[Expression]) -> Expression:
        return parts[0] if len(parts) == 1 else Both(tuple(parts))

    def shuffle(self, meta: Meta, parts: list[Expression]) -> Expression:
        if len(parts) == 1:
            return parts[0]
        seen: set[str] = set()
        for part in parts:
            shared = seen & set(letters_of(part))
            if shared:
                self._point_at(
                    min(shared),
                    f"tasks done side by side share no letters, but both have {min(shared)!r}",
                    "write the interleavings that you mean as alternatives",
                    within=(meta.start_pos, meta.end_pos),
                )
            seen |= set(letters_of(part))
        return Shuffle(tuple(parts))

    def star(self, meta: Meta, parts: list[Expression]) -> Expression:
        return Repeat(parts[0], 0, None)

    def plus(self, meta: Meta, parts: list[Expression]) -> Expression:
        return Repeat(parts[0], 1, None)

    def option(self, meta: Meta, parts: list[Expression]) -> Expression:
        return Repeat(parts[0], 0, 1)

    def exactly(self, meta: Meta, parts: list[Any]) -> Expression:
        count = self.number(parts[1])
        return Repeat(parts[0], count, count)

    def at_least(self, meta: Meta, parts: list[Any]) -> Expression:
        return Repeat(parts[0], self.number(parts[1]), None)

    def between(self, meta: Meta, parts: list[Any]) -> Expression:
        low, high = self.number(parts[1]), self.number(parts[2])
        if low > high:
            self.refuse(parts[1], f"from {low} to {high} times is never", "put the smaller first")
        return Repeat(parts[0], low, high)

    def power(self, meta: Meta, parts: list[Any]) -> Expression:
        body, exponent = parts
        if exponent.factors:
            return Power(body, exponent)
        if exponent.constant < 0:
            self.refuse(meta, f"an exponent is 0 or more, not {exponent.constant}")
        return Repeat(body, exponent.constant, exponent.constant)

    # Exponents

    def constant(self, meta: Meta, parts: list[Token]) -> int:
        return self.number(parts[0])

    def variable(self, meta: Meta, parts: list[Token]) -> str:
        return self.name(parts[0], "variable")

    def scaled(self, meta: Meta, parts: list[Token]) -> tuple[str, int]:
        if len(parts) == 2:
            return self.name(parts[1], "variable"), self.number(parts[0])
        token = parts[0]
        digits = len(token) - len(token.lstrip("0123456789"))
        factor = Token("INT", token[:digits], start_pos=token.start_pos)
        name = Token("NAME", token[digits:], start_pos=(token.start_pos or 0) + digits)
        return self.name(name, "variable"), self.number(factor)

    def added(self, meta: Meta, parts: list[Token]) -> bool:
        return True

    def taken_away(self, meta: Meta, parts: list[Token]) -> bool:
        return False

    def exponent(self, meta: Meta, parts: list[Any]) -> Linear:
        factors: dict[str, int] = {}
        constant, sign = 0, 1
        for child in parts:
            if isinstance(child, bool):
                sign = 1 if child else -1
            elif isinstance(child, int):
                constant += sign * child
            else:
                name, factor = (child, 1) if isinstance(child, str) else child
                factors[name] = factors.get(name, 0) + sign * factor
        for name, factor in factors.items():
            if factor < 0:
                self._point_at(
                    name,
                    f"a variable in an exponent is added, but {name} is taken away",
                    "use a sum where the exponent is greater: A^M B^(M+K)",
                    within=(meta.start_pos, meta.end_pos),
                )
        return Linear(tuple((n, f) for n, f in factors.items() if f), constant)

    # Clauses

    def constraint(self, meta: Meta, parts: list[Any]) -> tuple[str, Constraint]:
        left, sign, right = parts
        if sign in _NO_COMPARISONS:
            self.refuse(sign, f"exponents are not compared with {sign}", _NO_COMPARISONS[str(sign)])
        sign = {"≥": ">=", "≤": "<="}.get(str(sign), str(sign))
        if isinstance(left, int):
            if isinstance(right, int):
                self.refuse(meta, "a comparison has a variable", "for example: where N >= 0")
            mirrored = {">": "<", "<": ">", ">=": "<=", "<=": ">=", "==": "=="}
            left, sign, right = right, mirrored[sign], left
        return "where", Constraint(left, sign, right)

    def where(self, meta: Meta, parts: list[Any]) -> list[tuple[str, Any]]:
        return parts

    def never(self, meta: Meta, parts: list[Token]) -> list[tuple[str, Any]]:
        return [("never", self.name(token, "letter")) for token in parts]

    def with_(self, meta: Meta, parts: list[Any]) -> list[tuple[str, Any]]:
        return parts

    def finally_(self, meta: Meta, parts: list[Token]) -> list[tuple[str, Any]]:
        return [("finally", (parts[0], self.name(parts[0], "letter")))]

    def binding(self, meta: Meta, parts: list[Any]) -> tuple[str, Any]:
        token, (start, end) = parts
        try:
            formula = parse_formula(self.code[start:end])
        except FormulaSyntaxError as problem:
            self.refuse(Token("NAME", "", start_pos=start), problem.message)
        return "with", (token, self.name(token, "letter"), formula)

    def formula(self, meta: Meta, parts: list[Any]) -> tuple[int, int]:
        return meta.start_pos, meta.end_pos

    def start(self, meta: Meta, parts: list[Any]) -> Language:
        expression, *clauses = parts
        never: list[str] = []
        constraints: list[Constraint] = []
        bindings: dict[str, Formula] = {}
        for kind, value in (item for clause in clauses for item in clause):
            match kind:
                case "where":
                    constraints.append(value)
                case "never":
                    never.append(value)
                case "with":
                    token, name, formula = value
                    if name in bindings:
                        self.refuse(token, f"the letter {name!r} is bound twice")
                    bindings[name] = formula
                case "finally":
                    token, end = value
                    if end in letters_of(expression):
                        self.refuse(token, f"the end event {end!r} happens before the end, too")
                    expression = Sequence((expression, Letter(end)))
        return self._language(expression, constraints, never, bindings)

    def _language(
        self,
        expression: Expression,
        constraints: list[Constraint],
        never: list[str],
        bindings: dict[str, Formula],
    ) -> Language:
        letters, variables = letters_of(expression), variables_of(expression)
        if len(letters) > MAX_LETTERS:
            raise LanguageSyntaxError(
                f"a language may have {MAX_LETTERS} letters, this has {len(letters)}"
            )
        if len(variables) > MAX_VARIABLES:
            raise LanguageSyntaxError(
                f"a language may have {MAX_VARIABLES} exponents, this has {len(variables)}"
            )
        powers = sum(isinstance(node, Power) for node in walk(expression))
        if powers > MAX_POWERS:
            raise LanguageSyntaxError(
                f"a language may use exponents {MAX_POWERS} times, this does so {powers:,} times"
            )
        language = Language(
            expression,
            tuple(constraints),
            tuple(dict.fromkeys(never)),
            tuple(bindings.items()),
            self.text,
        )
        if _depth(expression) > MAX_DEPTH:
            raise LanguageSyntaxError(f"nested more than {MAX_DEPTH} deep")
        self._check_letters(language)
        self._check_variables(language)
        return language

    def _check_letters(self, language: Language) -> None:
        needed = set(letters_of(language.expression))
        for name in language.never:
            if name in needed:
                self._point_at(name, f"{name!r} must never happen, but the task needs it")
        for name, _ in language.bindings:
            if name not in needed and name not in language.never:
                self._point_at(name, f"{name!r} is bound to a formula, but no letter of the task")

    def _check_variables(self, language: Language) -> None:
        letters, variables = set(language.letters), language.variables
        for name in variables:
            if name in letters:
                self._point_at(name, f"{name!r} is a letter and an exponent", "rename one of them")
            low, high = language.bounds(name)
            if high is not None and high < low:
                self._point_at(
                    name,
                    f"{name} would be from {low} to {high}: there is none",
                    "a variable is 1 or more, unless a bound says otherwise: where N >= 0",
                )
        for constraint in language.constraints:
            for side in (constraint.left, constraint.right):
                if isinstance(side, str) and side not in variables:
                    known = ", ".join(variables) or "none"
                    self._point_at(side, f"no exponent is called {side!r}", f"known: {known}")

    def _point_at(
        self,
        name: str,
        message: str,
        fix: str | None = None,
        within: tuple[int, int] = (0, MAX_TEXT),
    ) -> NoReturn:
        whole = re.compile(rf"(?<!\w)\d*{re.escape(name)}(?!\w)")
        places = [match.start() for match in whole.finditer(self.code, *within)]
        token = Token("NAME", name, start_pos=places[-1] if places else 0)
        self.refuse(token, message, fix)


def _without_comments(text: str) -> str:
    """The text with blanks for its comments, so that everything else stays where it is."""
    return re.sub(r"#[^\n]*", lambda comment: " " * len(comment[0]), text)


def _depth(expression: Expression) -> int:
    return 1 + max((_depth(child) for child in children(expression)), default=0)
