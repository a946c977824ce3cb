"""Files: what is read is a regular file, what is written is there whole, and no draft stays."""

from __future__ import annotations

import errno
import os
import resource
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from support.waiting import call_within_a_minute

import cranium
from cranium._runtime.processes import is_running, start_time, this_machine
from cranium.errors import FileAccessError, FileFormatError
from cranium.io import (
    ABANDONED,
    clear_drafts,
    read_bytes,
    read_text,
    write_bytes,
    write_new,
)

MOST = 1000
ZEROS = Path("/dev/zero")
needs_devices = pytest.mark.skipif(not ZEROS.exists(), reason="there are no such devices here")


# Reading


@pytest.mark.parametrize("follow", [True, False])
def test_a_pipe_is_refused_at_once(tmp_path, follow):
    os.mkfifo(tmp_path / "pipe")
    found = call_within_a_minute(read_bytes, tmp_path / "pipe", most=MOST, follow_links=follow)
    assert isinstance(found, FileAccessError)
    assert "not a regular file" in found.message


def test_a_file_that_becomes_a_pipe_before_it_is_opened_is_refused_at_once(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("text")

    def exchange(given, real=Path.stat, **how):
        found = real(given, **how)
        if given == path:
            path.unlink()
            os.mkfifo(path)
        return found

    monkeypatch.setattr(Path, "stat", exchange)
    found = call_within_a_minute(read_bytes, path, most=MOST)
    monkeypatch.undo()
    assert isinstance(found, FileAccessError)
    assert "not a regular file" in found.message


@needs_devices
def test_a_device_is_refused_before_it_is_read(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(ZEROS)
    for path in (ZEROS, link):
        with pytest.raises(FileAccessError, match="not a regular file"):
            read_text(path, most=MOST)


def test_links_are_followed_where_a_user_named_them_and_nowhere_else(tmp_path):
    (tmp_path / "file").write_text("text")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "file")
    assert read_text(link, most=MOST) == "text"
    with pytest.raises(FileAccessError, match="it is a symbolic link") as caught:
        read_text(link, most=MOST, follow_links=False)
    assert "points at" in caught.value.fix
    (tmp_path / "folder").mkdir()
    (tmp_path / "other").symlink_to(tmp_path / "folder")
    (tmp_path / "folder" / "file").write_text("inside")
    assert read_text(tmp_path / "other" / "file", most=MOST, follow_links=False) == "inside"


def test_a_folder_a_missing_file_and_a_large_one_are_refused(tmp_path):
    with pytest.raises(FileAccessError, match="is a directory"):
        read_bytes(tmp_path, most=MOST)
    with pytest.raises(FileAccessError, match="No such file"):
        read_bytes(tmp_path / "none", most=MOST)
    (tmp_path / "large").write_bytes(bytes(MOST + 1))
    with pytest.raises(FileFormatError, match="more than 1,000 bytes"):
        read_bytes(tmp_path / "large", most=MOST)
    assert len(read_bytes(tmp_path / "large", most=MOST + 1)) == MOST + 1


# Writing


def test_a_link_is_replaced_where_nobody_asked_for_it(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("precious")
    link.symlink_to(target)
    write_bytes(link, b"new", follow_links=False)
    assert (target.read_text(), link.read_text()) == ("precious", "new")
    assert not link.is_symlink()


def test_a_pipe_is_replaced_where_nobody_asked_for_it(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert call_within_a_minute(write_bytes, tmp_path / "pipe", b"new", follow_links=False) is None
    assert (tmp_path / "pipe").read_text() == "new"


FULL = (
    "import resource, sys\n"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
    "sys.argv = ['cranium', *sys.argv[1:]]\n"
    "from cranium.cli import main\n"
    "main()\n"
)
WRITERS = {
    "a map": (["worlds", "Office", "--draw"], "map.png"),
    "a drawing": (["draw", "library:office", "-o"], "office.svg"),
    "a machine": (["unroll", "library:office", "-n", "5", "-o"], "office.yaml"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("command", "name"), WRITERS.values(), ids=WRITERS.keys())
@pytest.mark.parametrize("before", [None, "old"])
def test_a_full_disk_leaves_the_old_file_or_none(tmp_path, command, name, before):
    path = tmp_path / name
    if before is not None:
        path.write_text(before)
    done = subprocess.run(
        [sys.executable, "-c", FULL, *command, str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "MPLCONFIGDIR": str(tmp_path / "mpl")},
    )
    assert done.returncode == 2, done.stderr
    assert "cannot write" in done.stderr
    assert "File too large" in done.stderr
    left = {each.name for each in tmp_path.iterdir()} - {"mpl"}
    assert left == ({name} if before else set())
    assert before is None or path.read_text() == before


def test_a_device_that_is_full_is_said_to_be(tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("there is no such device here")
    with pytest.raises(FileAccessError, match="No space left on device"):
        write_bytes(Path("/dev/full"), b"text")


# Drafts


KILLED = (
    "import os, signal, sys\n"
    "from pathlib import Path\n"
    "import cranium\n"
    "Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
    "cranium.save(cranium.library.load('anbcn'), sys.argv[1])\n"
)


@pytest.mark.slow
def test_the_draft_of_a_process_that_was_killed_is_removed_by_the_next_write(tmp_path):
    path = tmp_path / "task.yaml"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -9
    assert len(list(tmp_path.iterdir())) == 1
    cranium.save(cranium.library.load("anbcn"), path)
    assert list(tmp_path.iterdir()) == [path]


def draft(folder, name, machine, process):
    path = folder / f".{name}.{machine}-{process}-{'0' * 16}.draft"
    path.write_text("half")
    return path


def ended_process():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_only_drafts_that_nobody_is_writing_are_removed(tmp_path):
    gone, elsewhere = ended_process(), "0" * 12
    left = draft(tmp_path, "a.json", this_machine(), gone)
    other = draft(tmp_path, "b.json", this_machine(), gone)
    ours = draft(tmp_path, "a.json", this_machine(), os.getpid())
    theirs = draft(tmp_path, "a.json", elsewhere, gone)
    old = draft(tmp_path, "a.json", elsewhere, 1)
    os.utime(old, (0, old.stat().st_mtime - ABANDONED - 10))
    kept = tmp_path / ".a.json.draft"
    kept.write_text("the user's own")
    assert clear_drafts(tmp_path, "a.json") == 2
    assert set(tmp_path.iterdir()) == {other, ours, theirs, kept}
    assert not left.exists()
    assert clear_drafts(tmp_path) == 1
    assert set(tmp_path.iterdir()) == {ours, theirs, kept}


def test_the_longest_names_can_be_written(tmp_path):
    path = tmp_path / ("ö" * 120 + ".svg")
    write_bytes(path, b"new")
    assert path.read_bytes() == b"new"


# Processes


def test_a_process_is_told_from_the_next_one_with_its_number():
    assert is_running(os.getpid(), start_time(os.getpid()))
    assert not is_running(ended_process())
    assert not is_running(os.getpid(), "1")


def test_a_process_that_nobody_waited_for_is_gone():
    process = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    process.stdout.read()  # until it ends
    while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        pass
    assert not is_running(process.pid)
    process.wait()
    process.stdout.close()


def test_what_is_to_last_has_its_name_on_the_disk_before_we_go_on(tmp_path, monkeypatch):
    kept = []

    def note(opened, real=os.fsync):
        kept.append((stat.S_ISDIR(os.fstat(opened).st_mode), (tmp_path / "file").exists()))
        real(opened)

    monkeypatch.setattr(os, "fsync", note)
    write_bytes(tmp_path / "file", b"content", durable=True)
    assert kept == [(False, False), (True, True)]


@pytest.mark.parametrize("links", [True, False])
def test_of_many_that_write_a_new_file_one_has_written_it(tmp_path, monkeypatch, links):
    if not links:

        def refuse(*_):
            raise OSError(errno.EPERM, "Operation not permitted")

        monkeypatch.setattr(os, "link", refuse)
    barrier, first = threading.Barrier(6), list[tuple[int, int]]()

    def write(which):
        for number in range(50):
            barrier.wait()
            if write_new(tmp_path / str(number), bytes([which])):
                first.append((number, which))

    threads = [threading.Thread(target=write, args=(which,)) for which in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(number for number, _ in first) == list(range(50))
    assert all((tmp_path / str(number)).read_bytes() == bytes([who]) for number, who in first)
    assert len(list(tmp_path.iterdir())) == 50


NEW = """
import sys
from pathlib import Path
from cranium.io import write_new

print("ready", flush=True)
for number in range(10**9):
    path = Path(sys.argv[1]) / str(number % 50)
    path.unlink(missing_ok=True)
    write_new(path, b"whole")
"""


@pytest.mark.slow
def test_who_is_killed_while_writing_a_new_file_leaves_none_or_a_whole_one(tmp_path):
    for number in range(10):
        process = subprocess.Popen(
            [sys.executable, "-c", NEW, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.01 * number)
        process.kill()
        process.communicate()
        clear_drafts(tmp_path)
        assert {path.read_bytes() for path in tmp_path.iterdir()} <= {b"whole"}


def test_a_new_file_on_a_full_disk_is_not_there(tmp_path):
    before, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_new(tmp_path / "file", b"whole")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, hard))
    assert list(tmp_path.iterdir()) == []
