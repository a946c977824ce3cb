"""What a Ray cluster that an engine starts lets others reach: nothing, without its token."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.ray

SCRIPT = """
import json, os, subprocess, sys
from pathlib import Path

from cranium.experiments import RayEngine
from cranium.experiments.trial import FunctionTrial, Job

ASK = (
    "import sys; from ray._raylet import GcsClient;"
    "print(len(GcsClient(address=sys.argv[1]).get_all_node_info(timeout=20)))"
)


def family():
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            pass
    found, new = set(), {os.getpid()}
    while new:
        found |= new
        new = {pid for pid, parent in parents.items() if parent in new} - found
    return found


def listening():
    places = {}
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            parts = line.split()
            if parts[3] == "0A":
                places[f"socket:[{parts[9]}]"] = parts[1].split(":")[0]
    found = []
    for pid in family():
        for path in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                found.append(places.get(os.readlink(path)))
            except OSError:
                pass
    return [each for each in found if each]


def outsider(address, **how):
    rest = {k: v for k, v in os.environ.items() if not k.startswith("RAY_AUTH")}
    done = subprocess.run([sys.executable, "-c", ASK, address], env={**rest, **how},
                          capture_output=True, text=True)
    return "let in" if done.returncode == 0 else done.stderr


if __name__ == "__main__":
    before = {k: v for k, v in os.environ.items() if k.startswith("RAY_AUTH")}
    with RayEngine(workers=1) as engine:
        import ray

        address = ray.get_runtime_context().gcs_address
        job = Job(FunctionTrial("x", "RM", "N = 2", function="builtins:dict"), 0)
        told = {
            "status": [record.status for _, record in engine.run([job])],
            "listening": listening(),
            "nobody": outsider(address, RAY_AUTH_MODE="disabled"),
            "wrong": outsider(address, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN="0" * 64),
        }
        token = os.environ.get("RAY_AUTH_TOKEN", "")
        told["right"] = outsider(address, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=token)
        told["token"] = len(token)
    told["left"] = {k: v for k, v in os.environ.items() if k.startswith("RAY_AUTH")} == before
    print(json.dumps(told))
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """Where Ray keeps its files: its sockets need a short path."""
    made = Path(tempfile.mkdtemp(prefix="ray"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


def start(place: Path, **how: str) -> dict[str, Any]:
    (place / "script.py").write_text(SCRIPT)
    (place / "home").mkdir()
    rest = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    given = {"RAY_TMPDIR": str(place), "RAY_USAGE_STATS_ENABLED": "0", "HOME": str(place / "home")}
    done = subprocess.run(
        [sys.executable, str(place / "script.py")],
        env={**rest, **given, **how},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert found["status"] == ["done"]
    return found


def address_of(number: str) -> str:
    """An address as the kernel writes it: words of four bytes, each with its last byte first."""
    words = [bytes.fromhex(number[at : at + 8])[::-1] for at in range(0, len(number), 8)]
    found: Any = ip_address(b"".join(words))
    return str(getattr(found, "ipv4_mapped", None) or found)


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="looks into /proc")
def test_a_cluster_that_is_started_here_is_reached_from_here_only_and_with_its_token(
    place: Path,
) -> None:
    found = start(place)
    assert len(found["listening"]) >= 4, "the driver, the GCS, the raylet and a worker"
    assert {address_of(each) for each in found["listening"]} == {"127.0.0.1"}
    for who in ("nobody", "wrong"):
        assert "AuthenticationError" in found[who]
    assert found["right"] == "let in"
    assert found["token"] == 64
    assert found["left"], "the environment is as it was"
    assert not (place / "home" / ".ray").exists(), "the token is written nowhere"


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="looks into /proc")
def test_who_does_without_tokens_is_on_the_loopback_interface_all_the_same(place: Path) -> None:
    found = start(place, RAY_AUTH_MODE="disabled")
    assert {address_of(each) for each in found["listening"]} == {"127.0.0.1"}
    assert found["nobody"] == "let in"
    assert found["token"] == 0
