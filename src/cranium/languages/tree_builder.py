"""The syntax tree of a task, built from the parse tree of its text."""

from __future__ import annotations

import re
from typing import Any, NoReturn

from lark import ParseTree, Token, Transformer
from lark.tree import Meta
from lark.visitors import v_args

from cranium.automata.alphabet import RESERVED, check_identifier
from cranium.automata.formula import Formula
from cranium.automata.formula_parser import parse_formula
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

__all__ = ["MAX_DEPTH", "blank_comments", "build_language"]

MAX_DEPTH = 60
MAX_LETTERS = 200
MAX_VARIABLES = 100
MAX_POWERS = 300
MAX_NUMBER = 10_000
KEYWORDS = RESERVED | {"where", "never", "with", "finally", "shuffle"}

_UNSUPPORTED_COMPARISONS = {
    "=": "write == for equal",
    "!=": "write the smaller and the greater values as alternatives",
    "≠": "write the smaller and the greater values as alternatives",
}


def build_language(tree: ParseTree, text: str) -> Language:
    """Convert a parse tree of ``grammar.lark`` into a language.

    Args:
        tree: The parse tree, with the positions of its nodes.
        text: The text that was parsed. Errors show it with a caret below the offending part.
    """
    language: Language = _TreeBuilder(text).transform(tree)
    return language


@v_args(meta=True)
class _TreeBuilder(Transformer[Token, Any]):
    """Lark calls one method for each rule of ``grammar.lark``, children first."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.code = blank_comments(text)

    def fail(self, meta: Meta | Token, message: str, fix: str | None = None) -> NoReturn:
        """Raise a syntax error that points at a node or a token."""
        offset = getattr(meta, "start_pos", 0) or 0
        raise LanguageSyntaxError.pointing(message, self.text, offset, fix=fix)

    def number(self, token: Token) -> int:
        if len(token) > 9 or int(token) > MAX_NUMBER:
            self.fail(token, f"a number is at most {MAX_NUMBER:,}, not {shorten(str(token))}")
        return int(token)

    def name(self, token: Token, kind: str) -> str:
        if token.lower() in KEYWORDS:
            self.fail(token, f"{str(token)!r} is a keyword and cannot be a {kind}")
        try:
            check_identifier(kind, str(token))
        except CraniumError as problem:
            self.fail(token, problem.message)
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
                self.fail_at_name(
                    min(shared),
                    f"interleaved parts share no letters, but both contain {min(shared)!r}",
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
            self.fail(parts[1], f"the range from {low} to {high} is empty", "put the smaller first")
        return Repeat(parts[0], low, high)

    def power(self, meta: Meta, parts: list[Any]) -> Expression:
        body, exponent = parts
        if exponent.factors:
            return Power(body, exponent)
        if exponent.constant < 0:
            self.fail(meta, f"an exponent is 0 or more, not {exponent.constant}")
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

    def plus_sign(self, meta: Meta, parts: list[Token]) -> bool:
        return True

    def minus_sign(self, meta: Meta, parts: list[Token]) -> bool:
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
                self.fail_at_name(
                    name,
                    f"variables of an exponent are added, but {name} is subtracted",
                    "use a sum where the exponent is greater: A^M B^(M+K)",
                    within=(meta.start_pos, meta.end_pos),
                )
        return Linear(tuple((n, f) for n, f in factors.items() if f), constant)

    # Clauses

    def constraint(self, meta: Meta, parts: list[Any]) -> tuple[str, Constraint]:
        left, sign, right = parts
        if sign in _UNSUPPORTED_COMPARISONS:
            self.fail(
                sign,
                f"exponents cannot be compared with {sign}",
                _UNSUPPORTED_COMPARISONS[str(sign)],
            )
        sign = {"≥": ">=", "≤": "<="}.get(str(sign), str(sign))
        if isinstance(left, int):
            if isinstance(right, int):
                self.fail(meta, "a comparison needs a variable", "for example: where N >= 0")
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
            self.fail(Token("NAME", "", start_pos=start), problem.message)
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
                        self.fail(token, f"the letter {name!r} is bound twice")
                    bindings[name] = formula
                case "finally":
                    token, end = value
                    if end in letters_of(expression):
                        self.fail(token, f"the end event {end!r} also occurs before the end")
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
                self.fail_at_name(name, f"{name!r} must never happen, but the task requires it")
        for name, _ in language.bindings:
            if name not in needed and name not in language.never:
                self.fail_at_name(
                    name, f"{name!r} is bound to a formula, but is no letter of the task"
                )

    def _check_variables(self, language: Language) -> None:
        letters, variables = set(language.letters), language.variables
        for name in variables:
            if name in letters:
                self.fail_at_name(
                    name, f"{name!r} is both a letter and an exponent", "rename one of them"
                )
            low, high = language.bounds(name)
            if high is not None and high < low:
                self.fail_at_name(
                    name,
                    f"no value of {name} satisfies its bounds: from {low} to {high}",
                    "a variable is 1 or more, unless a bound says otherwise: where N >= 0",
                )
        for constraint in language.constraints:
            for side in (constraint.left, constraint.right):
                if isinstance(side, str) and side not in variables:
                    known = ", ".join(variables) or "none"
                    self.fail_at_name(side, f"no exponent is called {side!r}", f"known: {known}")

    def fail_at_name(
        self,
        name: str,
        message: str,
        fix: str | None = None,
        within: tuple[int, int] | None = None,
    ) -> NoReturn:
        """Raise a syntax error that points at the last occurrence of a name in the text."""
        whole_name = re.compile(rf"(?<!\w)\d*{re.escape(name)}(?!\w)")
        start, end = within or (0, len(self.code))
        offsets = [match.start() for match in whole_name.finditer(self.code, start, end)]
        token = Token("NAME", name, start_pos=offsets[-1] if offsets else 0)
        self.fail(token, message, fix)


def blank_comments(text: str) -> str:
    r"""Replace comments by spaces, so that the offsets of everything else stay the same.

    Example:
        >>> blank_comments("A # first\nB")
        'A        \nB'
    """
    return re.sub(r"#[^\n]*", lambda comment: " " * len(comment[0]), text)


def _depth(expression: Expression) -> int:
    return 1 + max((_depth(child) for child in children(expression)), default=0)
