"""The configs of experiments: frozen dataclasses that can be read from TOML."""

from __future__ import annotations

import json
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import ConfigDict, TypeAdapter, ValidationError

from cranium.arguments import check_count
from cranium.errors import (
    CraniumError,
    DuplicateNameError,
    FileFormatError,
    InvalidArgumentError,
    UnknownNameError,
    shorten,
)
from cranium.experiments.records import Record, Store
from cranium.experiments.trial import Job
from cranium.io import read_text

__all__ = ["ExperimentConfig", "config_to_dict", "load_configs", "make_config", "register"]

MAX_TOML = 16 * 2**10
"""The size limit of TOML files. A key of nothing but dots takes Python's parser a second then."""
MOST_BYTES = 200_000
"""The size limit of ``experiment.json``."""
MOST_TRIALS = 1_000
MOST_TUNING_TRIALS = 100
MOST_COUNTED = 20
"""The limit of N and of the items of mail: worlds and machines grow with them."""
MOST_SAMPLES = 1_000_000_000
VARIANTS = {"paper": "as published", "quick": "quick run"}
"""The words for the variants of an experiment in headings."""


@dataclass(frozen=True)
class ExperimentConfig(ABC):
    """The base class of all configs.

    Attributes:
        trials: The number of seeds: 0, 1, 2, …
        is_quick: Whether :meth:`quick` made the config. Its results have a folder of their own,
            and are labelled as those of a quick run.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")
    name: ClassVar[str]
    title: ClassVar[str]
    place: ClassVar[int]

    trials: int = 1
    is_quick: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        check_limit("trials", self.trials, MOST_TRIALS)

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants of the experiment that it is: keys of ``VARIANTS``."""
        return ("quick",) if self.is_quick else ()

    @property
    def folder(self) -> str:
        """The name of the folder of its records: every variant has its own."""
        return "-".join((self.name, *self.variants))

    @abstractmethod
    def jobs(self, store: Store) -> list[Job]:
        """All jobs that are known so far; later ones may depend on the results in the store."""

    @property
    def heading(self) -> str:
        """The title of the experiment where results are shown."""
        return ", ".join((self.title, *(VARIANTS[each] for each in self.variants)))

    @property
    def measure(self) -> str:
        """The name of the quantity that is summarised."""
        return "samples until solved"

    def value(self, result: Mapping[str, Any]) -> float | None:
        """The value of a result that is summarised; None if the task was not solved."""
        found = result.get("samples")
        return None if found is None else float(found)

    def value_of(self, record: Record) -> float | None:
        """The value of a record that is summarised; None if the task was not solved."""
        return self.value(record.result)

    def require(self) -> None:  # noqa: B027 - most need no extra
        """Raise :class:`~cranium.errors.MissingExtraError` if an extra is not installed."""

    @abstractmethod
    def quick(self) -> Self:
        """A smaller version, to see that it works. It has ``is_quick`` set."""

    @abstractmethod
    def cpu_seconds(self) -> float:
        """An estimate of the CPU time in seconds, from earlier runs."""


_known: dict[str, type[ExperimentConfig]] = {}


def register(kind: type[ExperimentConfig]) -> type[ExperimentConfig]:
    """Register the config class of an experiment by its name."""
    _known[kind.name] = kind
    return kind


def list_experiments() -> Mapping[str, type[ExperimentConfig]]:
    """List the config classes of all experiments by name, in the order of the paper."""
    return {name: _known[name] for name in sorted(_known, key=lambda each: _known[each].place)}


def config_to_dict(config: ExperimentConfig) -> dict[str, Any]:
    """Convert a config to plain data, with the name of its experiment."""
    return {"experiment": config.name, **asdict(config)}


def check_limit(what: str, value: object, most: int) -> int:
    """Return a whole number from 1 to a limit, so that a small file cannot fill the memory.

    Example:
        >>> check_limit("trials", 10**8, MOST_TRIALS)
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: trials is at most 1,000 here, not 100000000
          fix: for more, split the work into several experiments
    """
    found = check_count(what, value)
    if found > most:
        raise InvalidArgumentError(
            f"{what} is at most {most:,} here, not {shorten(found)}",
            fix="for more, split the work into several experiments",
        )
    return found


def make_config(name: str, settings: Mapping[str, Any], where: str = "") -> ExperimentConfig:
    """Make the config of an experiment from plain data, which may come from a file.

    Example:
        >>> import cranium.experiments
        >>> make_config("complexity", {"most": 10}).most
        10
        >>> make_config("complexity", {"mots": 10})
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: mots of complexity: unexpected keyword argument
          fix: known: trials, is_quick, most
    """
    if not isinstance(name, str) or name not in _known:
        raise UnknownNameError.of("experiment", name, _known, where)
    kind = _known[name]
    try:
        # As JSON, so that an array becomes a tuple, and no other type is converted.
        return TypeAdapter(kind).validate_json(json.dumps({**settings}, default=str), strict=True)
    except RecursionError:
        raise InvalidArgumentError(f"{where}the settings of {name} are nested too deep") from None
    except ValidationError as problem:
        first = problem.errors()[0]
        refused = first.get("ctx", {}).get("error")
        if isinstance(refused, CraniumError):
            raise type(refused)(where + refused.message, fix=refused.fix) from None
        place = ".".join(str(each) for each in first["loc"])
        said = first["msg"][0].lower() + first["msg"][1:]
        fix = None
        if first["type"] == "unexpected_keyword_argument":
            fix = f"known: {', '.join(each.name for each in fields(kind))}"
        else:
            said += f", not {shorten(first['input'])}"
        raise InvalidArgumentError(f"{where}{place} of {name}: {said}", fix=fix) from None
    except ValueError:  # Python writes none of thousands of digits; TOML can, in other bases
        raise InvalidArgumentError(f"{where}a number of {name} is too long") from None


def load_configs(path: Path) -> list[ExperimentConfig]:
    r"""Read the experiments of a TOML file: one table for each.

    Example:
        >>> import cranium.experiments, tempfile
        >>> path = Path(tempfile.mkdtemp()) / "mine.toml"
        >>> _ = path.write_text("[letter]\ntrials = 3\ntimes = [1, 2]\n")
        >>> load_configs(path)[0].times
        (1, 2)
    """
    text = read_text(path, most=MAX_TOML, follow_links=False)
    try:
        told = tomllib.loads(text)
    except (ValueError, RecursionError) as problem:  # not TOML
        raise FileFormatError(f"{path} is not TOML: {problem}") from None
    for name, table in told.items():
        if not isinstance(table, dict):
            raise FileFormatError(
                f"{path}: {name} stands outside of a table",
                fix="begin a table for each experiment, such as [letter]",
            )
    if not told:
        raise FileFormatError(f"{path} names no experiment", fix="begin a table such as [letter]")
    return [make_config(name, table, f"{path}: ") for name, table in told.items()]


def check_names(what: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Refuse unknown names, a name twice, and an empty list."""
    names = list(given)
    if not names:
        raise InvalidArgumentError(f"no {what} is named", fix=f"known: {', '.join(known)}")
    for name in names:
        if name not in known:
            raise UnknownNameError.of(what, name, known)
        if names.count(name) > 1:  # its trials would count as twice as many
            raise DuplicateNameError(f"the {what} {name!r} is named twice")
