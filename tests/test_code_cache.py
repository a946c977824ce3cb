"""Compiled code on disk: processes side by side, damage, and disks without room."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import cranium
from cranium._runtime import jit
from cranium._runtime.code_cache import CodeCache, stamped_files

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled"),
]

RUN = """
import numpy as np
from cranium.aamdp.total_reward_kernels import q_values
first, end, one = np.array([0, 1]), np.array([-1]), np.ones(1)
print(q_values(first, end, one, 2 * one, one, 1), sum(q_values.stats.cache_hits.values()))
"""


def compile_and_run(folder: Path, **env: str) -> tuple[str, str]:
    """A small kernel in a process of its own, with this cache; what it said, and on stderr."""
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder), **env},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip(), done.stderr.strip()


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    assert compile_and_run(folder) == ("[[2.]] 0", "")
    assert compile_and_run(folder) == ("[[2.]] 1", "")
    (path,) = folder.rglob("*q_values*.code")
    return folder, path, path.read_bytes()


def damage(content: bytes) -> dict[str, bytes]:
    middle = random.Random(0).randrange(len(content))
    changed = bytearray(content)
    changed[middle] ^= 1
    return {
        "empty": b"",
        "cut off": content[: len(content) // 2],
        "one bit": bytes(changed),
        "the last byte": content[:-1] + bytes([content[-1] ^ 255]),
        "another file": b"PK\x03\x04" + os.urandom(500),
    }


@pytest.mark.parametrize("kind", ["empty", "cut off", "one bit", "the last byte", "another file"])
def test_damaged_code_is_compiled_again_with_one_line_of_notice(filled, kind):
    folder, path, content = filled
    path.write_bytes(damage(content)[kind])
    told, notice = compile_and_run(folder)
    assert told == "[[2.]] 0"
    assert notice == f"cranium: compiled code in {path.parent} was damaged: it is compiled again"
    assert compile_and_run(folder) == ("[[2.]] 1", "")


@jit.compiled
def double(x):
    return x + x


def fresh(folder, monkeypatch):
    """The cache of a function as a new process would have it."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
    return CodeCache(double.py_func)


def save(cache, kind):
    dispatcher = numba.njit(double.py_func)
    dispatcher._cache = cache
    dispatcher.compile((kind,))
    return dispatcher


def test_processes_that_compile_for_different_types_do_not_take_each_others_code(
    tmp_path, monkeypatch
):
    # Both look for what is there before either has written: with Numba's numbered files the
    # second then wrote over the first, whose name in the index stayed.
    caches = [fresh(tmp_path, monkeypatch) for _ in range(2)]
    for cache, kind in zip(caches, (numba.int64, numba.float64), strict=True):
        save(cache, kind)
    assert len(list(tmp_path.rglob("*.code"))) == 2
    for kind, value in ((numba.int64, 3), (numba.float64, 1.5)):
        again = numba.njit(double.py_func)
        again._cache = fresh(tmp_path, monkeypatch)
        again.compile((kind,))
        assert sum(again.stats.cache_hits.values()) == 1
        assert again(value) == 2 * value


def test_a_change_in_any_kernel_makes_all_code_compile_again(tmp_path, monkeypatch):
    save(fresh(tmp_path, monkeypatch), numba.int64)
    cache = fresh(tmp_path, monkeypatch)
    cache._cache_file._source_stamp = "of another version"
    assert sum(save(cache, numba.int64).stats.cache_hits.values()) == 0
    (path,) = tmp_path.rglob("*.code")  # the new code took the place of the old
    assert b"of another version" in path.read_bytes()


def test_all_functions_that_are_compiled_stand_in_files_that_the_stamp_reads():
    source = Path(cranium.__file__).parent
    users = {
        path
        for path in source.rglob("*.py")
        if "from cranium._runtime.jit import" in path.read_text()
    }
    decorating = {path for path in users if "\n@compiled" in path.read_text()}
    assert len(decorating) > 3
    assert decorating <= set(stamped_files())


def test_a_full_disk_costs_the_code_on_disk_and_nothing_else(tmp_path, monkeypatch, capfd):
    cache = fresh(tmp_path, monkeypatch)
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("needs /dev/full")
    monkeypatch.setattr(cache._cache_file, "_open_for_write", lambda _: full.open("wb"))
    assert save(cache, numba.int64)(4) == 8
    assert "compiled code cannot be kept in" in capfd.readouterr().err


def test_drafts_of_processes_that_were_killed_are_deleted(tmp_path, monkeypatch):
    cache = fresh(tmp_path, monkeypatch)
    save(cache, numba.int64)
    (path,) = tmp_path.rglob("*.code")
    old, new = Path(f"{path}.tmp.1"), Path(f"{path}.tmp.2")
    old.write_bytes(b"half")
    new.write_bytes(b"half")
    os.utime(old, (1, 1))
    save(cache, numba.float64)
    assert not old.exists()
    assert new.exists()


def test_a_draft_that_is_gone_when_it_is_looked_at_costs_nothing(tmp_path, monkeypatch, capfd):
    cache = fresh(tmp_path, monkeypatch)
    save(cache, numba.int64)
    (path,) = tmp_path.rglob("*.code")
    Path(f"{path}.tmp.1").symlink_to(tmp_path / "gone")
    save(cache, numba.float64)
    assert len(list(tmp_path.rglob("*.code"))) == 2
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("after", [None, b"", b"other"])
def test_what_was_checked_is_what_is_run_whatever_becomes_of_the_file(
    tmp_path, monkeypatch, capfd, after
):
    save(fresh(tmp_path, monkeypatch), numba.int64)
    read = Path.read_bytes

    def read_and_change(path):
        content = read(path)
        if path.suffix == ".code":
            path.unlink() if after is None else path.write_bytes(after)
        return content

    cache = fresh(tmp_path, monkeypatch)
    monkeypatch.setattr(Path, "read_bytes", read_and_change)
    again = save(cache, numba.int64)
    assert sum(again.stats.cache_hits.values()) == 1
    assert again(4) == 8
    assert capfd.readouterr().err == ""


class Moved:
    """What this version of Numba does not have any more."""


def test_code_of_another_version_of_numba_that_cannot_be_read_is_compiled_again(
    tmp_path, monkeypatch
):
    cache = fresh(tmp_path, monkeypatch)
    cache._cache_file._source_stamp = "of another version"
    keys = []
    write = cache._cache_file.save
    monkeypatch.setattr(cache._cache_file, "save", lambda key, _: keys.append(key))
    save(cache, numba.int64)
    write(keys[0], Moved())
    monkeypatch.delattr(sys.modules[__name__], "Moved")
    again = save(fresh(tmp_path, monkeypatch), numba.int64)
    assert sum(again.stats.cache_hits.values()) == 0
    assert again(4) == 8


def test_without_a_folder_to_write_to_it_still_runs(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    only = {"NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    told, notice = compile_and_run(tmp_path / "file", **only)
    assert told == "[[2.]] 0"
    assert "set NUMBA_CACHE_DIR to one that can" in notice
