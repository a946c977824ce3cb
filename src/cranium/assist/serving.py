"""The process that serves a model: ``python -m cranium.assist.serving FILE PORT CONTEXT``.

It ends when whoever started it does, because its standard input ends then.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Serve until standard input ends."""
    path, port, context = sys.argv[1:]
    llama: Any = importlib.import_module("xllamacpp")
    settings = llama.CommonParams()
    settings.model.path, settings.port, settings.n_ctx = path, int(port), int(context)
    settings.n_parallel = 1
    settings.verbosity = 0
    for cores in (settings.cpuparams, settings.cpuparams_batch):
        # On a small machine that does other things, too, a second thread makes it far slower.
        cores.n_threads, cores.poll = 1, 0
    server = llama.Server(settings)
    sys.stdin.read()
    del server


if __name__ == "__main__":
    main()
