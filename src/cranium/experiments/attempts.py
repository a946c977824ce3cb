"""The attempts at each trial: what is tried again, and what becomes of trials that are lost.

A trial is lost if its process crashed or was killed, or if the machine was at fault. It is tried
again. If it is lost each time, it depends on the reason: a trial that ends its process is recorded
as failed, and the others go on; one that is lost by a fault of the machine has no result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Literal, NamedTuple, NoReturn

from cranium.errors import EngineError
from cranium.experiments.records import Record, collect_versions
from cranium.experiments.trial import FunctionTrial, Job

__all__ = ["HOPELESS", "TRIES", "Attempts", "Loss", "make_lost_error"]

TRIES = 3
"""How often a job is tried if its process or machine disappears."""
HOPELESS = 5
"""After so many lost jobs in a row the engine gives up, or sees whether anything can be run."""
PROBE = Job(
    FunctionTrial("probe", "probe", "", function="builtins:dict", settings={"is_probe": True}), 0
)
"""A job that succeeds on every machine that works. Its record is not kept."""


class Loss(NamedTuple):
    """Why there is no record of a job.

    Attributes:
        kind: ``"crashed"``: its process ended by itself; ``"killed"``: something else ended it,
            such as a lack of memory; ``"fault"``: the machine was at fault; ``"over"``: it was
            ended, because it went over a limit.
        reason: The same in words.
        wall: For how many seconds it ran, if that is known.
        cpu: The CPU time that it used, if that is known.
    """

    kind: Literal["crashed", "killed", "fault", "over"]
    reason: str
    wall: float = 0.0
    cpu: float = 0.0


Ended = list[tuple[Job, Record]]


class Attempts:
    """The jobs of a run: which is next, how often each was lost, and what is recorded.

    Args:
        jobs: The jobs. Each is run once, however often it is given. One is taken from here only
            when it is asked for, because other processes may be running the rest.

    Example:
        >>> job = Job(FunctionTrial("sizes", "CRA", "N = 5", function="builtins:dict"), 0)
        >>> attempts = Attempts([job])
        >>> for _ in range(TRIES):
        ...     found = attempts.end(attempts.take(), Loss("fault", "no space left"))
        >>> list(attempts.finish())
        Traceback (most recent call last):
        cranium.errors.EngineError: 1 trial was lost 3 times: CRA, N = 5, seed 0 (no space left)
          fix: the same command tries again what is missing; if memory is short, with fewer workers
        >>> attempts = Attempts([job])
        >>> for _ in range(TRIES):
        ...     found = attempts.end(attempts.take(), Loss("crashed", "its process crashed"))
        >>> [(_, record)] = attempts.finish()
        >>> record.status, record.error, len(record.tries)
        ('failed', 'lost 3 times: its process crashed', 2)
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        self.waiting = _skip_duplicates(jobs)
        self.again = deque[Job]()
        self.reasons: dict[Job, list[str]] = {}
        self.crashed: dict[Job, Loss] = {}
        self.lost: dict[Job, str] = {}
        self.in_a_row: list[Loss] = []
        self.is_probing = False

    def take(self) -> Job | None:
        """The next job, if there is one now."""
        return self.again.popleft() if self.again else next(self.waiting, None)

    def put_back(self, job: Job) -> None:
        """Run a job again without counting it: its attempt had not begun, or was not its own."""
        self.again.append(job)

    def end(self, job: Job, found: Record | Loss) -> Ended:
        """Note how an attempt at a job ended; returns the records that are known by now.

        Raises:
            EngineError: ``HOPELESS`` jobs in a row were lost, and nothing else can be run.
        """
        if isinstance(found, Record):
            self.in_a_row.clear()
            ended = self._fail_crashed()
            if job == PROBE:
                self.is_probing = False
                return ended
            tries = tuple(self.reasons.pop(job, ()))
            return [*ended, (job, replace(found, tries=tries) if tries else found)]
        if found.kind == "over":
            return [(job, _make_failure(job, found, self.reasons.pop(job, []), found.reason))]
        self._lose(job, found)
        return []

    def finish(self) -> Iterator[tuple[Job, Record]]:
        """Yield the records of what crashed, when nothing is left to run.

        Raises:
            EngineError: Jobs were lost by faults of the machine. It comes last.
        """
        yield from self._fail_crashed()
        if self.lost:
            raise make_lost_error(self.lost)

    def _lose(self, job: Job, loss: Loss) -> None:
        reasons = self.reasons.setdefault(job, [])
        reasons.append(loss.reason)
        if len(reasons) < TRIES:
            self.again.append(job)
            return
        if job == PROBE:
            self._give_up()
        self.in_a_row.append(loss)
        if loss.kind == "fault":
            self.lost[job] = loss.reason
        else:
            self.crashed[job] = loss
        if len(self.in_a_row) >= HOPELESS and not self.is_probing:
            if any(each.kind != "crashed" for each in self.in_a_row):
                self._give_up()
            # Perhaps these trials end every process, and perhaps nothing can be run here.
            self.is_probing = True
            self.reasons.pop(PROBE, None)
            self.again.appendleft(PROBE)

    def _give_up(self) -> NoReturn:
        crashed = {job: loss.reason for job, loss in self.crashed.items()}
        raise make_lost_error({**self.lost, **crashed})

    def _fail_crashed(self) -> Ended:
        """The records of the jobs that crashed each time, although the machine can run jobs."""
        found = []
        for job, loss in self.crashed.items():
            *earlier, last = self.reasons.pop(job)
            found.append((job, _make_failure(job, loss, earlier, f"lost {TRIES} times: {last}")))
        self.crashed.clear()
        return found


def _make_failure(job: Job, loss: Loss, earlier: Iterable[str], error: str) -> Record:
    versions, machine = collect_versions()
    return Record(
        config=job.trial.data,
        key=job.trial.key,
        seed=job.seed,
        status="failed",
        result={},
        error=error,
        wall=round(loss.wall, 6),
        cpu=round(loss.cpu, 6),
        versions=versions,
        platform=machine,
        tries=tuple(earlier),
    )


def make_lost_error(lost: Mapping[Job, str]) -> EngineError:
    """Make the error that lists the lost jobs and the last reason."""
    names = [f"{job.trial.method}, {job.trial.case}, seed {job.seed}" for job in lost]
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    reasons = [" ".join(each.split())[:300] for each in lost.values() if each]
    reason = f" ({reasons[-1]})" if reasons else ""
    were = f"{len(names):,} trials were" if len(names) > 1 else "1 trial was"
    return EngineError(
        f"{were} lost {TRIES} times: {'; '.join(names[:5])}{more}{reason}",
        fix="the same command tries again what is missing; if memory is short, with fewer workers",
    )


def _skip_duplicates(jobs: Iterable[Job]) -> Generator[Job, None, None]:
    """Yield each job once, and only when the next one is asked for."""
    seen = set[Job]()
    for job in jobs:
        if job not in seen:
            seen.add(job)
            yield job
