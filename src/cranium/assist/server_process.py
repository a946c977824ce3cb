"""The process that serves a model: ``python -m cranium.assist.server_process FILE PORT CONTEXT``.

The first line of its standard input is the API key; on the command line, all users of the machine
could see it. The process ends when its standard input does, that is, when its parent ends.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Serve the model until standard input ends."""
    path, port, context = sys.argv[1:]
    key = sys.stdin.readline().strip()
    if not key:
        sys.exit("a server needs a key: without one it would answer everybody")
    llama: Any = importlib.import_module("xllamacpp")
    settings = llama.CommonParams()
    settings.model.path, settings.port, settings.n_ctx = path, int(port), int(context)
    _restrict_access(settings, key)
    settings.n_parallel = 1
    settings.verbosity = 0
    for cores in (settings.cpuparams, settings.cpuparams_batch):
        # On a small machine with other load, a second thread makes it far slower.
        cores.n_threads, cores.poll = 1, 0
    server = llama.Server(settings)
    sys.stdin.read()
    del server


def _restrict_access(settings: Any, key: str) -> None:
    """Require the key, and let no web page of another origin read answers (CORS)."""
    if not hasattr(settings, "cors_origins"):
        sys.exit("this xllamacpp answers web pages of every origin: install a newer one")
    settings.hostnames = ["127.0.0.1"]
    settings.api_keys = [key]
    settings.cors_origins = settings.cors_methods = settings.cors_headers = ""
    settings.cors_credentials = False
    settings.ui = False  # a web page that is not needed, and is served without the key


if __name__ == "__main__":
    main()
