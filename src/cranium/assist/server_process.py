"""The process that serves a model: ``python -m cranium.assist.server_process FILE PORT CONTEXT``.

The first line of its standard input is the key that everybody who asks has to give; the command
line would show it to all users of the machine. It ends when whoever started it does, because its
standard input ends then.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Serve until standard input ends."""
    path, port, context = sys.argv[1:]
    key = sys.stdin.readline().strip()
    if not key:
        sys.exit("a server without a key would answer everybody")
    llama: Any = importlib.import_module("xllamacpp")
    settings = llama.CommonParams()
    settings.model.path, settings.port, settings.n_ctx = path, int(port), int(context)
    _keep_others_out(settings, key)
    settings.n_parallel = 1
    settings.verbosity = 0
    for cores in (settings.cpuparams, settings.cpuparams_batch):
        # On a small machine that does other things, too, a second thread makes it far slower.
        cores.n_threads, cores.poll = 1, 0
    server = llama.Server(settings)
    sys.stdin.read()
    del server


def _keep_others_out(settings: Any, key: str) -> None:
    """Ask for the key, and tell browsers that no page of another origin may read an answer."""
    if not hasattr(settings, "cors_origins"):
        sys.exit("this xllamacpp answers the pages of every origin: install a newer one")
    settings.hostnames = ["127.0.0.1"]
    settings.api_keys = [key]
    settings.cors_origins = settings.cors_methods = settings.cors_headers = ""
    settings.cors_credentials = False
    settings.ui = False  # a page that nobody needs, and that is shown without the key


if __name__ == "__main__":
    main()
