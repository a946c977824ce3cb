"""A missing browser is told; a test never installs one."""

from __future__ import annotations

import subprocess

import pytest
from support.browser import chromium

pytestmark = pytest.mark.slow


@pytest.fixture
def no_browser(monkeypatch):
    """A machine without a browser, on which nothing may be run."""

    def run(*command, **_):
        raise AssertionError(f"a test installs nothing, but runs {command}")

    monkeypatch.setattr("shutil.which", lambda name: "/bin/apt-get" if "apt" in name else None)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(subprocess, "run", run)


def test_without_a_browser_one_line_says_what_to_install(no_browser, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"no Chromium here .*apt-get install chromium"):
        chromium()


def test_where_everything_has_to_be_tested_a_missing_browser_is_a_failure(no_browser, monkeypatch):
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no Chromium here"):
        chromium()


def test_a_browser_that_is_there_is_taken(no_browser, monkeypatch):
    monkeypatch.setattr("shutil.which", {"google-chrome": "/opt/chrome"}.get)
    assert chromium() == "google-chrome"
