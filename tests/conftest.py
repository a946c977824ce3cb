"""Hypothesis profiles: ``HYPOTHESIS_PROFILE=thorough make test`` looks ten times longer."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("default", max_examples=150, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=1500, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
