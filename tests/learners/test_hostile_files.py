"""Policy files that claim, or unpack to, more than any memory holds; and names that are no files."""

from __future__ import annotations

import io
import json
import os
import struct
import threading
import tracemalloc
import zipfile

import numpy as np
import pytest

import cranium
from cranium import npz
from cranium.errors import FileAccessError, FileFormatError, SpaceError
from cranium.learners import policy_files

MOST_MEMORY = 64 << 20


@pytest.fixture
def policy():
    """A good one, with observations that are arrays."""
    machine = cranium.library.load("anbcn")
    seen = (np.arange(3), np.ones(3, int))
    return cranium.Policy(np.zeros((2, 1, 2)), seen, (machine.start,), machine)


def header(descr, shape, *, length=None):
    """The head of an array that claims a dtype and a shape."""
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text = text.ljust(length or len(text), b" ") + b"\n"
    return b"\x93NUMPY\x02\x00" + struct.pack("<L", len(text)) + text


def described(path, policy):
    policy.save(path)
    with np.load(path) as stored:
        return dict(stored)


def pack(path, arrays, members):
    """An archive of arrays and of raw members, each in pieces that are packed as they come."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as found:
        for name, array in arrays.items():
            stream = io.BytesIO()
            np.save(stream, array)
            found.writestr(f"{name}.npy", stream.getvalue())
        for name, pieces in members.items():
            with found.open(f"{name}.npy", "w", force_zip64=True) as stream:
                for piece in pieces:
                    stream.write(piece)


def zeros(megabytes):
    return (bytes(1 << 20) for _ in range(megabytes))


class small:  # noqa: N801
    """Fails if something within it takes much memory."""

    def __enter__(self):
        tracemalloc.start()

    def __exit__(self, *_):
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < MOST_MEMORY, f"{peak:,} bytes"


BOMBS = {
    "a text of 400 MB": ("about", "<U104857600", (), 400),
    "bytes": ("q", "|S419430400", (), 400),
    "rows of a byte": ("observations", "|u1", (400 << 20, 1), 400),
    "names that nobody expects": ("more", "|u1", (400 << 20,), 400),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", BOMBS)
def test_an_array_that_is_no_part_of_a_policy_is_refused_before_it_is_unpacked(
    case, policy, tmp_path
):
    path = tmp_path / "agent.npz"
    arrays = described(path, policy)
    name, descr, shape, size = BOMBS[case]
    arrays.pop(name, None)
    pack(path, arrays, {name: [header(descr, shape), *zeros(size)]})
    assert path.stat().st_size < 2 << 20
    if case == "rows of a byte":  # it is a good array, but each row would become an object
        with pytest.raises(FileFormatError, match="damaged"):
            cranium.Policy.load(path)
        return
    with small(), pytest.raises(FileFormatError, match="not a policy of ours"):
        cranium.Policy.load(path)


def test_rows_of_nothing_do_not_become_objects(policy, tmp_path):
    path = tmp_path / "agent.npz"
    arrays = described(path, policy)
    about = json.loads(str(arrays["about"]))
    assert about["observations"] == "arrays"
    del arrays["q"], arrays["observations"]
    about["configurations"] = []
    arrays["about"] = np.array(json.dumps(about))
    many = 10**9
    heads = {"q": [header("<f8", (many, 0, 2))], "observations": [header("<i8", (many, 0))]}
    pack(path, arrays, heads)
    with small(), pytest.raises(FileFormatError, match="damaged"):
        cranium.Policy.load(path)


@pytest.mark.slow
def test_a_long_head_of_an_array_is_not_read(policy, tmp_path):
    path = tmp_path / "agent.npz"
    arrays = described(path, policy)
    del arrays["q"]
    pack(path, arrays, {"q": [header("<f8", (2, 1, 2), length=300 << 20), bytes(32)]})
    with small(), pytest.raises(FileFormatError, match="not a policy of ours"):
        cranium.Policy.load(path)


def test_a_long_list_of_arrays_is_not_read(tmp_path):
    """Half a million names in 46 bytes each: as objects they would take half a gigabyte."""
    path = tmp_path / "agent.npz"
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\x01\x02", *[0] * 18)[:46]
    many = 500_000
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0, 0, many * len(entry), 0, 0)
    path.write_bytes(entry * many + end)
    with small(), pytest.raises(FileFormatError, match="not a policy of ours"):
        cranium.Policy.load(path)


def test_uncommon_ways_of_packing_are_refused(policy, tmp_path):
    """A few bytes of LZMA ask for four gigabytes."""
    path = tmp_path / "agent.npz"
    arrays = described(path, policy)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as found:
        for name, array in arrays.items():
            stream = io.BytesIO()
            np.save(stream, array)
            found.writestr(f"{name}.npy", stream.getvalue())
    with pytest.raises(FileFormatError, match="not a policy of ours"):
        cranium.Policy.load(path)


def test_two_arrays_of_one_name_are_refused(policy, tmp_path):
    path = tmp_path / "agent.npz"
    described(path, policy)
    stream = io.BytesIO()
    np.save(stream, np.ones((2, 1, 2)))
    with (
        zipfile.ZipFile(path, "a") as found,
        pytest.warns(UserWarning, match="Duplicate name"),
    ):
        found.writestr("q.npy", stream.getvalue())
    with pytest.raises(FileFormatError, match="not a policy of ours"):
        cranium.Policy.load(path)


@pytest.mark.parametrize("what", ["bytes", "characters", "observations"])
def test_what_could_not_be_read_again_is_not_written(what, policy, tmp_path, monkeypatch):
    names = {"bytes": "MOST_BYTES", "characters": "MOST_TEXT", "observations": "MOST_ROWS"}
    monkeypatch.setattr(policy_files, names[what], 1)
    with pytest.raises(SpaceError, match=f"{what}.* is too large for a file: 1 are allowed"):
        policy.save(tmp_path / "agent.npz")
    assert not list(tmp_path.iterdir())


def test_arrays_come_back_as_they_were(tmp_path):
    rng = np.random.default_rng(0)
    given = {
        "c": rng.normal(size=(3, 4, 5)),
        "fortran": np.asfortranarray(rng.integers(0, 9, (3, 4), dtype=np.int16)),
        "big": rng.normal(size=(300, 1000)),  # more than one piece
        "nothing": np.zeros((0, 7), np.float32),
        "one": np.array("a text"),
        "other": np.arange(3, dtype=">i4"),
    }
    for save in (np.savez, np.savez_compressed):
        stream = io.BytesIO()
        save(stream, **given)
        found = npz.read_arrays(stream)
        assert {name: (a.dtype, a.shape) for name, a in found.items()} == {
            name: (a.dtype, a.shape) for name, a in given.items()
        }
        assert all(np.array_equal(found[name], array) for name, array in given.items())


def test_a_damaged_array_is_found_out_by_its_checksum():
    stream = io.BytesIO()
    np.savez(stream, q=np.zeros(50))
    raw = bytearray(stream.getvalue())
    raw[raw.index(b"\n") + 100] ^= 1
    with pytest.raises(zipfile.BadZipFile, match="CRC"):
        npz.read_arrays(io.BytesIO(raw))


@pytest.mark.parametrize("way", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_array_that_is_shorter_than_it_claims_is_not_filled_from_memory(way):
    stream, head = io.BytesIO(), header("<f8", (50,))
    with zipfile.ZipFile(stream, "w", way) as found:
        found.writestr("q.npy", head + bytes(8))  # with the checksum of that
    raw = bytearray(stream.getvalue())
    struct.pack_into("<L", raw, raw.index(b"PK\x01\x02") + 24, len(head) + 400)
    with pytest.raises(ValueError, match="an array that ends after 8 bytes"):
        npz.read_arrays(io.BytesIO(raw))


def test_a_pipe_is_refused_and_nobody_waits_for_it(tmp_path):
    pipe = tmp_path / "agent.npz"
    os.mkfifo(pipe)
    found = []

    def read() -> None:
        with pytest.raises(FileAccessError, match="not a regular file"):
            cranium.Policy.load(pipe)
        found.append(True)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(60)
    assert found, "whoever reads a pipe waits for a writer"


def test_devices_and_folders_are_refused(tmp_path):
    with pytest.raises(FileAccessError, match="not a regular file"):
        cranium.Policy.load(os.devnull)
    with pytest.raises(FileAccessError, match="a directory"):
        cranium.Policy.load(tmp_path)


def test_a_link_to_a_policy_is_followed(policy, tmp_path):
    policy.save(tmp_path / "agent.npz")
    (tmp_path / "best.npz").symlink_to("agent.npz")
    assert cranium.Policy.load(tmp_path / "best.npz").observations
