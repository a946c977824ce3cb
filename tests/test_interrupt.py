"""Ctrl-C while something is compiled."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import numba
import pytest
from numba.core import event

from cranium._runtime import interrupt
from cranium._runtime.interrupt import finishing, held, holding
from cranium._runtime.jit import whole_compilations

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def heard():
    """Whoever started the tests in the background may have had it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Press(event.Listener):
    """Presses Ctrl-C when something begins."""

    times = 0

    def on_start(self, event):
        self.times += 1
        signal.raise_signal(signal.SIGINT)

    def on_end(self, event):
        pass


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_ctrl_c_while_numba_compiles_waits_until_all_of_it_is_compiled():
    @numba.njit
    def double(x):
        return 2 * x

    @numba.njit
    def four_times(x):
        return double(double(x))

    press = Press()
    with (
        event.install_listener("numba:compile", press),
        pytest.raises(KeyboardInterrupt),
        whole_compilations(),
        whole_compilations(),  # two do not undo each other in the wrong order
    ):
        four_times(2)
    assert press.times == 2  # the inner one, too
    assert len(four_times.signatures) == len(double.signatures) == 1
    assert four_times(2) == 8
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_another_thread_may_compile_meanwhile():
    @numba.njit
    def double(x):
        return 2 * x

    found = []
    with whole_compilations():
        thread = threading.Thread(target=lambda: found.append(double(2)))
        thread.start()
        thread.join()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert found == [4]


def test_who_handles_ctrl_c_in_another_way_is_told_once_it_is_over():
    told = []
    signal.signal(signal.SIGINT, lambda *_: told.append(1))
    with held():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        assert not told
    assert told == [1]


def test_where_ctrl_c_is_ignored_it_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with held():
        signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_an_error_while_something_is_saved_is_not_lost_with_the_ctrl_c_that_came_meanwhile():
    def save():
        signal.raise_signal(signal.SIGINT)
        raise OSError("full")

    with pytest.raises(OSError, match="full"), finishing(), finishing():
        save()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_is_saved_without_an_error_ends_without_an_interruption():
    with finishing(), finishing():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    with held():  # and nothing of it comes later
        pass


def test_a_ctrl_c_that_came_before_is_heard_after_something_was_saved():
    def save():
        signal.raise_signal(signal.SIGINT)
        with finishing():
            pass

    with pytest.raises(KeyboardInterrupt), held():
        save()


def test_a_second_ctrl_c_before_the_first_is_handled_does_not_come_again_later(monkeypatch):
    deliver = interrupt._Waiting.deliver

    def press_first(self):
        signal.raise_signal(signal.SIGINT)
        deliver(self)

    with holding():
        monkeypatch.setattr(interrupt._Waiting, "deliver", press_first)
        with pytest.raises(KeyboardInterrupt), held():
            signal.raise_signal(signal.SIGINT)
        monkeypatch.undo()
        with held():
            pass


CAST = """
import ctypes, signal, sys
import cranium, gymnasium

cast, calls = ctypes.cast, 0

def press(*arguments):
    # Numba calls this while a compiled loop takes over its random generators.
    global calls
    calls += 1
    if calls == 20:
        signal.raise_signal(signal.SIGINT)
    return cast(*arguments)

signal.signal(signal.SIGINT, signal.default_int_handler)
machine = cranium.unroll(cranium.library.load("anbcdn"), counter_limit=1)
env = cranium.product(gymnasium.make("cranium/Letter-v0", times=1), machine, horizon=100)
cranium.train(env, sys.argv[1], steps=20, evaluate_every=20)
ctypes.cast = press
result = cranium.train(env, sys.argv[1], steps=100_000, evaluate_every=100)
print(result.interrupted, calls >= 20)
"""


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
@pytest.mark.parametrize("learner", ["cql", "hrm", "planner"])
def test_ctrl_c_while_a_compiled_loop_takes_its_arguments_does_not_crash(learner):
    done = subprocess.run(
        [sys.executable, "-c", CAST, learner], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["True", "True"], "")
