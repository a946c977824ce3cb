"""Readers of the files of trackers that share no code with what wrote them."""

from __future__ import annotations

import struct
import sys
import zlib


def hide_package(monkeypatch, name):
    """Let the import of a module and of what is in it fail, as if it were not installed."""
    for each in list(sys.modules):
        if each == name or each.startswith(f"{name}."):
            monkeypatch.delitem(sys.modules, each)
    monkeypatch.setitem(sys.modules, name, None)


def crc32c(data):
    """The Castagnoli checksum, bit by bit."""
    found = 0xFFFFFFFF
    for byte in data:
        found ^= byte
        for _ in range(8):
            found = (found >> 1) ^ (0x82F63B78 if found & 1 else 0)
    return found ^ 0xFFFFFFFF


def masked(data):
    """The checksum as TFRecord files have it."""
    found = crc32c(data)
    return ((found >> 15 | found << 17) + 0xA282EAD8) & 0xFFFFFFFF


def read_tfrecords(path):
    """The payloads of a TFRecord file; both checksums of each are verified."""
    content, place, found = path.read_bytes(), 0, []
    while place < len(content):
        head = content[place : place + 8]
        (length,) = struct.unpack("<Q", head)
        (check,) = struct.unpack("<I", content[place + 8 : place + 12])
        assert check == masked(head), f"the length at {place} is damaged"
        data = content[place + 12 : place + 12 + length]
        assert len(data) == length, "the file ends within a record"
        (check,) = struct.unpack("<I", content[place + 12 + length : place + 16 + length])
        assert check == masked(data), f"the record at {place} is damaged"
        found.append(data)
        place += 16 + length
    return found


def read_scalars(path):
    """The scalars of an event file of TensorBoard, {tag: [(step, value), ...]}, and its texts."""
    from tensorboardX.proto.event_pb2 import Event

    scalars, texts = {}, {}
    for data in read_tfrecords(path):
        event = Event.FromString(data)
        for value in event.summary.value:
            if value.HasField("simple_value"):
                scalars.setdefault(value.tag, []).append((event.step, value.simple_value))
            else:
                texts[value.tag] = value.tensor.string_val[0].decode()
    return scalars, texts


def read_wandb_records(path):
    """The records of an offline run of wandb: LevelDB's log format, with its checksums."""
    from wandb.proto.wandb_internal_pb2 import Record

    content = path.read_bytes()
    assert content[:7] == struct.pack("<4sHB", b":W&B", 0xBEE1, 0)
    place, parts = 7, []
    while place < len(content):
        left = 32_768 - place % 32_768
        if left < 7:
            place += left
            continue
        check, length, kind = struct.unpack("<IHB", content[place : place + 7])
        data = content[place + 7 : place + 7 + length]
        assert check == zlib.crc32(data, zlib.crc32(bytes([kind]))), f"{place} is damaged"
        parts.append(data)
        if kind in (1, 4):  # whole, or the last part
            yield Record.FromString(b"".join(parts))
            parts = []
        place += 7 + length
