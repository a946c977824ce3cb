"""The configs of the paper's experiments: frozen dataclasses that can be read from TOML."""

from __future__ import annotations

import json
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

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
from cranium.experiments.local_engine import Engine
from cranium.experiments.records import Store
from cranium.experiments.results import StudyResults
from cranium.experiments.runner import RunCallback, RunResult
from cranium.experiments.trial import Job
from cranium.io import read_text
from cranium.studies import JointStudy
from cranium.studies.joint import Part

__all__ = [
    "ExperimentConfig",
    "config_to_dict",
    "list_experiments",
    "load_configs",
    "make_config",
    "read_config",
    "register",
    "run",
]

MAX_TOML = 16 * 2**10
"""The size limit of TOML files. A key of nothing but dots takes Python's parser a second then."""
MOST_TRIALS = 1_000
MOST_TUNING_TRIALS = 100
MOST_COUNTED = 20
"""The limit of N and of the items of mail: worlds and machines grow with them."""
MOST_SAMPLES = 1_000_000_000
VARIANTS = {"paper": "as published"}
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
        """The variants of the experiment that it is, quick or not: keys of ``VARIANTS``."""
        return ()

    @property
    def figure(self) -> str:
        """The name of its figure."""
        return "-".join((self.name, *self.variants))

    @property
    def folder(self) -> str:
        """The name of the folder of its records: every variant has its own."""
        return f"{self.figure}-quick" if self.is_quick else self.figure

    @property
    def heading(self) -> str:
        """The title of the experiment where results are shown."""
        words = [self.title, *(VARIANTS[each] for each in self.variants)]
        return ", ".join([*words, "quick run"] if self.is_quick else words)

    @abstractmethod
    def study(self) -> JointStudy:
        """The study with these settings."""

    def jobs(self, store: Store) -> list[Job]:
        """All jobs that are known so far; later ones may depend on the results in the store."""
        return self.study().jobs(store)

    def join(
        self,
        parts: Sequence[Part] | Callable[[Store], Sequence[Part]],
        *,
        measure: str = "samples_to_solve",
        **more: Any,
    ) -> JointStudy:
        """The study that consists of these parts, with a title and options of this config."""
        names = ("measure_field", "lower_is_better", "steps")
        told = {name: more.pop(name) for name in names if name in more}
        options = json.loads(json.dumps(asdict(self)))
        shown = {
            "title": self.title,
            "variants": tuple(VARIANTS[each] for each in self.variants),
            "figure": self.figure,
            "place": self.place,
            "options": options,
            "command": "cranium reproduce",
            **more,
        }
        return JointStudy(
            self.name,
            parts if callable(parts) else lambda _: parts,
            measure=measure,
            seeds=self.trials,
            is_quick=self.is_quick,
            shown=shown,
            **told,
        )

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
        >>> import cranium.paper
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


Config = TypeVar("Config", bound=ExperimentConfig)


def read_config(study: StudyResults, kind: type[Config]) -> Config:
    """The settings of a study as its manifest has them, without those that are not known any more.

    Raises:
        FileFormatError: It is a study of something else.
    """
    manifest, known = study.config, {each.name for each in fields(kind)}
    if manifest.study != kind.name:
        raise FileFormatError(f"{study.folder} holds {shorten(manifest.study)}, not {kind.name}")
    told = {name: value for name, value in manifest.options.items() if name in known}
    found = make_config(kind.name, told, f"{study.folder}: ")
    assert isinstance(found, kind)
    return found


def load_configs(path: Path) -> list[ExperimentConfig]:
    r"""Read the experiments of a TOML file: one table for each.

    Example:
        >>> import cranium.paper, tempfile
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


def run(
    config: ExperimentConfig,
    folder: Path,
    engine: Engine,
    *,
    retry_failed: bool = False,
    callback: RunCallback | None = None,
) -> RunResult:
    """Run the trials of an experiment that have no record yet, and write each record at once.

    Ctrl-C, or the end of this process, loses only the trials that are running.

    A folder belongs to one experiment. A later run may extend it with more trials or methods.
    Settings that would drop some of its results are refused, so that no run overwrites another.

    Args:
        config: The experiment.
        folder: The folder of the records.
        engine: The engine that runs the trials.
        retry_failed: Whether trials that failed are tried again.
        callback: Hooks that are called while it runs.

    Example:
        >>> import tempfile
        >>> from cranium.experiments import LocalEngine
        >>> from cranium.paper import ComplexityConfig
        >>> folder = Path(tempfile.mkdtemp())
        >>> run(ComplexityConfig(most=2), folder, LocalEngine(1)).ran
        18
        >>> run(ComplexityConfig(most=2), folder, LocalEngine(1)).ran
        0
        >>> run(ComplexityConfig(most=1), folder, LocalEngine(1))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        cranium.errors.InvalidArgumentError: ... holds complexity with other settings (most: 2, ...
    """
    study = config.study()
    return study.run(folder, engine, retry_failed=retry_failed, callback=callback)
