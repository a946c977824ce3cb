"""Does any file or text, however it was changed, end in anything but a result or an error of ours?

Real inputs of every reader are changed at random, and read in worker processes with limits of CPU
time and memory for each input. Counted are errors that are not of :mod:`cranium.errors`, inputs
that take more than 10 s, inputs that take more than 2 GB, and inputs that only wait; each is kept
in ``out/fuzz``. An input that was too slow is read once more, alone, before it is counted: where a
machine is shared, CPU time stretches, too. The same seed makes the same inputs. Ctrl-C or SIGTERM
ends it and shows what was found so far. ``make fuzz`` runs this.
"""

from __future__ import annotations

import contextlib
import gc
import mmap
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

from running import OUT, parse, parser_of, write

SECONDS = 10
GIGABYTES = 2
MERCY = 5
"""After so many more seconds of CPU time an input that does not even notice is killed."""
PATIENCE = 120
"""An input that is not read after so many seconds by the clock waits for something that never
comes: a busy machine is slow, but CPU time alone would let such an input hang us for good."""
BATCH = 50
KEPT = 20
"""How many inputs of each kind of failure are kept."""
UNTYPED, SLOW, LARGE, WAITS, CRASH = "untyped", "over 10 s", "over 2 GB", "waits", "crash"
KINDS = (UNTYPED, SLOW, LARGE, WAITS, CRASH)


class OverTime(BaseException):
    """An input took its seconds: no error that a reader may catch."""


class Failure(NamedTuple):
    """What went wrong with an input."""

    kind: str
    name: str
    number: int
    said: str


class Result(NamedTuple):
    """What came of a batch."""

    name: str
    accepted: int
    refused: int
    slowest: float
    failures: list[Failure]


def rng_of(seed: int, name: str, number: int) -> random.Random:
    """The random numbers of one input, whichever process makes it."""
    return random.Random(f"{seed} {name} {number}")


# In a worker


def work(pipe: Connection, noted: mmap.mmap, seed: int) -> None:
    """Read inputs, batch by batch, until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGXCPU, _over_time)
    sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - until the process ends
    from readers import readers

    known = readers()
    _limit_memory()
    with tempfile.TemporaryDirectory(prefix="cranium-fuzz-") as folder:
        while (batch := pipe.recv()) is not None:
            pipe.send(_run(batch, known[batch[0]], Path(folder), noted, seed))


def _limit_memory() -> None:
    status = Path("/proc/self/status")
    if status.exists():  # elsewhere only the time is limited
        used = int(status.read_text().split("VmSize:")[1].split()[0]) << 10
        most = used + ((GIGABYTES + 1) << 30)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _run(batch: Any, reader: Any, folder: Path, noted: mmap.mmap, seed: int) -> Result:
    name, first, count = batch
    accepted = refused = 0
    slowest, failures = 0.0, []
    for number in range(first, first + count):
        noted[:8] = number.to_bytes(8, "little")  # if this process dies, the parent knows of what
        _limit_time()
        content = reader.make(rng_of(seed, name, number))
        path = folder / f"input{reader.ending}"
        path.write_bytes(content)
        begun, problem = time.process_time(), None
        try:
            accepted += _read(reader, content, path)
        except BaseException as error:
            problem = error
        resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        spent = time.process_time() - begun
        slowest = max(slowest, spent)
        kind, said = _judge(problem, spent)
        if kind is not None:
            failures.append(Failure(kind, name, number, said))
        elif problem is not None:
            refused += 1
    return Result(name, accepted, refused, slowest, failures)


def _read(reader: Any, content: bytes, path: Path) -> bool:
    _forget_peak()
    reader.read(content, path)
    return True


def _limit_time() -> None:
    """Give the next input its seconds."""
    signal.signal(signal.SIGXCPU, _over_time)
    most = int(time.process_time()) + SECONDS + 1  # the system counts whole seconds
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))


def _judge(problem: BaseException | None, spent: float) -> tuple[str | None, str]:
    """What kind of failure an input is, if it is one, and what is to be said of it."""
    from cranium.errors import CraniumError

    said = "" if problem is None else "".join(traceback.format_exception(problem)[-6:])[-3000:]
    if isinstance(problem, OverTime) or spent > SECONDS:
        return SLOW, f"{spent:.1f} s\n{said}"
    if isinstance(problem, MemoryError) or _peak() > GIGABYTES << 30:
        gc.collect()
        return LARGE, f"{_peak() / 2**30:.1f} GB\n{said}"
    if problem is not None and (not isinstance(problem, CraniumError) or not str(problem)):
        return UNTYPED, said
    return None, ""


def _over_time(*_: Any) -> None:
    # The next time it is not asked.
    resource.setrlimit(
        resource.RLIMIT_CPU, (int(time.process_time()) + MERCY, resource.RLIM_INFINITY)
    )
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    raise OverTime


def _forget_peak() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) << 10
    return 0


# In the parent


class Worker:
    """A process that reads inputs, and is replaced if it dies."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.noted = mmap.mmap(-1, 8)
        self.batch: Any = None
        self.start()

    def start(self) -> None:
        """Start the process."""
        context = multiprocessing.get_context("fork")
        self.pipe, other = context.Pipe()
        told = (other, self.noted, self.seed)
        self.process = context.Process(target=work, args=told, daemon=True)
        self.process.start()
        other.close()

    def give(self, batch: Any) -> None:
        """Give it something to do; None ends it."""
        self.batch, self.seen = batch, (-1, 0.0)
        self.waits = False
        self.noted[:8] = (batch[1] if batch else 0).to_bytes(8, "little")
        self.pipe.send(batch)

    def watch(self) -> None:
        """Kill the process if it is still at the same input after all our patience."""
        number, now = int.from_bytes(self.noted[:8], "little"), time.monotonic()
        if number != self.seen[0]:
            self.seen = (number, now)
        elif now - self.seen[1] > PATIENCE:
            self.waits = True
            self.process.kill()

    def take(self) -> tuple[Result, Any]:
        """What it has done, and what is left of the batch if it died."""
        try:
            return self.pipe.recv(), None
        except (EOFError, OSError):
            self.process.join()
            return self._died()

    def _died(self) -> tuple[Result, Any]:
        name, first, count = self.batch
        number = int.from_bytes(self.noted[:8], "little")
        code = self.process.exitcode or 0
        kind = SLOW if code in (-signal.SIGXCPU, -signal.SIGKILL) else CRASH
        kind = WAITS if self.waits else kind
        failure = Failure(kind, name, number, f"the process ended with {code}")
        self.start()
        # What came before it in the batch is read again: it takes less time than to keep count.
        left = [(name, first, number - first), (name, number + 1, first + count - number - 1)]
        return Result(name, 0, 0, 0.0, [failure]), [each for each in left if each[2]]

    def end(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.join()


class Tally:
    """What was found so far, by reader."""

    def __init__(self, names: list[str], seed: int, folder: Path) -> None:
        self.seed, self.folder = seed, folder
        self.counts: dict[str, Counter[str]] = {name: Counter() for name in names}
        self.slowest = dict.fromkeys(names, 0.0)
        self.again: list[tuple[str, int, int]] = []
        self.alone = False

    def add(self, result: Result) -> None:
        """Count what came of a batch, and keep what failed; what was slow is read again first."""
        counts = self.counts[result.name]
        counts["accepted"] += result.accepted
        counts["refused"] += result.refused
        self.slowest[result.name] = max(self.slowest[result.name], result.slowest)
        for failure in result.failures:
            if failure.kind in (SLOW, WAITS) and not self.alone:
                self.again.append((failure.name, failure.number, 1))
                continue
            counts[failure.kind] += 1
            if counts[failure.kind] <= KEPT:
                self._keep(failure)

    def _keep(self, failure: Failure) -> None:
        from readers import readers

        reader = _all(readers)[failure.name]
        self.folder.mkdir(parents=True, exist_ok=True)
        called = f"{failure.name}-{failure.kind}-{failure.number}".replace(" ", "-")
        content = reader.make(rng_of(self.seed, failure.name, failure.number))
        (self.folder / f"{called}{reader.ending}").write_bytes(content)
        (self.folder / f"{called}.log").write_text(failure.said, "utf-8", "replace")

    @property
    def done(self) -> int:
        """How many inputs were read."""
        return sum(sum(counts.values()) for counts in self.counts.values())

    @property
    def failed(self) -> int:
        """How many inputs failed."""
        return sum(counts[kind] for counts in self.counts.values() for kind in KINDS)

    def show(self) -> None:
        """Print the table."""
        columns = ("accepted", "refused", *KINDS)
        print(f"{'reader':24}" + "".join(f"{name:>11}" for name in ("inputs", *columns, "slowest")))
        total: Counter[str] = Counter()
        for name, counts in self.counts.items():
            total.update(counts)
            self._line(name, counts, columns, self.slowest[name])
        self._line("all", total, columns, max(self.slowest.values()))

    @staticmethod
    def _line(name: str, counts: Counter[str], columns: tuple[str, ...], slowest: float) -> None:
        numbers = [sum(counts.values()), *(counts[column] for column in columns)]
        print(f"{name:24}" + "".join(f"{number:>11,}" for number in numbers) + f"{slowest:>9.2f} s")


_made: dict[str, Any] = {}


def _all(make: Any) -> dict[str, Any]:
    if not _made:
        _made.update(make())
    return _made


def batches(shares: dict[str, int], inputs: int, start: int) -> list[tuple[str, int, int]]:
    """The inputs of all readers by their shares, in turns, so that an end at any time is fair."""
    whole = sum(shares.values())
    left = {name: max(1, inputs * share // whole) for name, share in shares.items()}
    place, found = dict.fromkeys(shares, start), []
    while any(left.values()):
        for name, share in shares.items():
            count = min(left[name], BATCH * share)
            for begin in range(0, count, BATCH):
                size = min(BATCH, count - begin)
                found.append((name, place[name], size))
                place[name] += size
            left[name] -= count
    return found


def fuzz(tally: Tally, waiting: list[tuple[str, int, int]], jobs: int, seed: int) -> None:
    """Hand batches to workers until all are done."""
    waiting.reverse()
    workers = [Worker(seed) for _ in range(jobs)]
    total, told = sum(count for _, _, count in waiting), time.monotonic()
    begun = told
    try:
        for worker in workers:
            if waiting:
                worker.give(waiting.pop())
        while busy := {worker.pipe: worker for worker in workers if worker.batch is not None}:
            for pipe in wait(list(busy), timeout=1):
                worker = busy[pipe]  # type: ignore[index]
                result, left = worker.take()
                tally.add(result)
                waiting.extend(left or [])
                worker.batch = None
                if waiting:
                    worker.give(waiting.pop())
            for worker in workers:
                if worker.batch is not None:
                    worker.watch()
            if time.monotonic() - told > 10:
                told = time.monotonic()
                speed = tally.done / (told - begun)
                done = f"{tally.done:,} of {total:,}, {tally.failed:,} failed"
                print(f"{done}, {speed:,.0f} a second", file=sys.stderr)
    finally:
        for worker in workers:
            worker.end()


def main() -> None:
    """Fuzz all readers, and print the table; the exit code is 1 if anything failed."""
    parser = parser_of(__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--from", dest="start", type=int, default=0, help="the first number of an input"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--only", default="", help="readers whose name contains this")
    options = parse(parser, inputs=300, jobs=1)
    from readers import readers

    known = {name: one for name, one in _all(readers).items() if options.only in name}
    tally = Tally(list(known), options.seed, OUT / ("smoke" if options.smoke else "fuzz"))
    shares = {name: reader.share for name, reader in known.items()}
    for ending in (signal.SIGINT, signal.SIGTERM):  # also where a shell ignores Ctrl-C for us
        signal.signal(ending, signal.default_int_handler)
    try:
        fuzz(tally, batches(shares, options.inputs, options.start), options.jobs, options.seed)
        if tally.again:
            print(f"{len(tally.again):,} inputs were too slow, and are read again, one at a time")
            tally.alone = True
            fuzz(tally, tally.again, 1, options.seed)
    except KeyboardInterrupt:
        print("interrupted; until then:")
    tally.show()
    write(
        "fuzz", {name: dict(counts) for name, counts in tally.counts.items()}, smoke=options.smoke
    )
    if tally.failed:
        print(f"what failed is in {tally.folder.relative_to(OUT.parent)}")
        sys.exit(1)


if __name__ == "__main__":
    main()
