"""Hypothesis profiles: ``HYPOTHESIS_PROFILE=thorough make test`` looks ten times longer."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

settings.register_profile("default", max_examples=150, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=1500, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items):
    """The examples in the docstrings of the door to Stable-Baselines3 need it, like its tests."""
    for item in items:
        if isinstance(item, pytest.DoctestItem) and item.path.parent.name == "sb3":
            item.add_marker(pytest.mark.sb3)
