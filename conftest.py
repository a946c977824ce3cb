"""Hypothesis profiles, what examples in docstrings need, and what holds for every test.

``HYPOTHESIS_PROFILE=thorough make test`` looks ten times longer.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from functools import wraps
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.errors import UnsatisfiedAssumption

settings.register_profile("default", max_examples=150, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=1500, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# Examples in docstrings that ask a real model.
NEED_A_MODEL = {"cranium.assist.local_models.download", "cranium.assist.local_server.LocalServer"}
REAL = 0.5


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items):
    """Examples in docstrings need what the tests of the same part need."""
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            if item.path.parent.name == "sb3":
                item.add_marker(pytest.mark.sb3)
            if item.name in NEED_A_MODEL:
                item.add_marker(pytest.mark.local_model)


@pytest.fixture(autouse=True)
def _nothing_is_downloaded(request, monkeypatch, tmp_path_factory):
    """A test that is not marked finds no model on any machine, and cannot fetch one."""
    marks = {mark.name for mark in request.node.iter_markers()}
    if not marks & {"local_model", "llm"}:
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("CRANIUM_MODELS", str(Path(tmp_path_factory.getbasetemp(), "models")))


@pytest.fixture(autouse=True)
def _signals_are_heard():
    """Whoever started the tests in the background, or with nohup, has had some signals ignored."""
    usual = {"SIGINT": signal.default_int_handler, "SIGHUP": signal.SIG_DFL}
    found = {getattr(signal, name, None): handler for name, handler in usual.items()}
    ignored = {each: handler for each, handler in found.items() if each and _is_ignored(each)}
    for each, handler in ignored.items():
        signal.signal(each, handler)
    yield
    for each in ignored:
        signal.signal(each, signal.SIG_IGN)


def _is_ignored(number):
    return signal.getsignal(number) is signal.SIG_IGN


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """At least half of what Hypothesis draws is a real case: ``assume`` did not turn it away.

    The marker ``real`` gives a test another share; say there why.
    """
    handle = getattr(getattr(item, "obj", None), "hypothesis", None)
    if handle is None:
        return (yield)
    inner, counts = handle.inner_test, Counter()

    @wraps(inner)
    def counted(*args, **options):
        try:
            found = inner(*args, **options)
        except UnsatisfiedAssumption:
            counts["turned away"] += 1
            raise
        counts["real"] += 1
        return found

    handle.inner_test = counted
    try:
        result = yield
    finally:
        handle.inner_test = inner
    real, drawn = counts["real"], counts.total()
    mark = item.get_closest_marker("real")
    least = mark.args[0] if mark else REAL
    assert real >= least * drawn, f"only {real} of {drawn} examples were real cases"
    return result
