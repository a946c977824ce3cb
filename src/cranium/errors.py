"""All error classes of Cranium.

    CraniumError
    ├── AutomatonError                  an invalid machine
    │   ├── UnknownNameError            an undeclared state, proposition, counter or reward
    │   ├── DuplicateNameError          the same name twice
    │   ├── InvalidNameError            a name that is not allowed to be one
    │   ├── NondeterminismError         two transitions enabled together
    │   ├── CounterRuleError            a counter that could go below zero, a vector of wrong length
    │   ├── TerminalStateError          a transition that leaves a terminal state
    │   ├── RewardError                 a reward that is not finite, or not allowed where it stands
    │   └── StaticSilentLoopError       silent transitions that run for ever (a SilentLoopError too)
    ├── RunError                        a run that cannot continue
    │   ├── CounterUnderflowError       a change would take a counter below zero
    │   ├── SilentLoopError             silent transitions repeat a configuration, or pass the limit
    │   ├── UnsettledError              a step from a configuration with silent transitions
    │   ├── NoTransitionError           nothing is enabled and ``otherwise`` is ``"error"``
    │   ├── EpisodeEndedError           a step from a terminal state
    │   └── LabelError                  an invalid label
    ├── TextError                       text that could not be parsed
    │   ├── FormulaSyntaxError
    │   ├── LanguageSyntaxError
    │   ├── WordSyntaxError
    │   └── FileFormatError             a file with the wrong structure, or one too hostile to read
    ├── InvalidArgumentError            an invalid bound, limit or option
    ├── LanguageError                   a language that no deterministic counter machine can follow
    ├── SpaceError                      more configurations or states than fit
    ├── WorldError                      an environment that does not fit its table or task
    ├── ConversionError                 a conversion that has no answer for this machine
    ├── PolicyError                     a policy that was asked about something it never learned
    ├── DrawingError                    a picture that could not be made
    ├── RecordError                     a record of an experiment that is damaged, or missing
    ├── EngineError                     processes or machines that keep disappearing
    ├── EpisodeError                    a recorded episode that is damaged, or cannot be replayed
    ├── AssistError                     a description that did not become a task
    │   ├── ModelError                  a language model that cannot be reached, or does not answer
    │   ├── PlanError                   an answer that is not a plan
    │   ├── TranscriptError             a transcript that is damaged, or lacks a request
    │   └── DisagreementError           no machine that fits the description, examples and checks
    ├── MissingExtraError               a part that needs a package which is not installed
    └── FileAccessError                 a file that could not be read or written

    UnsoundLabelsWarning                (a warning) a label depends on something unobserved
    PersistentEventWarning              (a warning) an event stays true where the task wants moments
    HorizonWarning                      (a warning) nothing says that episodes must end

Every error says which rule was broken and by which value, where (``place``: a file, line and
column, when the machine came from a file) and what to do about it (``fix``).
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from cranium.assist.specification import Verdict
    from cranium.automata.trace import Trace
    from cranium.automata.transition import Transition

DISTRIBUTION = "cranium-rl"
"""The name of the package for pip; it is imported as ``cranium``."""

__all__ = [
    "AssistError",
    "AutomatonError",
    "ConversionError",
    "CounterRuleError",
    "CounterUnderflowError",
    "CraniumError",
    "DisagreementError",
    "DrawingError",
    "DuplicateNameError",
    "EngineError",
    "EpisodeEndedError",
    "EpisodeError",
    "FileAccessError",
    "FileFormatError",
    "FormulaSyntaxError",
    "HorizonWarning",
    "InvalidArgumentError",
    "InvalidNameError",
    "LabelError",
    "LanguageError",
    "LanguageSyntaxError",
    "MissingExtraError",
    "ModelError",
    "NoTransitionError",
    "NondeterminismError",
    "PersistentEventWarning",
    "Place",
    "PlanError",
    "PolicyError",
    "RecordError",
    "RewardError",
    "RunError",
    "SilentLoopError",
    "SpaceError",
    "StaticSilentLoopError",
    "TerminalStateError",
    "TextError",
    "TranscriptError",
    "UnknownNameError",
    "UnsettledError",
    "UnsoundLabelsWarning",
    "WordSyntaxError",
    "WorldError",
]


Path = tuple[str | int, ...]
"""A part of a machine, by the keys of the file format: ``("transitions", 0, "when")``."""


class Place(NamedTuple):
    """A position in a text; line and column count from one.

    Example:
        >>> str(Place(line=12, column=5, file="task.yaml"))
        'task.yaml:12:5'
        >>> str(Place(line=1, column=3))
        'line 1, column 3'
    """

    line: int
    column: int
    file: str | None = None

    def __str__(self) -> str:
        if self.file is None:
            return f"line {self.line}, column {self.column}"
        return f"{self.file}:{self.line}:{self.column}"


class CraniumError(Exception):
    """The root of all errors of this library.

    Attributes:
        message: The rule that was broken and the value that broke it.
        place: Where, if it is known.
        excerpt: The offending line with a caret under the offending column, if there is one.
        fix: What to do about it.
        path: Which part of a machine's definition broke the rule, in the words of the file format,
            such as ``("transitions", 0, "when")``.

    Example:
        >>> print(CraniumError("no such state: 'x'", place=Place(3, 9, "t.yaml"), fix="add it"))
        t.yaml:3:9: no such state: 'x'
          fix: add it
    """

    def __init__(
        self,
        message: str,
        *,
        place: Place | None = None,
        excerpt: str | None = None,
        fix: str | None = None,
        path: Path = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.excerpt = excerpt
        self.fix = fix
        self.path = path

    def __str__(self) -> str:
        head = f"{self.place}: {self.message}" if self.place else self.message
        excerpt = [f"  {line}" for line in (self.excerpt or "").splitlines()]
        fix = [f"  fix: {self.fix}"] if self.fix else []
        return "\n".join([head, *excerpt, *fix])

    def at(self, place: Place | None = None, path: Path = ()) -> Self:
        """Add the place and the path of the error, unless they are already known."""
        self.place = self.place or place
        self.path = self.path or path
        return self


class AutomatonError(CraniumError, ValueError):
    """An invalid machine."""


class UnknownNameError(AutomatonError):
    """A state, proposition, counter or reward function that is not declared."""

    @classmethod
    def of(cls, kind: str, name: object, known: Iterable[str], where: str = "") -> Self:
        """Name the kind of thing, the unknown name, and the nearest known one.

        Example:
            >>> raise UnknownNameError.of("proposition", "cofee", ["coffee", "mail"])
            Traceback (most recent call last):
            cranium.errors.UnknownNameError: no such proposition: 'cofee'
              fix: did you mean 'coffee'? known: coffee, mail
        """
        names = list(known)
        shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
        folded = {known_name.lower(): known_name for known_name in reversed(names)}
        close = difflib.get_close_matches(str(name)[:200].lower(), folded, n=1, cutoff=0.5)
        near = [folded[match] for match in close]
        hint = f"did you mean {near[0]!r}? known: {shown}" if near else f"known: {shown or 'none'}"
        return cls(f"{where}no such {kind}: {shorten(name)}", fix=hint)


class DuplicateNameError(AutomatonError):
    """The same name twice."""


class InvalidNameError(AutomatonError):
    """A name with characters or a length that is not allowed."""


class NondeterminismError(AutomatonError):
    """Two transitions of one state can be enabled together."""


class CounterRuleError(AutomatonError):
    """A counter could be taken below zero, or a vector does not have one entry for each counter."""


class TerminalStateError(AutomatonError):
    """A transition leaves a terminal state, or the machine ends before it begins."""


class RewardError(AutomatonError):
    """A reward is not a finite number, not given, or not allowed where it stands."""


class RunError(CraniumError, RuntimeError):
    """A run that cannot continue.

    Attributes:
        fired: The transitions that fired in the step that could not be finished.
        trace: The run until then, if it was one (a ``Trace``).
    """

    fired: tuple[Transition, ...] = ()
    trace: Trace | None = None


class CounterUnderflowError(RunError):
    """A change would take a counter below zero."""


class SilentLoopError(RunError):
    """Silent transitions repeat a configuration, or exceed the limit."""


class StaticSilentLoopError(AutomatonError, SilentLoopError):
    """Silent transitions that loop for ever, found without running the machine."""


class UnsettledError(RunError):
    """A step from a configuration in which a silent transition is enabled."""


class NoTransitionError(RunError):
    """No transition is enabled and the machine's ``otherwise`` is ``"error"``."""


class EpisodeEndedError(RunError):
    """A step from a terminal state: the episode is over."""


class LabelError(RunError, ValueError):
    """An invalid label: an unknown proposition, or a bit that stands for none."""


class TextError(CraniumError, ValueError):
    """Text that could not be parsed."""

    @classmethod
    def pointing(
        cls,
        message: str,
        text: str,
        offset: int,
        *,
        place: Place | None = None,
        fix: str | None = None,
    ) -> Self:
        """Show the line of ``text`` that holds ``offset``, with a caret under it.

        Example:
            >>> raise FormulaSyntaxError.pointing("expected a name", "A & & B", 4)
            Traceback (most recent call last):
            cranium.errors.FormulaSyntaxError: line 1, column 5: expected a name
              A & & B
                  ^
        """
        start = text.rfind("\n", 0, offset) + 1
        end = text.find("\n", offset)
        line = text[start : end if end >= 0 else len(text)]
        column = offset - start
        # A window around the caret: a line may be a megabyte long.
        left = max(0, column - 60)
        window = line[left : left + 100]
        shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in window)
        excerpt = f"{shown}\n{' ' * (column - left)}^"
        place = place or Place(text.count("\n", 0, start) + 1, column + 1)
        return cls(message, place=place, excerpt=excerpt, fix=fix)


class FormulaSyntaxError(TextError):
    """A guard that is not a formula."""


class LanguageSyntaxError(TextError):
    """A task that is not written in the task language."""


class WordSyntaxError(TextError):
    """A word that is not a sequence of labels."""


class FileFormatError(TextError):
    """A file with the wrong structure, or one too hostile to read."""


class InvalidArgumentError(CraniumError, ValueError):
    """An invalid bound, limit or option."""


class LanguageError(CraniumError, ValueError):
    """A language for which there is no deterministic counter machine of our kind.

    Attributes:
        words: Two words of the language that clash, if they were found.
    """

    words: tuple[tuple[str, ...], ...] = ()


class SpaceError(CraniumError, ValueError):
    """More configurations, states or pairs of both than fit in memory."""


class WorldError(CraniumError, ValueError):
    """An environment that does not fit its table, its task or its labelling."""


class HorizonWarning(UserWarning):
    """Nothing says that the episodes of a product must end: it was made without a horizon.

    An agent that is lost then never starts anew, counters have no limit, and evaluations have to
    cut episodes off (they say where).

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore", HorizonWarning)  # where no horizon is meant
    """


class UnsoundLabelsWarning(UserWarning):
    """A label depends on something unobserved: counterfactual experience would be wrong."""


class PersistentEventWarning(UserWarning):
    """An event stays true for several steps, so that a task which expects single steps fails."""


class ConversionError(CraniumError, ValueError):
    """A conversion that is impossible for this machine."""


class PolicyError(CraniumError, LookupError):
    """A policy was asked about an observation or a configuration that it never learned."""


class DrawingError(CraniumError, ValueError):
    """A picture that could not be made."""


class RecordError(CraniumError, ValueError):
    """A record of an experiment that is damaged, or missing."""


class EngineError(CraniumError, RuntimeError):
    """The processes or machines that run trials keep disappearing."""


class EpisodeError(CraniumError, ValueError):
    """A recorded episode that is damaged, or cannot be replayed."""


class AssistError(CraniumError):
    """A task in words could not be turned into an automaton."""


class ModelError(AssistError, RuntimeError):
    """A language model that cannot be reached, refuses, or does not answer as it should."""


class PlanError(AssistError, ValueError):
    """An answer that is not a plan for a task."""


class TranscriptError(AssistError, ValueError):
    """A transcript that is damaged, or in which a request does not occur."""


class DisagreementError(AssistError, ValueError):
    """No machine was found that the description, the examples and the checks agree on.

    Attributes:
        verdict: The answers of the model and their problems, if there are any.
    """

    verdict: Verdict | None = None


class MissingExtraError(CraniumError, RuntimeError):
    """A part that needs a package which is not installed."""

    @classmethod
    def of(cls, message: str, extra: str, instead: str = "") -> Self:
        """Make the error with the command that installs the optional part, and an alternative.

        Example:
            >>> raise MissingExtraError.of("Parquet needs pyarrow", "parquet")
            Traceback (most recent call last):
            cranium.errors.MissingExtraError: Parquet needs pyarrow
              fix: pip install '.[parquet]' in a clone of Cranium (not on PyPI yet: cranium-rl)
        """
        return cls(message, fix=install_hint(extra, instead))


class FileAccessError(CraniumError, OSError):
    """A file that could not be read or written."""


def install_hint(extra: str, instead: str = "") -> str:
    """Return the command that installs an optional part.

    Example:
        >>> install_hint("ray")
        "pip install '.[ray]' in a clone of Cranium (not on PyPI yet: cranium-rl)"
    """
    here = f"pip install '.[{extra}]' in a clone of Cranium (not on PyPI yet: {DISTRIBUTION})"
    return f"{here}; or {instead}" if instead else here


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun.

    Example:
        >>> format_count(1, "seed"), format_count(2_000, "seed")
        ('1 seed', '2,000 seeds')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def shorten(value: object, limit: int = 60) -> str:
    """Show a value in a message without letting it fill the screen.

    Example:
        >>> shorten("x" * 1000, limit=10)
        "'xxxxxxxx…"
        >>> shorten(10**5000)
        'a number of more than 4,300 digits'
    """
    try:
        text = repr(value[: limit * 2] if isinstance(value, str | bytes) else value)
    except ValueError:  # Python writes none that is longer, alone or in a list
        return f"a number of more than {sys.get_int_max_str_digits():,} digits"
    return text if len(text) <= limit else text[: limit - 1] + "…"
