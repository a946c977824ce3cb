"""Trials on a real Ray cluster: three machines, which are pretended on this one."""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support import trials
from support.trials import Given

from cranium.errors import EngineError, InvalidArgumentError
from cranium.experiments import LocalEngine, RayEngine, Record, RunCallback, Store
from cranium.experiments.attempts import TRIES
from cranium.experiments.study_trial import StudyTrial
from cranium.experiments.trial import Job, Trial
from cranium.experiments.worker import THREADS
from cranium.paper import run

pytestmark = pytest.mark.ray

MACHINES = 3


def training(
    learner: str, steps: int, kind: type[StudyTrial] = StudyTrial, **more: Any
) -> StudyTrial:
    made: StudyTrial = trials.training(
        learner, options={"times": 2}, experiment="ray", method=learner, case=f"{steps} samples",
        steps=steps, evaluate_every=steps, until="budget", kind=kind, more=more,
    )  # fmt: skip
    return made


SHORT = [
    *(Job(trials.size_trial(limit=n), 0) for n in (1, 2, 3)),
    *(Job(training(learner, 20_000), seed) for learner in ("ql", "cql") for seed in range(3)),
    *(Job(training("planner", 2_000), seed) for seed in range(2)),
]
LONG = [Job(training("ql", 30_000_000), seed) for seed in range(5)]
ENDLESS = [Job(training("ql", 10**11), seed) for seed in range(2)]


@dataclass(frozen=True, eq=False)
class Spy(Trial):
    """A trial that tells, in its record, what it sees in the process that it is run in."""

    what: str
    file: str = ""
    driver: int = dataclasses.field(default_factory=os.getpid)

    @property
    def used(self) -> dict[str, Any]:
        return {"what": self.what, "file": self.file}

    @property
    def data(self) -> dict[str, Any]:
        plain = dataclasses.asdict(self)
        return plain if os.getpid() == self.driver else plain | getattr(self, self.what)()

    def look(self) -> dict[str, Any]:
        import numba

        begun = time.time()
        time.sleep(0.3)
        threads = {name: os.environ.get(name) for name in THREADS}
        threads["numba"] = str(numba.get_num_threads())
        return {"pid": os.getpid(), "threads": threads, "span": (begun, time.time())}

    def compile(self) -> dict[str, Any]:
        from cranium.experiments.trial import run_trial
        from cranium.learners.tabular import loop_kernels

        run_trial(training("ql", 20_000), 0)
        stats = [each.stats for each in vars(loop_kernels).values() if hasattr(each, "stats")]
        hits, misses = (sum(sum(each[n].values()) for each in stats) for n in (1, 2))
        return {"pid": os.getpid(), "hits": hits, "misses": misses}

    def large(self) -> dict[str, Any]:
        """On each machine one, and those on other machines than the first when they are let go."""
        begun = Path(self.file)
        Path(f"{begun}-{this_node()}").touch()
        assert wait_until(lambda: len(list(begun.parent.glob(f"{begun.name}-*"))) >= MACHINES)
        if not begun.with_name(f"first-{this_node()}").exists():
            assert wait_until(begun.with_name("let-go").exists)
        return {"node": this_node(), "text": "x" * 500_000}

    def stay(self) -> dict[str, Any]:
        from cranium.experiments.trial import run_trial

        Path(f"{self.file}-{os.getpid()}").touch()
        run_trial(training("ql", 10**11), 0)
        return {}

    def die(self) -> dict[str, Any]:
        with Path(self.file).open("a") as file:
            file.write("died\n")
        os._exit(1)


@dataclass(frozen=True, eq=False)
class HeldTrial(StudyTrial):
    """A trial that tells which machine it is on, and does not end before it is let go."""

    place: str = ""
    driver: int = dataclasses.field(default_factory=os.getpid)

    @property
    def data(self) -> dict[str, Any]:
        if os.getpid() != self.driver:
            Path(self.place, f"begun-{this_node()}").touch()
            assert wait_until(Path(self.place, "let-go").exists)
        return super().data


def this_node() -> str:
    import ray

    found: str = ray.get_runtime_context().get_node_id()
    return found


def spies(what: str, count: int, file: Path | None = None) -> list[Job]:
    return [Job(Spy("ray", "spy", what, what=what, file=str(file or "")), n) for n in range(count)]


class NotingEngine(RayEngine):
    """Notes what was lost, and what was found."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.lost: list[Job] = []
        self.seen: list[Job] = []
        self.references: dict[Job, Any] = {}

    def _task(self) -> Any:
        submit = super()._task()

        def note(job: Job) -> Any:
            self.references[job] = submit(job)
            return self.references[job]

        return note

    def _collect(self, job: Job, reference: Any) -> Record | str:
        found = super()._collect(job, reference)
        (self.seen if isinstance(found, Record) else self.lost).append(job)
        return found


def same(record: Record) -> Record:
    """Without what may differ from run to run."""
    return dataclasses.replace(record, wall=0.0, cpu=0.0, tries=())


def wait_until(true: Callable[[], bool], seconds: float = 120) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return true()


def running(place: Path) -> list[str]:
    """The processes of the clusters whose files are there."""
    return processes("-f", str(place))


def processes(*which: str) -> list[str]:
    found = subprocess.run(["pgrep", *which], check=False, capture_output=True, text=True)
    return found.stdout.splitlines()


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Where Ray keeps its files: its sockets need a short path, and nothing is left in /tmp."""
    import ray  # without it these tests fail: they are only run to see that it works

    made = Path(tempfile.mkdtemp(prefix="ray"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_TMPDIR", str(made))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_MODE", "disabled")  # or it would leave a token in the home folder
        patch.delenv("RAY_ADDRESS", raising=False)
        for module in (sys.modules[__name__], trials):  # which no machine of the cluster has
            ray.cloudpickle.register_pickle_by_value(module)
        yield made
        assert not ray.is_initialized()
    assert wait_until(lambda: not running(made)), running(made)
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def cluster(place: Path) -> Iterator[Any]:
    """Three machines with one core each."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        for _ in range(MACHINES - 1):
            made.add_node(num_cpus=1)
        yield made
    finally:
        made.shutdown()


@pytest.fixture
def machines(cluster: Any) -> Iterator[Any]:
    """The cluster, for those that take machines away: they are replaced."""
    yield cluster
    while len(cluster.list_all_nodes()) < MACHINES:
        cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()


@pytest.fixture
def engine(cluster: Any) -> Iterator[RayEngine]:
    with RayEngine(cluster.address) as made:
        assert made.workers == MACHINES
        yield made


@pytest.fixture(scope="module")
def local() -> dict[Job, Record]:
    """What the local engine finds."""
    return {job: same(record) for job, record in LocalEngine().run([*SHORT, *LONG])}


def test_results_are_those_of_the_local_engine_bit_for_bit(
    engine: RayEngine, local: dict[Job, Record]
) -> None:
    pairs = list(engine.run([*SHORT, *SHORT]))  # what is asked for twice is run once
    assert len(pairs) == len(SHORT)
    assert {job: same(record) for job, record in pairs} == {job: local[job] for job in SHORT}
    assert all(record.done and record.wall > 0 for _, record in pairs)


def test_when_a_machine_dies_in_the_middle_its_trials_are_run_elsewhere(
    machines: Any, local: dict[Job, Record], tmp_path: Path
) -> None:
    trial = training("ql", 1000, HeldTrial, place=str(tmp_path))
    held = [Job(trial, seed) for seed in range(MACHINES)]  # one on each of them
    jobs = [*held, *LONG]
    begun = list[bool]()

    def kill() -> None:
        node = next(iter(machines.worker_nodes))
        begun.append(wait_until((tmp_path / f"begun-{node.node_id}").exists))
        machines.remove_node(node)
        (tmp_path / "let-go").touch()

    with NotingEngine(machines.address) as engine:
        killer = threading.Thread(target=kill)
        killer.start()
        outcome = run(Given(given=tuple(jobs)), tmp_path / "results", engine)
        killer.join()
        assert engine.workers == MACHINES - 1

    assert begun == [True]
    assert set(engine.lost) & set(held)
    assert outcome.ran == len(jobs)
    assert not outcome.failed
    assert len(engine.seen) == len(jobs)
    assert set(engine.seen) == set(jobs)
    assert len(list((tmp_path / "results").glob("*-*.json"))) == len(jobs)
    store = Store(tmp_path / "results")
    assert {job: same(store.find(job)) for job in LONG} == {job: local[job] for job in LONG}


def test_a_large_result_that_is_lost_with_its_machine_is_made_again(
    machines: Any, tmp_path: Path
) -> None:
    (tmp_path / f"first-{machines.head_node.node_id}").touch()
    with NotingEngine(machines.address) as engine:
        jobs = spies("large", MACHINES, tmp_path / "begun")
        results = engine.run(jobs)
        found = [next(results)]
        (tmp_path / "let-go").touch()
        # Now the others end, too, and their results lie where they were made.
        left = [engine.references[job] for job in jobs if job != found[0][0]]
        done, _ = engine.ray.wait(left, num_returns=len(left), timeout=120, fetch_local=False)
        assert len(done) == MACHINES - 1
        for node in list(machines.worker_nodes):
            machines.remove_node(node)
        found += results
    assert len(engine.lost) >= 1
    assert {job for job, _ in found} == set(jobs)
    assert len(found) == len(jobs)
    assert all(record.config["text"] == "x" * 500_000 for _, record in found)


def test_a_trial_that_ends_its_process_each_time_is_a_failure_and_the_others_go_on(
    engine: RayEngine, local: dict[Job, Record], tmp_path: Path
) -> None:
    [deadly] = spies("die", 1, tmp_path / "tries")
    found = dict(engine.run([SHORT[0], deadly, *SHORT[1:]]))
    record = found.pop(deadly)
    assert {job: same(each) for job, each in found.items()} == {job: local[job] for job in SHORT}
    assert (tmp_path / "tries").read_text().splitlines() == ["died"] * TRIES
    assert record.status == "failed"
    assert record.error is not None
    assert record.error.startswith(f"lost {TRIES} times: its process")
    assert len(record.tries) == TRIES - 1


def test_a_trial_that_fails_is_recorded_with_its_traceback(engine: RayEngine) -> None:
    wrong = Job(trials.size_trial("nobody"), 0)
    [(job, record)] = engine.run([wrong])
    assert job == wrong
    assert (record.status, record.result, record.seed) == ("failed", {}, 0)
    assert record.config == wrong.trial.data
    assert record.error.startswith("Traceback")
    assert "UnknownNameError" in record.error
    [(_, here)] = LocalEngine(1).run([wrong])
    assert same(record) == same(here)


def test_a_trial_whose_code_is_missing_on_the_machine_has_no_result(
    engine: RayEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = type(sys)("only_here")
    here = {"__module__": "only_here", "used": property(lambda _: {})}
    module.Here = type("Here", (Trial,), here)
    monkeypatch.setitem(sys.modules, "only_here", module)
    with pytest.raises(EngineError, match="only_here"):
        next(engine.run([Job(module.Here("ray", "here", "only"), 0)]))


@pytest.fixture
def alone(place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No cluster is running; where Ray would note the last one that was."""
    monkeypatch.setattr("ray._private.services.find_gcs_addresses", set)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    (tmp_path / "ray").mkdir()
    return tmp_path / "ray" / "ray_current_cluster"


@pytest.mark.parametrize("address", ["auto", "127.0.0.1:1", "127.0.0.1:99999999", "nonsense", ""])
def test_where_no_cluster_answers_it_is_said_what_to_do(
    alone: Path, address: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(
        InvalidArgumentError, match=f"no Ray cluster answers at '{address}'"
    ) as said:
        RayEngine(address)
    assert "ray start --head" in said.value.fix
    assert capfd.readouterr() == ("", "")


def test_a_cluster_that_crashed_is_not_waited_for(
    alone: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    alone.write_text("127.0.0.1:1")
    with pytest.raises(InvalidArgumentError, match="no Ray cluster answers at 'auto'"):
        RayEngine("auto")
    assert capfd.readouterr() == ("", "")


def test_a_cluster_that_does_not_answer_is_waited_for_so_long_and_no_longer(
    alone: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cranium.experiments.ray_engine.JOINING", 4.0)
    with socket.create_server(("", 0)) as silent:  # it is listened, and nothing is said
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(InvalidArgumentError, match="join it within 4 seconds") as said:
            RayEngine(address)
    assert address in said.value.message
    assert "ray status" in said.value.fix
    assert capfd.readouterr() == ("", "")


def raylets() -> set[str]:
    """Those that this process started: of the pretended machines, and of clusters of its own."""
    return set(processes("-P", str(os.getpid()), "-f", "raylet/raylet"))


def kill_raylet(others: set[str]) -> None:
    """Kill the one that is not among the others."""
    [found] = raylets() - others
    os.kill(int(found), signal.SIGKILL)


def test_when_the_raylet_of_this_machine_dies_the_cluster_is_started_again(
    place: Path, local: dict[Job, Record], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined: list[str] = []
    others = raylets()

    class Killed(RunCallback):
        def finished(self, job: Job, record: Record) -> None:
            if not joined:
                joined.append("first")
                kill_raylet(others)

    with RayEngine(workers=1) as engine:
        again = engine._join
        monkeypatch.setattr(engine, "_join", lambda: joined.append("again") or again())
        outcome = run(Given(given=tuple(SHORT)), tmp_path, engine, callback=Killed())
    assert joined == ["first", "again"]
    assert (outcome.ran, outcome.failed) == (len(SHORT), [])
    store = Store(tmp_path)
    assert {job: same(store.find(job)) for job in SHORT} == {job: local[job] for job in SHORT}


def test_a_cluster_that_is_not_ours_and_dies_stops_the_run_and_saves_no_failure(
    place: Path, tmp_path: Path
) -> None:
    import ray

    killed: list[Job] = []
    others = raylets()

    class Killed(RunCallback):
        def finished(self, job: Job, record: Record) -> None:
            if not killed:
                killed.append(job)
                kill_raylet(others)

    ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        with RayEngine() as engine, pytest.raises(EngineError, match="the Ray cluster is gone"):
            run(Given(given=tuple(SHORT)), tmp_path, engine, callback=Killed())
    finally:
        ray.shutdown()
    records = list(Store(tmp_path))
    assert 1 <= len(records) < len(SHORT)
    assert all(record.done for record in records)


def test_without_an_address_a_cluster_is_started_and_stopped(
    place: Path, local: dict[Job, Record]
) -> None:
    import ray

    before = set(running(place))
    with RayEngine(workers=1) as engine:
        assert engine.workers == 1
        assert set(running(place)) > before
        [(job, record)] = engine.run(SHORT[:1])
        assert same(record) == local[job]
    assert not ray.is_initialized()
    assert wait_until(lambda: set(running(place)) <= before)
    with pytest.raises(InvalidArgumentError, match="the engine is closed"):
        next(engine.run(SHORT))
    assert not ray.is_initialized()


def test_a_cluster_that_is_running_is_joined_and_left_running(
    cluster: Any, local: dict[Job, Record]
) -> None:
    import ray

    for address in ("auto", cluster.address):
        with RayEngine(address) as engine:
            assert ray.get_runtime_context().gcs_address == cluster.address
            [(job, record)] = engine.run(SHORT[:1])
            assert same(record) == local[job]
        assert not ray.is_initialized()


def test_a_connection_that_is_there_is_used_and_kept(cluster: Any) -> None:
    import ray

    ray.init(cluster.address, log_to_driver=False, logging_level="error")
    try:
        for address in (None, "auto", cluster.address):
            with RayEngine(address) as engine:
                assert engine.workers == MACHINES
            assert ray.is_initialized()
        port = cluster.address.rpartition(":")[2]
        with pytest.raises(InvalidArgumentError, match="no Ray cluster answers"):
            RayEngine("127.0.0.1:1")
        with socket.create_server(("", 0)) as other:
            address = f"127.0.0.1:{other.getsockname()[1]}"
            with pytest.raises(InvalidArgumentError, match=f"not '{address}'"):
                RayEngine(address)
        assert RayEngine(f"localhost:{port}").workers == MACHINES
        assert ray.is_initialized()
    finally:
        ray.shutdown()


def test_no_more_than_so_many_run_at_once(cluster: Any) -> None:
    with RayEngine(cluster.address, workers=1) as engine:
        assert engine.workers == 1
        spans = [record.config["span"] for _, record in engine.run(spies("look", 4))]
    assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))


def all_free() -> bool:
    import ray

    return ray.available_resources().get("CPU") == MACHINES


def test_when_it_is_interrupted_what_was_done_is_kept_and_the_rest_is_cancelled(
    engine: RayEngine, local: dict[Job, Record], tmp_path: Path
) -> None:
    class Impatient(RunCallback):
        left = 3

        def finished(self, job: Job, record: Record) -> None:
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt

    config = Given(given=(*ENDLESS, *SHORT[:5]))
    outcome = run(config, tmp_path, engine, callback=Impatient())
    assert outcome.interrupted
    assert outcome.ran == 3
    assert wait_until(all_free)
    store = Store(tmp_path)
    kept = {job: same(record) for job in config.given if (record := store.find(job))}
    assert len(kept) == 3
    assert kept.items() <= local.items()
    (tmp_path / "experiment.json").unlink()  # it is of endless ones, too
    rest = run(Given(given=tuple(SHORT[:5])), tmp_path, engine)  # and it goes on from there
    assert rest.ran == 5 - 3


def test_ctrl_c_while_it_waits_cancels_what_is_running(engine: RayEngine, tmp_path: Path) -> None:
    # Each trial tells that it has begun: what the cluster says of its cores may be old.
    jobs, begun = spies("stay", MACHINES, tmp_path / "begun"), list[bool]()

    def interrupt() -> None:
        begun.append(wait_until(lambda: len(list(tmp_path.glob("begun-*"))) == MACHINES))
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    outcome = run(Given(given=tuple(jobs)), tmp_path / "results", engine)
    thread.join()
    assert begun == [True]
    assert outcome.interrupted
    assert outcome.ran == 0
    assert wait_until(all_free)


def test_a_trial_is_cancelled_again_if_ray_did_not_hear_it(
    engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancel, told = engine.ray.cancel, list[Any]()

    def deaf_at_first(reference: Any, **how: Any) -> None:  # as Ray is while it starts a task
        if reference in told:
            cancel(reference, **how)
        told.append(reference)

    monkeypatch.setattr(engine.ray, "cancel", deaf_at_first)
    results = engine.run([*spies("stay", 1, tmp_path / "begun"), SHORT[0]])
    assert next(results)[0] == SHORT[0]
    assert wait_until(lambda: bool(list(tmp_path.glob("begun-*"))))
    results.close()
    assert len(told) >= 2
    assert wait_until(all_free)


def test_a_worker_has_one_thread_and_runs_many_trials(engine: RayEngine) -> None:
    seen = [record.config for _, record in engine.run(spies("look", 4 * MACHINES))]
    assert len(seen) == 4 * MACHINES
    assert len({each["pid"] for each in seen}) <= MACHINES
    assert all(set(each["threads"].values()) == {"1"} for each in seen)


def test_what_was_compiled_once_is_not_compiled_by_the_workers(
    engine: RayEngine, local: dict[Job, Record]
) -> None:
    seen = [record.config for _, record in engine.run(spies("compile", 2 * MACHINES))]
    assert all(each["misses"] == 0 < each["hits"] for each in seen)
